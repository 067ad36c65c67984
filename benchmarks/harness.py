"""What measuring costs: ratios of times within one run of one machine, with the smallest of several repetitions.

`harness`: cases as a run judges them, beside the bare calls that no judgement can do without: each operator on the
inputs of its case, and once per sample the float64 reference. `start`: the time to the first result of a run of a few
operators, beside the import of torch alone.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from conformance.checks.contract import Context
from conformance.checks.operators import ANY_DTYPE, Run
from conformance.checks.registry import all_checks
from conformance.device.profile import default_profile
from conformance.inputs.transport import clone
from conformance.oracle.formats import is_inexact
from conformance.oracle.reference import evaluate, wide_reference
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.suite import load_suite

if TYPE_CHECKING:
    from conformance.checks.contract import Case
    from conformance.spec.plan import Group
    from conformance.spec.suite import Suite

#: Every so many of the plan's groups of operators.
STRIDE = 60
REPETITIONS = 3


def groups() -> tuple[Suite, list[Group]]:
    suite = load_suite()
    plan = read_plan(plan_path(suite.root, torch.__version__))
    if plan is None:
        raise SystemExit("no frozen plan for this torch")
    found = [g for g in plan.groups if g.check.startswith("operators.") and g.dtype != ANY_DTYPE]
    return suite, found[::STRIDE]


def cases(context: Context, group: Group) -> list[tuple[Case, Run]]:
    """Fresh cases of a group: nothing that an earlier repetition computed is at hand."""
    check = all_checks()[group.check]
    made = list(check.cases(context, group.operator, group.dtype, group.names))
    return [(case, run) for case in made if isinstance(run := getattr(case.run, "__self__", None), Run)]


def judged(context: Context, group: Group) -> float:
    made = cases(context, group)
    began = time.perf_counter()
    for case, _ in made:
        case.run()
    return time.perf_counter() - began


def bare(context: Context, group: Group) -> float:
    seconds, seen = 0.0, set()
    for _, run in cases(context, group):
        inputs = clone(run._inputs())
        began = time.perf_counter()
        with contextlib.suppress(Exception):  # a call that has to be refused
            evaluate(run.trial.function, inputs)
            if id(run.trial) not in seen and is_inexact(run.trial.dtype):
                seen.add(id(run.trial))
                wide_reference(run.trial._functional, run.trial.sample)
        seconds += time.perf_counter() - began
    return seconds


def harness() -> None:
    torch.set_num_threads(1)
    suite, chosen = groups()
    context = Context(torch.device("cpu"), default_profile("cpu"), suite, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for group in chosen:
            judged(context, group)  # the first call of everything is slower, and samples are drawn
        number, measured, plain = 0, 0.0, 0.0
        for group in chosen:
            measured += min(judged(context, group) for _ in range(REPETITIONS))
            plain += min(bare(context, group) for _ in range(REPETITIONS))
            number += len(group.names)
    print(f"harness  {measured / plain:5.2f} x the bare calls   ({number} cases of {len(chosen)} groups, one thread)")
    over = (measured - plain) / number
    print(f"         {over * 1e6:5.0f} microseconds above them per case")


def seconds_of(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def first_result() -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [
            sys.executable,
            "-m",
            "onboard",
            "conform",
            "--device",
            "cpu",
            "--ops",
            "softmax*",
            "--out",
            str(out),
        ]
        began = time.perf_counter()
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = out / "journal.jsonl"
        # The first record is the run's own, the second its environment.
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 2):
            if running.poll() is not None:
                raise SystemExit("the run ended without a result")
            time.sleep(0.01)
        found = time.perf_counter() - began
        running.wait()
    return found


def start() -> None:
    alone = min(seconds_of(sys.executable, "-c", "import torch") for _ in range(REPETITIONS))
    first = min(first_result() for _ in range(REPETITIONS))
    print(
        f"start    {first / alone:5.2f} x `import torch` to the first result of --ops 'softmax*'   ({first:.1f} s here)"
    )


if __name__ == "__main__":
    start()
    harness()
