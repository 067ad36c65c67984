"""What of the plan a run takes."""

from pathlib import Path

import pytest
import torch

from conformance.device.profile import Profile
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.select import PREVIEWED, required_groups, select
from conformance.spec.smoke import smoke
from conformance.spec.suite import load_suite


@pytest.fixture(scope="module")
def suite():
    return load_suite()


@pytest.fixture(scope="module")
def plan(suite):
    return read_plan(plan_path(Path(suite.root), torch.__version__))


def rungs(suite, groups):
    """Of the checks of operators, what judges them in which family."""
    found = set()
    for group in groups:
        spec = suite.operators.get(group.operator) if group.check.startswith("operators.") else None
        oracle = spec and group.dtype != "any" and spec.oracle_of(group.check, group.dtype)
        if oracle:
            found.add((spec.family, oracle.rung))
    return found


def test_a_smoke_run_has_a_case_of_each_family_and_rung_and_of_each_check(suite, plan):
    chosen = select(suite, plan, Profile("cpu", "cpu"), smoke_only=True)
    assert chosen.narrowed
    assert all(len(group.names) == 1 for group in chosen.groups if group.check.startswith("operators."))
    assert sum(len(group.names) for group in chosen.groups) < 350
    forward = [group for group in chosen.groups if group.check == "operators.forward"]
    every = [g for g in required_groups(suite, plan, tuple(suite.levels)) if g.check == "operators.forward"]
    assert rungs(suite, forward) == rungs(suite, every)
    checks = {group.check for group in plan.groups} - {"compile.smoke", "compile.backward"}
    assert {group.check for group in chosen.groups} == checks - {"runtime.autoload", "runtime.mandatory"}


def test_a_smoke_run_takes_planned_cases_alone(suite, plan):
    planned = {group.id: set(group.names) for group in plan.groups}
    assert all(set(group.names) <= planned[group.id] for group in smoke(suite, plan.groups))


def test_globs_narrow_a_smoke_run(suite, plan):
    chosen = select(suite, plan, Profile("cpu", "cpu"), ops="softmax", smoke_only=True)
    assert {group.operator for group in chosen.groups} == {"softmax"}


def test_a_preview_shows_operators_and_not_every_way_to_call_them(suite, plan):
    """A first measurement has to end while somebody watches; what is judged is run in full."""
    first = select(suite, plan, Profile("cpu", "cpu"))
    assert first.previewed == ("inference",)
    extensive = {g.operator for g in first.groups if g.check.startswith("operators.") and g.check not in PREVIEWED}
    assert not extensive - {name for name, spec in suite.operators.items() if spec.level == "bring-up"}
    asked = select(suite, plan, Profile("cpu", "cpu"), levels=("inference",))
    assert {"operators.sizes", "operators.out", "operators.inplace"} <= {group.check for group in asked.groups}
    assert not asked.narrowed
