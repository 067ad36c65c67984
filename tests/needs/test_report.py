"""Calls summed up by overload, and what to implement first."""

from __future__ import annotations

import pytest

from conformance.needs.groups import concerned
from conformance.needs.report import CallResult, Report, needs_of, tasks_of


def result(overload, answer="right", execution="native", blame=(), dtypes=("float32",), message="", **calls):
    return CallResult(overload, f"{calls}", dtypes, calls, answer, message, execution, blame)


def test_an_overload_is_as_good_as_the_worst_of_its_calls():
    calls = [
        result("aten::a", forward=2, dtypes=("int64",)),
        result("aten::a", "wrong", message="off", forward=1, backward=4),
        result("aten::a", "not measured", None, compiled=7),
    ]
    (need,) = needs_of(calls, {"aten::a": "kernel"})
    assert need.calls == {"forward": 3, "backward": 4, "compiled": 7}
    assert (need.answer, need.message, need.execution) == ("wrong", "off", "native")
    assert (need.dtypes, need.distinct, need.by_table) == (("float32", "int64"), 3, False)
    assert need.weight == 14  # what only the compiled model calls counts as that


@pytest.mark.parametrize(
    ("table", "execution"),
    [("kernel", "native"), ("default", "composite"), ("math", "composite"), ("fallback", "fallback"),
     ("missing", "absent")],
)  # fmt: skip
def test_what_no_call_shows_is_as_the_table_has_it(table, execution):
    (need,) = needs_of([result("aten::a", "not measured", None, forward=1)], {"aten::a": table})
    assert (need.execution, need.by_table) == (execution, True)


@pytest.mark.parametrize(
    ("answer", "execution", "served"),
    [("right", "native", True), ("right", "composite", True), ("right", "fallback", False), ("wrong", "native", False),
     ("not measured", "native", False), ("crash", None, False)],
)  # fmt: skip
def test_served_is_on_the_device_and_right(answer, execution, served):
    (need,) = needs_of([result("aten::a", answer, execution, forward=1)], {"aten::a": "kernel"})
    assert need.served is served


def test_the_most_called_come_first():
    calls = [result("aten::a", forward=1), result("aten::b", compiled=9), result("aten::c", backward=2)]
    assert [need.overload for need in needs_of(calls, {})] == ["aten::c", "aten::a", "aten::b"]


def test_tasks_are_ranked_by_the_calls_they_block_and_fallbacks_come_last():
    calls = [
        result("aten::t", "not measured", "absent", ("aten::as_strided",), forward=2),
        result("aten::expand", "not measured", "absent", ("aten::as_strided",), forward=1),
        result("aten::exp", "wrong", forward=2),
        result("aten::sin", "crash", None, forward=1),
        result("aten::bmm", "right", "fallback", ("aten::bmm.out",), forward=50),
        result("aten::lost", "not measured", None, forward=4),
        result("aten::add", forward=99),
    ]
    needs = needs_of(calls, {"aten::lost": "missing", "aten::sin": "kernel"})
    assert [(t.overload, t.do, t.calls, t.callers, t.blocks) for t in tasks_of(calls, needs)] == [
        ("aten::lost", "implement", 4, (), True),
        ("aten::as_strided", "implement", 3, ("aten::t", "aten::expand"), True),
        ("aten::exp", "correct", 2, (), True),
        ("aten::sin", "repair", 1, (), True),
        ("aten::bmm.out", "make native", 50, ("aten::bmm",), False),
    ]


@pytest.mark.parametrize(
    ("calls", "failed", "whole", "ok"),
    [
        ([result("aten::a", forward=1)], {}, "right", True),
        ([result("aten::a", forward=1)], {}, "not measured", True),
        ([result("aten::a", forward=1)], {}, "wrong", False),
        ([result("aten::a", forward=1)], {"compiled": "no graph"}, "right", False),
        ([result("aten::a", "right", "fallback", forward=1)], {}, "right", False),
    ],
)
def test_ok_is_everything_served_and_followed(calls, failed, whole, ok):
    needs = needs_of(calls, {"aten::a": "kernel"})
    report = Report(
        "m.py:build", "trn", "trn", False, "2.13", "PrivateUse1", "trn", needs, tasks_of(calls, needs), {}, True,
        failed, 1, (), {"answer": whole}, (), 1.0,
    )  # fmt: skip
    assert report.ok is ok
    counts = report.document()["counts"]
    assert sum(counts["execution"].values()) == sum(counts["answer"].values()) == counts["overloads"]["total"] == 1


REACHED = {
    ("mm", "float32"): frozenset({"aten::mm"}),
    ("mm", "int64"): frozenset({"aten::mm"}),
    ("linear", "float32"): frozenset({"aten::mm", "aten::t", "aten::add"}),
    ("conv1d", "float32"): frozenset({"aten::convolution"}),
    ("gradient", "float32"): frozenset({"aten::stack", "aten::sub", "aten::div"}),
    ("vander", "float32"): frozenset({"aten::stack", "aten::pow"}),
    ("t", "float32"): frozenset({"aten::t"}),
}


def test_groups_are_those_whose_every_call_the_model_makes():
    taken, unreached = concerned({"aten::mm": frozenset({"float32"}), "aten::add": frozenset({"float32"})}, REACHED)
    assert taken == {("mm", "float32"), ("linear", "float32")}
    assert unreached == ()


def test_an_overload_without_such_a_group_gets_the_nearest():
    taken, unreached = concerned({"aten::stack": frozenset({"float32"}), "aten::t": frozenset({"float32"}),
                                  "aten::gelu_backward": frozenset({"float32"})}, REACHED)  # fmt: skip
    assert taken == {("vander", "float32"), ("t", "float32")}
    assert unreached == ("aten::gelu_backward",)


def test_dtypes_are_those_of_the_model():
    assert concerned({"aten::mm": frozenset({"int64"})}, REACHED)[0] == {("mm", "int64")}
    assert concerned({"aten::mm": frozenset({"float16"})}, REACHED) == (frozenset(), ("aten::mm",))
