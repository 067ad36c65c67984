"""Outcomes better than what was measured, inside a valid signature."""

from __future__ import annotations

import pytest

OUTCOMES = "outcomes"


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        ("mm", {"error": 1.0000001e-6}),
        ("mm", {"error": 1.0}),
        ("mm", {"error": None}),
        ("mm", {"bound": None}),
        ("cat", {"error": 1}),
        ("cat", {"error": 1, "bound": 1}),
        ("cat", {"error": 0, "bound": 5.0}),
        ("exp", {"error": 2.0000001e-7}),
    ],
)
def test_a_pass_beyond_its_bound_is_noticed(unsigned, with_row, operator, changes):
    unsigned.forge(with_row(unsigned, operator, **changes))
    unsigned.rejected(OUTCOMES)


def test_exactly_on_the_bound_is_a_pass(unsigned, with_row):
    unsigned.run(with_row(unsigned, "mm", error=1e-6)).sign()
    assert unsigned.verify().status == "VALID"


def test_a_pass_without_a_measurement_is_noticed(unsigned, with_row):
    unsigned.forge(with_row(unsigned, "mm", rung=None, error=None, bound=None))
    unsigned.rejected(OUTCOMES)


@pytest.mark.parametrize("rung", ["conditioned", "random", "unjudged", "generous"])
def test_another_rung_than_the_suite_asks_for_is_noticed(unsigned, with_row, rung):
    unsigned.forge(with_row(unsigned, "mm", rung=rung))
    unsigned.rejected(OUTCOMES)


def test_a_wrong_that_would_be_a_pass_is_noticed_as_well(unsigned, with_row):
    unsigned.forge(with_row(unsigned, "mm", outcome="wrong"))
    unsigned.rejected(OUTCOMES)


@pytest.mark.parametrize("outcome", ["error", "crash", "timeout", "flaky", "missing", "unjudged"])
def test_other_outcomes_are_never_upgraded(unsigned, with_row, outcome):
    unsigned.run(with_row(unsigned, "mm", outcome=outcome)).sign()
    found = unsigned.verify()
    assert found.status == "VALID"
    assert found.verdict == ("incomplete" if outcome == "unjudged" else "fail")


@pytest.mark.parametrize("value", ["-inf", -1.0, -1, "0", "", "Infinity", True, [], {}, "1e-9"])
@pytest.mark.parametrize("key", ["error", "bound"])
def test_what_is_no_size_is_refused(unsigned, with_row, rows, key, value):
    unsigned.run().sign()
    unsigned.write_rows(with_row(unsigned, "mm", **{key: value}))
    unsigned.rejected("results")


@pytest.mark.parametrize(
    "changes",
    [
        {"operator": "cat"},
        {"dtype": "bfloat16"},
        {"dtype": None},
        {"check": "runtime.copies"},
        {"execution": "telepathic"},
        {"outcome": "passed"},
        {"outcome": None},
        {"message": None},
        {"seconds": -1.0},
        {"seconds": "fast"},
        {"seconds": None},
        {"layout": 7},
        {"kernels": ("a", 7)},
        {"case": "operators.forward/mm"},
    ],
)
def test_a_row_that_contradicts_itself_or_its_form_is_refused(bench, with_row, changes):
    bench.write_rows(with_row(bench, "mm", **changes))
    bench.rejected("results")


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b"{}", b'{"case": "x"}', b"", b"\xff"])
def test_a_line_that_is_no_row_is_refused(bench, line):
    import gzip

    from conformance.results import RESULTS_NAME

    path = bench.folder / RESULTS_NAME
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + line + b"\n"))
    bench.rebind()
    bench.rejected("results")
