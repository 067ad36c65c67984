"""A worker: loads the backend, runs the cases of one group after the other, and says how each ended."""

from __future__ import annotations

import faulthandler
import importlib
import os
import platform
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.results import encode_number
from conformance.run import slot as slots
from conformance.run import wire

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    import torch

    from conformance.checks.contract import Case, Check, Context, Judgement

MAX_MESSAGE = 2_000
MAX_REPRO = 20_000
SICK = 71
SEND_EVERY_SECONDS = 0.02


def main(channel: socket.socket, request: dict[str, Any]) -> None:
    """Serve one supervisor until it hangs up; `request` names the slot, profile, suite and seed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable(file=sys.stderr, all_threads=True)
    slot = slots.Slot(Path(request["slot"]))
    try:
        context = start(request)
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, SystemExit included
        text = "".join(traceback.format_exception(error))
        wire.send(channel, {"failed": _one_line(error), "traceback": text[-8_000:]})
        return
    checks = importlib.import_module(request["registry"]).all_checks()
    probe = healthy_probe(context.device)
    wire.send(channel, {"ready": environment(context)})
    reader = wire.Reader(channel)
    while True:
        slot.enter(slots.IDLE)
        task = reader.wait()
        if task is None:
            return
        run_group(channel, slot, context, checks, task, probe)


def start(request: dict[str, Any]) -> Context:
    """Bring the backend up in this process; whatever it raises goes to the supervisor."""
    import torch

    from conformance.checks.contract import Context
    from conformance.device.load import load_device
    from conformance.device.profile import Profile
    from conformance.spec.suite import load_suite

    torch.set_num_threads(1)
    fields = {**request["profile"]}
    for name in ("levels", "compile_backends"):
        fields[name] = tuple(fields[name])
    profile = Profile(**fields)
    device = load_device(profile, request["import"])
    return Context(device, profile, load_suite(Path(request["suite"])), request["seed"])


def environment(context: Context) -> dict[str, Any]:
    """What numerics depend on, by allow-list: no host or user names, no folders, no tokens."""
    import numpy as np
    import torch

    from conformance.device.load import describe_device

    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "torch": torch.__version__,
        "torch_git": torch.version.git_version,
        "numpy": np.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "device": describe_device(context.device),
        "seed": context.seed,
    }


def healthy_probe(device: torch.device) -> Callable[[], bool] | None:
    """A tiny operation with a known answer, or None where even a fresh device cannot do it."""
    import torch

    def probe() -> bool:
        try:
            ones = torch.ones(4, device=device)
            return (ones + ones).cpu().tolist() == [2.0] * 4
        except Exception:  # noqa: BLE001 - a sick device may raise anything; the answer is that it is sick
            return False

    return probe if probe() else None


def run_group(
    channel: socket.socket,
    slot: slots.Slot,
    context: Context,
    checks: Mapping[str, Check],
    task: dict[str, Any],
    probe: Callable[[], bool] | None,
) -> None:
    """Run the cases of one group that are still to do; ends the process when the device has fallen ill."""
    number_of = {name: number for number, name in enumerate(task["names"])}
    done, scripted = set(task["done"]), set(task["scripted"])
    outbox = Outbox(channel)
    check, operator, dtype = task["check"], task["operator"], task["dtype"]
    smallest: int | None = None
    slot.enter(slots.preparing(_first_open(done, 0)))
    try:
        for case in checks[check].cases(context, operator, dtype, task["names"]):
            number = number_of.get(case.name)
            if number is None:
                raise LookupError(f"the check made a case that is not in the plan: {case.name}")
            if number in done:
                if number in scripted:
                    smallest = case.size
                continue
            slot.enter(number)
            row = run_case(context, case, (check, operator, dtype))
            failed = row["outcome"] in ("wrong", "error")
            if failed and (smallest is None or case.size < smallest):
                smallest = case.size
                row["repro"] = _repro(case)
            sick = failed and probe is not None and not probe()
            outbox.add(number, row)
            done.add(number)
            if sick:
                outbox.send(sick=True)
                os._exit(SICK)
            slot.enter(slots.preparing(_first_open(done, number)))
    except Exception as error:  # noqa: BLE001 - inputs could not be made: the rest of the group says why
        outbox.send()
        wire.send(channel, {"broken": _one_line(error), "traceback": traceback.format_exc()[-4_000:]})
        return
    outbox.send()
    wire.send(channel, {"finished": sorted(done)})


class Outbox:
    """Rows on their way to the supervisor, a few in each message: two processes wake for a message.

    Rows that are lost with the process cost nothing but time: the supervisor has not got them, so their cases run
    again. The first row of a group goes at once, for with it ends what a first call may take.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._rows: list[tuple[int, dict[str, Any]]] = []
        self._sent = 0.0

    def add(self, number: int, row: dict[str, Any]) -> None:
        self._rows.append((number, row))
        if time.monotonic() - self._sent >= SEND_EVERY_SECONDS:
            self.send()

    def send(self, *, sick: bool = False) -> None:
        if self._rows:
            wire.send(self._channel, {"rows": self._rows, "sick": sick})
            self._rows = []
            self._sent = time.monotonic()


def _first_open(done: set[int], number: int) -> int:
    """The case that is prepared next: the first that is not done, from `number` on."""
    while number in done:
        number += 1
    return number


def run_case(context: Context, case: Case, group: tuple[str, str, str]) -> dict[str, Any]:
    """One case, judged; an exception is the outcome `error`, whatever raised it."""
    from conformance.checks.contract import Judgement
    from conformance.device.execution import could_not_run

    check, operator, dtype = group
    began = time.perf_counter()
    try:
        judgement = case.run()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a backend may raise anything, and may call sys.exit
        missing = could_not_run(error)
        judgement = Judgement(
            "error",
            message=_one_line(error),
            execution="absent" if missing else None,
            kernels=(missing,) if missing else (),
        )
    seconds = time.perf_counter() - began
    outcome, message = _declared(context, judgement, group)
    return {
        "case": f"{check}/{operator}/{dtype}/{case.name}",
        "check": check,
        "operator": operator,
        "overload": judgement.overload,
        "dtype": None if dtype == "any" else dtype,
        "layout": case.layout,
        "variant": case.variant,
        "outcome": outcome,
        "execution": judgement.execution,
        "error": encode_number(judgement.error),
        "bound": encode_number(judgement.bound),
        "rung": judgement.rung,
        "seconds": round(seconds, 6),
        "message": message[:MAX_MESSAGE],
        "kernels": list(judgement.kernels),
        "fell_back": list(judgement.fell_back),
        "evidence": judgement.evidence,
    }


def _declared(context: Context, judgement: Judgement, group: tuple[str, str, str]) -> tuple[str, str]:
    """What is declared unsupported must raise; if it works after all, the declaration is the error."""
    check, operator, dtype = group
    profile = context.profile
    # Only operators: the groups of other checks are named by what they check, and no profile may excuse `memory`.
    reason = None
    if check.startswith("operators."):
        reason = profile.unsupported_dtypes.get(dtype) or profile.unsupported_operators.get(operator)
    if reason is None:
        return judgement.outcome, judgement.message
    if judgement.outcome == "error":
        return "unsupported", f"declared: {reason}"
    if judgement.outcome == "pass":
        return "error", f"declared unsupported ({reason}), but it works: the profile is wrong"
    return judgement.outcome, judgement.message


def _repro(case: Case) -> str:
    try:
        text = case.repro()
    except Exception as error:  # noqa: BLE001 - the failure is on record; a missing script must not replace it
        text = f"# no reproducer: {_one_line(error)}"
    return text if len(text) <= MAX_REPRO else f"# no reproducer: it would have {len(text)} characters"


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:MAX_MESSAGE]}" if lines else type(error).__name__
