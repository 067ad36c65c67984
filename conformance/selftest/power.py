"""How many of some faults the suite catches, and by which case."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

import torch

from conformance.checks.contract import Context
from conformance.checks.operators import ANY_DTYPE
from conformance.checks.registry import all_checks
from conformance.device.profile import default_profile
from conformance.findings import base_name
from conformance.inputs import catalogue
from conformance.results import FAILING
from conformance.run.worker import run_case
from conformance.selftest.inject import Hits, Injection, faulty_kernels, healthy_kernels, overloads
from conformance.selftest.reach import index, reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.checks.contract import Case
    from conformance.selftest.inject import Fault
    from conformance.spec.plan import Group, Plan
    from conformance.spec.suite import Suite

#: Of the groups that reach a fault, how many are run before it counts as missed.
MOST_GROUPS = 400


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
    suite: Suite,
    plan: Plan,
    faults: Mapping[str, Fault],
    *,
    seed: int = 0,
    workers: int = 0,
    done: Callable[[Verdict], None],
) -> list[Verdict]:
    """Run the suite with each fault, up to the first case that notices; `done` is told of each verdict as it comes."""
    torch.set_num_threads(1)
    groups = [group for group in plan.groups if group.check.startswith("operators.") and group.dtype != ANY_DTYPE]
    context = Context(torch.device("cpu"), default_profile("cpu"), suite, seed)
    all_checks(), catalogue.entries()
    for fault in faults.values():
        overloads(fault)  # before the work: one that torch has not is the user's mistake
    verdicts = []
    # Forked, so that nobody imports the catalogue again; torch has one thread so far.
    _SHARED[:] = [_Shared(context, list(faults.values()), groups)]
    with ProcessPoolExecutor(workers or min(8, len(os.sched_getaffinity(0))), get_context("fork"), _single) as pool:
        found = pool.map(_reached_at, range(len(groups)), chunksize=16)
        where = index(dict(zip(groups, found, strict=True)))
        places = [_places(fault, where) for fault in faults.values()]
        for verdict in pool.map(_judge_at, range(len(places)), places):
            done(verdict)
            verdicts.append(verdict)
    return verdicts


def _places(fault: Fault, where: Mapping[str, Sequence[Group]]) -> list[Group]:
    """The groups that reach the fault: operators of the overload's own name first, they show it most plainly.

    After them one dtype of each check and operator before the next, plain calls before those made from them.
    """
    own = {base_name(name) for name in fault.ops}
    groups = {group for overload in overloads(fault) for group in where.get(str(overload), ())}
    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for group in sorted(groups, key=lambda group: (group.check != "operators.forward", group.id)):
        place = (group.check, group.operator)
        ranked.append((base_name(group.operator) not in own, seen[place], group))
        seen[place] += 1
    return [group for *_, group in sorted(ranked, key=lambda item: item[:2])][:MOST_GROUPS]


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the forked processes have from their parent."""

    context: Context
    faults: list[Fault]
    groups: list[Group]


_SHARED: list[_Shared] = []


def _single() -> None:
    torch.set_num_threads(1)


def _reached_at(number: int) -> set[str]:
    (shared,) = _SHARED
    return {str(overload) for overload in reached(shared.context, shared.groups[number])}


def _judge_at(number: int, places: Sequence[Group]) -> Verdict:
    (shared,) = _SHARED
    return judge(shared.context, shared.faults[number], places)


def judge(context: Context, fault: Fault, places: Sequence[Group]) -> Verdict:
    """Run the cases of the groups with the fault until one notices it.

    A case notices when its call reached the faulty kernel, it fails, and it does not fail where the same calls are
    intercepted and served right.
    """
    kernels = faulty_kernels(fault)  # one for the whole run: what a stale cache keeps, it keeps from case to case
    healthy = healthy_kernels(fault)
    hits = Hits()
    faulty = replace(context, around=lambda: Injection(kernels, hits))
    null = replace(context, around=lambda: Injection(healthy, Hits()))
    hit = 0
    alarms: list[str] = []
    for group in places:
        key = (group.check, group.operator, group.dtype)
        for case, control in _pairs(faulty, null, group):
            hits.count = 0
            row = run_case(faulty, case, key)
            hit += bool(hits.count)
            if not hits.count or row["outcome"] not in FAILING:
                continue
            if run_case(null, control, key)["outcome"] not in FAILING:
                return Verdict(fault.id, row["case"], row["outcome"], row["message"], hit, tuple(alarms))
            alarms.append(row["case"])
    return Verdict(fault.id, None, None, "", hit, tuple(alarms))


def _pairs(faulty: Context, null: Context, group: Group) -> Iterator[tuple[Case, Case]]:
    """Each case of a group with the fault, and beside it the same case without."""
    check = all_checks()[group.check]
    return zip(
        check.cases(faulty, group.operator, group.dtype, group.names),
        check.cases(null, group.operator, group.dtype, group.names),
        strict=True,
    )
