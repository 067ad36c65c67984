"""The verdict is a function of the plan and the rows, and nothing that is missing passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.results import Row, within
from conformance.spec.levels import Level, Requirement
from conformance.spec.operators import OperatorSpec, Oracle
from conformance.spec.plan import Group, make_plan
from conformance.spec.policy import Allowance
from conformance.spec.suite import Suite
from conformance.verdict import judge_levels, overall

NAMES = ("sample-0000/plain/function", "sample-0001/plain/function")
ADD = Group("operators.forward", "add", "float32", NAMES)
EXP = Group("operators.forward", "exp", "bfloat16", NAMES)
COPY = Group("runtime.copies", "copies", "any", ("roundtrip",))
PLAN = make_plan("2.13.0", [ADD, EXP, COPY], frozen=True)


def operator(name):
    return OperatorSpec(name, "elementwise", "inference", 1, ("float32",), Oracle("exact"), {}, None)


def requirement(*checks, native=False):
    return Requirement(checks, ("*",), (), (), native)


SUITE = Suite(
    name="test", version="1", digest="0" * 64, root=Path("specs"), newest_torch="2.13", withdrawn=False,
    case_seconds=1, first_call_seconds=1, compiling=(), operators={n: operator(n) for n in ("add", "exp")},
    levels={
        "bring-up": Level("bring-up", (), "", (requirement("runtime.*"),)),
        "inference": Level("inference", ("bring-up",), "", (requirement("operators.*", native=True),)),
    },
    policy={
        "inference": Allowance(unsupported_dtypes=("bfloat16",)),
        "bring-up": Allowance(not_applicable=("runtime.*",)),
    },
)  # fmt: skip


def row(case, outcome="pass", execution="native"):
    check, op, dtype, _ = case.split("/", 3)
    return Row(case, check, op, None, dtype, None, None, outcome, execution, 0.0, 1.0, "exact", 0.1, "")


def rows(**changes):
    found = {case: row(case) for group in PLAN.groups for case in group.cases()}
    for case, change in changes.get("changes", {}).items():
        found[case] = replace(found[case], **change)
    return [r for c, r in found.items() if c not in changes.get("drop", ())]


def judge(given, plan=PLAN, complete=True):
    return judge_levels(SUITE, plan, given, list(SUITE.levels), complete=complete)


FIRST = f"{ADD.id}/{NAMES[0]}"


def test_all_passing_passes():
    levels = judge(rows())
    assert [level.verdict for level in levels.values()] == ["pass", "pass"]
    assert (levels["inference"].required, levels["inference"].passed) == (4, 4)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [("wrong", "fail"), ("error", "fail"), ("crash", "fail"), ("timeout", "fail"), ("flaky", "fail"),
     ("missing", "fail"), ("unjudged", "incomplete"), ("unsupported", "fail"), ("waived", "pass")],
)  # fmt: skip
def test_one_bad_case_decides_the_level(outcome, verdict):
    levels = judge(rows(changes={FIRST: {"outcome": outcome}}))
    assert levels["inference"].verdict == verdict
    assert levels["bring-up"].verdict == "pass"


def test_a_case_that_was_not_selected_leaves_the_level_incomplete():
    level = judge(rows(drop=[FIRST]))["inference"]
    assert level.verdict == "incomplete"
    assert (level.required, level.passed) == (4, 3)
    assert level.why == ("1 cases not selected",)


def test_what_policy_allows_may_be_unsupported_and_leaves_the_denominator():
    changes = {case: {"outcome": "unsupported", "execution": None} for case in EXP.cases()}
    level = judge(rows(changes=changes))["inference"]
    assert (level.verdict, level.required, level.passed) == ("pass", 2, 2)


@pytest.mark.parametrize("execution", ["fallback", "absent"])
def test_a_fallback_is_no_native_kernel(execution):
    level = judge(rows(changes={FIRST: {"execution": execution}}))["inference"]
    assert level.verdict == "fail"
    assert level.passed == level.required


def test_execution_that_nobody_observed_is_not_native():
    changes = {case: {"execution": None} for case in ADD.cases()}
    assert judge(rows(changes=changes))["inference"].verdict == "incomplete"


def test_a_level_is_no_better_than_its_prerequisite():
    levels = judge(rows(changes={f"{COPY.id}/roundtrip": {"outcome": "wrong"}}))
    assert levels["bring-up"].verdict == levels["inference"].verdict == "fail"
    assert "bring-up: fail" in levels["inference"].why


def test_a_plan_made_by_the_run_itself_certifies_nothing():
    assert judge(rows(), plan=replace(PLAN, frozen=False))["bring-up"].verdict == "incomplete"


def test_a_run_broken_off_is_incomplete_not_failed():
    given = rows(changes={FIRST: {"outcome": "missing"}})
    assert judge(given, complete=False)["inference"].verdict == "incomplete"


def test_overall_counts_judged_levels_only():
    given = rows(changes={FIRST: {"outcome": "wrong"}})
    levels = judge(given)
    assert overall(levels, ["bring-up"], given, narrowed=False) == "pass"
    assert overall(levels, ["bring-up", "inference"], given, narrowed=False) == "fail"
    assert overall(levels, ["bring-up"], given, narrowed=True) == "fail"
    assert overall(levels, ["bring-up"], rows(), narrowed=True) == "incomplete"


def test_what_a_broken_off_run_did_not_reach_is_no_failure_and_no_pass():
    given = rows(changes={next(iter(rows())).case: {"outcome": "missing"}})
    held = judge(rows(), complete=False)
    assert overall(held, ["bring-up"], rows(), narrowed=False, complete=False) == "incomplete"
    assert overall(held, ["bring-up"], given, narrowed=True, complete=False) == "incomplete"
    assert overall(held, ["bring-up"], given, narrowed=True) == "fail"


@pytest.mark.parametrize(
    ("error", "bound", "inside"),
    [(0.0, 0.0, True), (1.0, 1.0, True), (1.1, 1.0, False), ("nan", 1.0, False), (0.0, "inf", False),
     (0.0, "nan", False), ("inf", "inf", False), (None, 1.0, False), (0.0, None, False)],
)  # fmt: skip
def test_within_accepts_no_nan_and_no_infinite_bound(error, bound, inside):
    assert within(error, bound) is inside
