"""How often the suite cries wolf: its cases served by other implementations."""

from __future__ import annotations

import os
import random
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.contract import Context
from conformance.checks.operators.run import REFUSED
from conformance.checks.registry import all_checks
from conformance.device.profile import default_profile
from conformance.errors import EnvironmentFailure
from conformance.inputs import catalogue
from conformance.results import FAILING
from conformance.run.worker import run_case
from conformance.selftest.inject import Hits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from conformance.checks.contract import Case
    from conformance.selftest.implementations.implementation import Implementation
    from conformance.selftest.implementations.known import Known
    from conformance.spec.plan import Group, Plan
    from conformance.spec.suite import Suite


@dataclass(frozen=True, slots=True)
class Alarm:
    """A case that fails on an implementation and passes without it; `reason` where that is explained."""

    case: str
    outcome: str
    message: str
    reason: str | None


@dataclass(slots=True)
class Tally:
    """What became of the cases that one implementation served: `run` of them, of which `hit` reached it.

    `left` counts the groups that it did not serve because its time was over.
    """

    run: int = 0
    hit: int = 0
    left: int = 0
    alarms: list[Alarm] = field(default_factory=list)
    shown: set[Known] = field(default_factory=set)

    def add(self, other: Tally) -> None:
        self.run += other.run
        self.hit += other.hit
        self.left += other.left
        self.alarms += other.alarms
        self.shown |= other.shown

    @property
    def unexplained(self) -> list[Alarm]:
        return [alarm for alarm in self.alarms if alarm.reason is None]


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker shares."""

    suite: Suite
    seed: int
    implementations: tuple[Implementation, ...]
    known: tuple[Known, ...]
    every: bool = False
    began: float = 0.0

    def late(self, implementation: Implementation) -> bool:
        """Whether the time of an implementation is over; where every case is wanted it has no limit."""
        limit = implementation.seconds
        return limit is not None and not self.every and time.monotonic() > self.began + limit


def measure(
    suite: Suite,
    plan: Plan,
    implementations: Sequence[Implementation],
    known: Sequence[Known],
    *,
    every: bool = False,
    seed: int = 0,
    workers: int = 0,
    done: Callable[[int, int], None],
) -> dict[str, Tally]:
    """Serve cases of every group of operators by each implementation; `done` is told how many groups of how many.

    The cases of a group are spread over it, at most as many as the implementation takes, or all with `every`. Groups
    are served in a mixed order, so that one whose time is over has seen some of everything.
    """
    torch.set_num_threads(1)
    groups = [group for group in plan.groups if group.check.startswith("operators.") and group.dtype != "any"]
    all_checks(), catalogue.entries()
    random.Random(_MIX).shuffle(groups)  # noqa: S311 - no secret
    job = Job(suite, seed, tuple(implementations), tuple(known), every, time.monotonic())
    tallies = {implementation.id: Tally() for implementation in implementations}
    number = 0
    # Forked, so that nobody imports the catalogue again; torch has one thread so far.
    try:
        with ProcessPoolExecutor(
            workers or min(8, len(os.sched_getaffinity(0))), get_context("fork"), _start, (job,)
        ) as pool:
            for number, found in enumerate(pool.map(_serve_shared, groups, chunksize=_AT_ONCE), 1):
                for name, tally in found.items():
                    tallies[name].add(tally)
                done(number, len(groups))
    except BrokenProcessPool:
        raise EnvironmentFailure(
            f"a worker died in {groups[number].id} or soon after it",
            hint="an implementation crashed the process, or memory ran out: try them one by one (--implementations)",
        ) from None
    return tallies


def expired(known: Sequence[Known], tallies: dict[str, Tally]) -> list[tuple[str, Known]]:
    """The explanations that explain nothing any more, with the implementation that was served without showing them."""
    return [
        (name, entry)
        for entry in known
        for name in entry.implementations
        if name in tallies and not tallies[name].left and entry not in tallies[name].shown
    ]


_MIX = 1
FORWARD = "operators.forward"
#: Cases of a group of another check: there are a dozen such groups for each of the plain calls.
FEW = 2
#: What a worker may address, in bytes.
MEMORY = 12 << 30
#: Groups that a worker takes at a time.
_AT_ONCE = 4
_SHARED: list[Job] = []


def _start(job: Job) -> None:
    torch.set_num_threads(1)
    _SHARED[:] = [job]
    # A definition that makes a matrix of two long vectors must not take the machine down with it.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _serve_shared(group: Group) -> dict[str, Tally]:
    return serve(_SHARED[0], group)


def serve(job: Job, group: Group) -> dict[str, Tally]:
    """Run the cases of one group on each implementation, and those that fail without it."""
    check, operator, dtype = group.check, group.operator, group.dtype
    seam = _Seam()
    context = Context(torch.device("cpu"), default_profile("cpu"), job.suite, job.seed, seam.around)
    answered = [name for name in group.names if not name.endswith(REFUSED)]  # what is refused is not computed
    takers = [i for i in job.implementations if i.takes(check, dtype)]
    late = {i.id: Tally(left=1) for i in takers if job.late(i)}
    turns = [_Turn(job, group, i, len(answered)) for i in takers if i.id not in late]
    # One case after the other, each on every implementation: they share its reference, which costs the most.
    for number, case in enumerate(all_checks()[check].cases(context, operator, dtype, answered)):
        for turn in turns:
            if turn.wants(number):
                turn.take(case, context, seam)
    return late | {turn.implementation.id: turn.tally for turn in turns}


class _Seam:
    """What surrounds the calls of a context at the moment: an implementation, or nothing."""

    def __init__(self) -> None:
        self.implementation: Implementation | None = None
        self.hits = Hits()

    def around(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.implementation is None else self.implementation.around(self.hits)


class _Turn:
    """One implementation on one group."""

    def __init__(self, job: Job, group: Group, implementation: Implementation, total: int) -> None:
        self.implementation = implementation
        self.tally = Tally()
        self._group = (group.check, group.operator, group.dtype)
        wanted = implementation.cases if group.check == FORWARD else FEW
        self._numbers = set(range(total) if job.every else spread(total, wanted))
        self._known = [entry for entry in job.known if entry.concerns(implementation.id, *self._group[1:])]

    def wants(self, number: int) -> bool:
        # An explanation that no chosen case bears out may yet be by another one: it has not expired before the end.
        return number in self._numbers or any(entry not in self.tally.shown for entry in self._known)

    def take(self, case: Case, context: Context, seam: _Seam) -> None:
        seam.implementation, seam.hits = self.implementation, Hits()
        row = run_case(context, case, self._group)
        self.tally.run += 1
        self.tally.hit += seam.hits.count > 0
        if row["outcome"] not in FAILING:
            return
        seam.implementation = None
        if run_case(context, case, self._group)["outcome"] in FAILING:
            return  # the host's own kernel fails as well: no matter of the implementation
        entry = next((entry for entry in self._known if entry.explains(case.name, row["message"])), None)
        if entry is not None:
            self.tally.shown.add(entry)
        self.tally.alarms.append(
            Alarm(row["case"], row["outcome"], row["message"], None if entry is None else entry.reason)
        )


def spread(total: int, wanted: int) -> Iterator[int]:
    """At most `wanted` numbers below `total`, evenly from the first to the last."""
    if total <= wanted:
        yield from range(total)
    elif wanted == 1:
        yield total // 2  # the first is often a single number
    else:
        yield from (number * (total - 1) // (wanted - 1) for number in range(wanted))
