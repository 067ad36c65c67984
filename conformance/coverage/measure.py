"""Running the whole plan of the operators on the host, to see which overloads it reaches and what judges them."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from conformance.checks.contract import Context
from conformance.checks.operators.run import REFUSED, STRIDES
from conformance.checks.registry import all_checks
from conformance.coverage.installed import installed
from conformance.coverage.record import Recorder
from conformance.coverage.witnesses import Witnesses
from conformance.device.profile import default_profile
from conformance.errors import EnvironmentFailure
from conformance.findings import base_name
from conformance.inputs.catalogue import described
from conformance.inputs.samples import PLAN_SEED
from conformance.run.worker import run_case
from conformance.spec.denominators import load_rules
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.spec.plan import Group
    from conformance.spec.suite import Suite

#: The outcomes that come from comparing values.
JUDGED = frozenset({"pass", "wrong"})
#: Groups per task: the largest group takes seconds, most take a hundredth of one.
_AT_ONCE = 8


def measure(suite: Suite, *, workers: int = 0) -> Witnesses:
    """Run every case of the checks `operators.*` on the host; about two minutes of one core for torch 2.13."""
    plan = read_plan(plan_path(suite.root, torch.__version__))
    if plan is None:
        raise EnvironmentFailure(f"no frozen plan for torch {torch.__version__}", hint="run `onboard spec freeze`")
    groups = [group for group in plan.groups if group.check.startswith("operators.")]
    overloads: dict[str, tuple[bool, bool, str]] = {}
    opinfo: dict[str, str] = {}
    torch.set_num_threads(1)
    # Forked, so that nobody imports the catalogue again; torch has one thread so far.
    with ProcessPoolExecutor(
        workers or min(8, len(os.sched_getaffinity(0))), get_context("fork"), _start, (suite,)
    ) as pool:
        for claims, case in pool.map(_run, groups, chunksize=_AT_ONCE):
            for name, claim in claims.items():
                overloads[name] = min(claim, overloads.get(name, claim))
            if case is not None:
                operator = case.split("/")[1]
                opinfo[operator] = min(case, opinfo.get(operator, case))
    known = {name: case for name, case in opinfo.items() if name in described()}
    return Witnesses(plan.torch, plan.digest, {name: claim[-1] for name, claim in overloads.items()}, known)


_SUITE: list[Suite] = []


def _start(suite: Suite) -> None:
    torch.set_num_threads(1)
    _SUITE[:] = [suite]


def _run(group: Group) -> tuple[dict[str, tuple[bool, bool, str]], str | None]:
    """For each overload that the group reaches the best case, and the first case that was judged at all."""
    claims: dict[str, tuple[bool, bool, str]] = {}
    first: str | None = None
    for case, seen in reached(_SUITE[0], group):
        first = min(case, first or case)
        for name, outermost in seen.items():
            claim = _claim(name, group.operator, case, outermost=outermost)
            claims[name] = min(claim, claims.get(name, claim))
    return claims, first


def _claim(name: str, operator: str, case: str, *, outermost: bool) -> tuple[bool, bool, str]:
    """The smaller, the better a case shows the overload: called by itself before called within another operator."""
    return (not outermost, base_name(operator).rstrip("_") != base_name(name).rstrip("_"), case)


def reached(suite: Suite, group: Group) -> Iterator[tuple[str, dict[str, bool]]]:
    """The cases of a group whose values are judged, by id, each with the overloads that it asks the device for."""
    recorder = Recorder()
    context = Context(torch.device("cpu"), default_profile("cpu"), suite, PLAN_SEED, recorder.around)
    planned = frozenset(group.names)
    for case in all_checks()[group.check].cases(context, group.operator, group.dtype, group.names):
        if case.name in planned and has_values(case.variant or ""):
            recorder.seen = {}
            row = run_case(context, case, (group.check, group.operator, group.dtype))
            if row["outcome"] in JUDGED:
                yield row["case"], recorder.seen


def has_values(variant: str) -> bool:
    """Whether a call of this variant is judged by its values, and not by its strides or by what it raises."""
    return variant != STRIDES and not variant.endswith(REFUSED)


def _main() -> None:
    suite = load_suite(Path(sys.argv[2]))
    if sys.argv[1] == "installed":
        found = installed(load_rules(suite.root))
        overloads = [[o.name, o.served, o.core, o.rule, o.host] for o in found.overloads]
        json.dump({"torch": found.torch, "overloads": overloads, "opinfo": found.opinfo}, sys.stdout)
        return
    seen = measure(suite)
    document = {"torch": seen.torch, "plan": seen.plan, "overloads": dict(seen.overloads), "opinfo": dict(seen.opinfo)}
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    _main()
