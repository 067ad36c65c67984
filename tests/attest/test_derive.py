"""Which cases a signed report has to have."""

from types import SimpleNamespace

import pytest
import torch

from conformance.device.profile import Profile
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.select import select
from conformance.spec.suite import load_suite
from onboard.attest.derive import case_problems

SUITE = load_suite()


@pytest.fixture(scope="module")
def plan():
    return read_plan(plan_path(SUITE.root, torch.__version__))


def rows(groups):
    return [SimpleNamespace(case=case, group=group.id) for group in groups for case in group.cases()]


@pytest.mark.parametrize("levels", [(), ("bring-up",), ("inference",)])
def test_what_an_unnarrowed_run_takes_is_what_a_signature_asks_for(plan, levels):
    """The default run previews a level; a report of it could not be signed if the whole level were asked for."""
    chosen = select(SUITE, plan, Profile("cpu", "cpu"), levels=levels)
    shown = (*chosen.judged, *chosen.previewed)
    assert case_problems(SUITE, plan, rows(chosen.groups), chosen.judged, shown) == []


def test_a_level_that_is_judged_is_asked_for_in_full(plan):
    previewed = select(SUITE, plan, Profile("cpu", "cpu"))
    judged = (*previewed.judged, *previewed.previewed)
    (problem,) = case_problems(SUITE, plan, rows(previewed.groups), judged, judged)
    assert "missing: operators." in problem
