"""What a model needs of a device, as data: overload by overload, and what to implement first. Pure; no torch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = "onboard/needs/1"
PHASES = ("forward", "backward", "compiled")
#: From the worst to the best: an overload is as good as the worst of its calls.
EXECUTIONS = ("absent", "fallback", "composite", "native")
ANSWERS = ("crash", "timeout", "error", "wrong", "not measured", "right")
BROKEN = frozenset({"crash", "timeout", "error", "wrong"})
#: What the dispatch table says of an overload that no call could show.
_BY_TABLE = {
    "kernel": "native",
    "default": "composite",
    "math": "composite",
    "fallback": "fallback",
    "missing": "absent",
}
_DO = {"absent": "implement", "crash": "repair", "timeout": "repair", "error": "repair", "wrong": "correct",
       "fallback": "make native"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CallResult:
    """One distinct call: its arguments in words, how often each phase makes it, and how the device answered it.

    `answer` is one of `ANSWERS`. `blame` are the overloads beneath it that are absent, or that the host served.
    `measured` says that the call was made on the device.
    """

    overload: str
    text: str
    dtypes: tuple[str, ...]
    calls: dict[str, int]
    answer: str
    message: str = ""
    execution: str | None = None
    blame: tuple[str, ...] = ()
    error: float | str | None = None
    bound: float | str | None = None
    rung: str | None = None
    measured: bool = True

    @property
    def weight(self) -> int:
        """How often one step of the eager model makes the call; what only the compiled one makes counts as that."""
        eager = self.calls.get("forward", 0) + self.calls.get("backward", 0)
        return eager or self.calls.get("compiled", 0)


@dataclass(frozen=True, slots=True)
class Need:
    """One overload. `table` is what the dispatcher resolves it to, `example` the call that its answer is that of.

    `by_table` says that no call showed how it is served, so that `execution` is what the table promises.
    """

    overload: str
    calls: dict[str, int]
    weight: int
    dtypes: tuple[str, ...]
    distinct: int
    measured: int
    table: str
    execution: str
    by_table: bool
    answer: str
    message: str
    example: str
    error: float | str | None
    bound: float | str | None
    rung: str | None

    @property
    def served(self) -> bool:
        """Whether a device may leave it at that."""
        return self.execution in {"native", "composite"} and self.answer == "right"


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to implement: the overload, why, how many calls wait for it, and which overloads make them."""

    overload: str
    state: str
    do: str
    calls: int
    callers: tuple[str, ...]

    @property
    def blocks(self) -> bool:
        """Whether the model does not get through, or not to the right answer, without it."""
        return self.state != "fallback"


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer. `failed` says by phase why it could not be followed; `notes` what else has to be known."""

    model: str
    profile: str
    device: str
    simulated: bool
    torch: str
    key: str
    listened_as: str
    needs: tuple[Need, ...]
    tasks: tuple[Task, ...]
    calls: dict[str, int]
    gradients: bool
    failed: dict[str, str]
    graphs: int | None
    breaks: tuple[str, ...]
    whole: dict[str, Any]
    notes: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether everything that the model needs is served on the device, and right."""
        good = all(need.served for need in self.needs)
        return good and not self.failed and self.whole["answer"] not in BROKEN

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "schema": SCHEMA, "ok": self.ok, "model": self.model, "profile": self.profile, "device": self.device,
            "simulated": self.simulated, "torch": self.torch, "dispatch_key": self.key,
            "listened_as": self.listened_as, "gradients": self.gradients, "calls": self.calls,
            "failed": self.failed, "compiled": {"graphs": self.graphs, "breaks": list(self.breaks)},
            "overloads": [{**asdict(need), "served": need.served} for need in self.needs],
            "first": [{**asdict(task), "blocks": task.blocks} for task in self.tasks],
            "counts": self.counts(), "whole": self.whole, "notes": list(self.notes),
            "seconds": round(self.seconds, 1),
        }  # fmt: skip

    def counts(self) -> dict[str, dict[str, int]]:
        """Overloads by execution and by answer; both sum to the number of overloads."""
        return {
            "overloads": {"total": len(self.needs), "served": sum(need.served for need in self.needs)},
            "execution": {name: sum(n.execution == name for n in self.needs) for name in reversed(EXECUTIONS)},
            "answer": {name: sum(n.answer == name for n in self.needs) for name in reversed(ANSWERS)},
        }


def needs_of(results: Iterable[CallResult], table: Mapping[str, str]) -> tuple[Need, ...]:
    """Sum distinct calls up by overload, the most called first."""
    by_overload: dict[str, list[CallResult]] = defaultdict(list)
    for result in results:
        by_overload[result.overload].append(result)
    found = [_need(name, calls, table.get(name, "missing")) for name, calls in by_overload.items()]
    return tuple(sorted(found, key=lambda n: (-_eager(n.calls), -n.weight, n.overload)))


def _need(overload: str, results: Sequence[CallResult], table: str) -> Need:
    executions = [result.execution for result in results if result.execution is not None]
    worst = min(results, key=lambda r: (ANSWERS.index(r.answer), -_number(r.error)))
    return Need(
        overload=overload,
        calls={phase: sum(r.calls.get(phase, 0) for r in results) for phase in PHASES},
        weight=sum(r.weight for r in results),
        dtypes=tuple(sorted({dtype for r in results for dtype in r.dtypes})),
        distinct=len(results),
        measured=sum(r.measured for r in results),
        table=table,
        execution=min(executions, key=EXECUTIONS.index, default=_BY_TABLE[table]),
        by_table=not executions,
        answer=worst.answer,
        message=worst.message,
        example=worst.text,
        error=worst.error,
        bound=worst.bound,
        rung=worst.rung,
    )


def tasks_of(results: Iterable[CallResult], needs: Iterable[Need]) -> tuple[Task, ...]:
    """What to implement, the most calls blocked first; what only runs on the host comes after what blocks.

    An absent or fallen back call is charged to the overload beneath it that has no kernel; a call that no run could
    show, to itself, as the table has it.
    """
    calls: dict[tuple[str, str], int] = defaultdict(int)
    callers: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    state_of = {need.overload: need.execution for need in needs}
    for result in results:
        execution = result.execution or state_of[result.overload]
        if result.answer in BROKEN:
            charged = [(result.overload, result.answer)]
        elif execution in {"absent", "fallback"}:
            charged = [(name, execution) for name in result.blame or (result.overload,)]
        else:
            continue
        for place in charged:
            calls[place] += result.weight
            callers[place][result.overload] = None
    tasks = [
        Task(name, state, _DO[state], count, tuple(caller for caller in callers[name, state] if caller != name))
        for (name, state), count in calls.items()
    ]
    return tuple(sorted(tasks, key=lambda task: (not task.blocks, -task.calls, task.overload)))


def _eager(calls: Mapping[str, int]) -> int:
    return calls.get("forward", 0) + calls.get("backward", 0)


def _number(value: float | str | None) -> float:
    return float(value) if value is not None else 0.0
