"""The failing cases are left out, and everything else is made to fit."""

from __future__ import annotations

import pytest

CASES = "cases"


def test_one_case_left_out_is_noticed(unsigned, rows):
    unsigned.forge([row for row in rows(unsigned.suite) if not row.case.endswith("mm/float32/opinfo-0003")])
    assert CASES in failing_of(unsigned)


def test_a_whole_required_group_left_out_is_noticed(unsigned, rows):
    unsigned.forge([row for row in rows(unsigned.suite) if row.operator != "cat"])
    assert CASES in failing_of(unsigned)


def test_a_group_of_a_level_that_is_only_shown_is_required_too(unsigned, rows):
    unsigned.forge([row for row in rows(unsigned.suite) if row.operator != "exp"])
    unsigned.rejected(CASES)


def test_no_rows_at_all_are_noticed(unsigned):
    unsigned.forge([])
    assert CASES in failing_of(unsigned)


def test_an_unplanned_case_is_noticed(unsigned, rows):
    from dataclasses import replace

    whole = rows(unsigned.suite)
    extra = replace(whole[-1], case="operators.forward/exp/float32/opinfo-9999", check="operators.forward",
                    operator="exp", dtype="float32", rung="conditioned", error=0.0, bound=1e-7)  # fmt: skip
    unsigned.forge([*whole, extra])
    found = unsigned.rejected(CASES)
    assert "1 unknown: operators.forward/exp/float32/opinfo-9999" in detail(found)


def test_a_case_renamed_is_both_missing_and_unknown(unsigned, rows):
    from dataclasses import replace

    whole = rows(unsigned.suite)
    index = next(i for i, row in enumerate(whole) if row.operator == "exp")
    whole[index] = replace(whole[index], case="operators.forward/exp/float32/opinfo-0007")
    unsigned.forge(whole)
    found = unsigned.rejected(CASES)
    assert "1 missing" in detail(found)
    assert "1 unknown" in detail(found)


def test_a_plan_of_the_vendors_own_is_noticed(bench):
    bench.restate(lambda document: document["predicate"]["configuration"][2]["digest"].update(sha256="0" * 64))
    bench.rejected("plan")


def test_a_level_that_the_suite_does_not_have_is_noticed(bench):
    bench.restate(lambda document: document["predicate"]["onboard"].update(judged=["perfect"]))
    bench.rejected("plan", "summary")


@pytest.mark.parametrize("judged", [[], ["inference"]])
def test_judging_without_the_prerequisites_is_noticed(bench, judged):
    bench.restate(lambda document: document["predicate"]["onboard"].update(judged=judged))
    bench.rejected("plan", "summary")


def test_a_torch_without_a_plan_certifies_nothing(bench):
    bench.restate(lambda document: document["predicate"]["onboard"].update(torch="2.14.0"))
    found = bench.verify()
    assert found.status == "INVALID"
    assert "uncalibrated" in next(check.detail for check in found.checks if check.id == "plan")


def failing_of(bench):
    found = bench.verify()
    assert found.status == "INVALID"
    return {check.id for check in found.checks if check.ok is False}


def detail(found):
    return next(check.detail for check in found.checks if check.id == CASES)
