"""How many of some faults the suite catches, and by which case."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

import torch

from conformance.checks.contract import Context
from conformance.checks.operators import ANY_DTYPE, Forward
from conformance.device.profile import default_profile
from conformance.findings import base_name
from conformance.results import FAILING
from conformance.run.worker import run_case
from conformance.selftest.inject import Hits, Injection, faulty_kernels, healthy_kernels, overloads
from conformance.selftest.reach import index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch._ops import OpOverload

    from conformance.checks.contract import Case
    from conformance.selftest.inject import Fault
    from conformance.spec.suite import Suite

CHECK = "operators.forward"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one fault: caught by `case`, or missed; `reached` counts the cases in which it was hit.

    `false_alarms` are cases that fail without the fault as well.
    """

    fault: str
    case: str | None
    outcome: str | None
    message: str
    reached: int
    false_alarms: tuple[str, ...]

    @property
    def caught(self) -> bool:
        return self.case is not None


def measure(
    suite: Suite, faults: Mapping[str, Fault], *, seed: int = 0, workers: int = 0, done: Callable[[Verdict], None]
) -> list[Verdict]:
    """Run the suite with each fault, up to the first case that notices; `done` is told of each verdict as it comes."""
    torch.set_num_threads(1)
    groups = [group for group in Forward().groups(suite) if group[1] != ANY_DTYPE]
    where = index(groups, seed)
    jobs = [(fault, _places(fault, where)) for fault in faults.values()]
    verdicts = []
    # Forked, so that nobody imports the catalogue or looks for the groups again; torch has one thread so far.
    with ProcessPoolExecutor(
        workers or min(8, len(os.sched_getaffinity(0))), get_context("fork"), _start, (suite, seed, jobs)
    ) as pool:
        for verdict in pool.map(_judge_at, range(len(jobs))):
            done(verdict)
            verdicts.append(verdict)
    return verdicts


def _places(fault: Fault, where: Mapping[OpOverload, Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """The groups that reach the fault: operators of the overload's own name first, they show it most plainly."""
    own = {base_name(name) for name in fault.ops}
    groups = {group for overload in overloads(fault) for group in where.get(overload, ())}
    return sorted(groups, key=lambda group: (base_name(group[0]) not in own, group))


_SHARED: list[tuple[Suite, int, list[tuple[Fault, list[tuple[str, str]]]]]] = []


def _start(suite: Suite, seed: int, jobs: list[tuple[Fault, list[tuple[str, str]]]]) -> None:
    torch.set_num_threads(1)
    _SHARED[:] = [(suite, seed, jobs)]


def _judge_at(number: int) -> Verdict:
    ((suite, seed, jobs),) = _SHARED
    fault, places = jobs[number]
    return judge(suite, fault, places, seed)


def judge(suite: Suite, fault: Fault, places: Sequence[tuple[str, str]], seed: int = 0) -> Verdict:
    """Run the cases of the groups with the fault until one notices it.

    A case notices when its call reached the faulty kernel, it fails, and it does not fail where the same calls are
    intercepted and served right.
    """
    kernels = faulty_kernels(fault)  # one for the whole run: what a stale cache keeps, it keeps from case to case
    healthy = healthy_kernels(fault)
    hits = Hits()
    context = Context(torch.device("cpu"), default_profile("cpu"), suite, seed)
    faulty = replace(context, around=lambda: Injection(kernels, hits))
    null = replace(context, around=lambda: Injection(healthy, Hits()))
    reached = 0
    alarms: list[str] = []
    for operator, dtype in places:
        group = (CHECK, operator, dtype)
        for case, control in _pairs(faulty, null, operator, dtype):
            hits.count = 0
            row = run_case(faulty, case, group)
            reached += bool(hits.count)
            if not hits.count or row["outcome"] not in FAILING:
                continue
            if run_case(null, control, group)["outcome"] not in FAILING:
                return Verdict(fault.id, row["case"], row["outcome"], row["message"], reached, tuple(alarms))
            alarms.append(row["case"])
    return Verdict(fault.id, None, None, "", reached, tuple(alarms))


def _pairs(faulty: Context, null: Context, operator: str, dtype: str) -> Iterator[tuple[Case, Case]]:
    """Each case of a group with the fault, and beside it the same case without."""
    forward = Forward()
    return zip(forward.cases(faulty, operator, dtype), forward.cases(null, operator, dtype), strict=True)
