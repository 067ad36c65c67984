"""Coverage is counted by execution: what a judged case asks the device for, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conformance.coverage.apart import Coverage
from conformance.coverage.measure import measure, reached
from conformance.coverage.record import Recorder
from conformance.coverage.table import difference, entries_of, missing, rows, rule_rows
from conformance.coverage.witnesses import Witnesses, read_witnesses, witnesses_path, write_witnesses
from conformance.device.trace import trace
from conformance.errors import UsageError
from conformance.spec.denominators import Denominators, Overload, Rule
from conformance.spec.operators import Oracle
from conformance.spec.plan import Group, plan_path, read_plan
from conformance.spec.suite import load_suite


@pytest.fixture(scope="module")
def suite():
    return load_suite()


@pytest.fixture(scope="module")
def frozen(suite):
    found = read_witnesses(witnesses_path(suite.root, torch.__version__))
    assert found is not None
    return found


def recorded(call):
    recorder = Recorder()
    with torch.no_grad(), recorder.around():
        call()
    return recorder.seen


def test_a_composite_and_its_parts_are_both_asked_for():
    x, w, b = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    seen = recorded(lambda: torch.nn.functional.linear(x, w, b))
    assert seen["aten::linear"] is True
    assert seen["aten::addmm"] is False


def test_what_a_kernel_of_the_host_calls_is_its_own_business():
    x = torch.ones(3, 4)
    spans, _ = trace(lambda: torch.softmax(x, 1))
    below = {inner.name for span in spans for inner in span.walk()}
    assert "aten::_softmax" in below
    seen = recorded(lambda: x.to(torch.float64))
    spans, _ = trace(lambda: x.to(torch.float64))
    assert "aten::copy_" in {inner.name for span in spans for inner in span.walk()}
    assert "aten::_to_copy" in seen
    assert "aten::copy_" not in seen


def test_backward_calls_are_asked_for():
    x = torch.ones(3, requires_grad=True)
    recorder = Recorder()
    with recorder.around():
        torch.tanh(x).sum().backward()
    assert recorder.seen["aten::tanh_backward"] is True


def test_a_call_that_is_traced_already_is_not_recorded():
    recorder = Recorder()

    def call():
        with recorder.around():
            torch.ones(2).exp()

    trace(call)
    assert recorder.seen == {}
    call()
    assert "aten::exp" in recorder.seen


def test_a_call_that_raises_leaves_no_profiler_behind():
    recorder = Recorder()
    with pytest.raises(RuntimeError), recorder.around():
        torch.ones(2) @ torch.ones(3)
    assert "aten::matmul" in recorder.seen
    assert not torch._C._autograd._profiler_enabled()


def group_of(suite, operator, dtype):
    plan = read_plan(plan_path(suite.root, torch.__version__))
    return next(g for g in plan.groups if (g.check, g.operator, g.dtype) == ("operators.forward", operator, dtype))


def test_the_cases_of_a_group_say_what_they_reach(suite):
    found = dict(reached(suite, group_of(suite, "isclose", "float32")))
    assert found
    assert all(case.startswith("operators.forward/isclose/float32/") for case in found)
    assert all("aten::isclose" in seen for seen in found.values())


def test_a_case_that_is_not_planned_reaches_nothing(suite):
    group = group_of(suite, "isclose", "float32")
    name = group.names[1]
    found = dict(reached(suite, Group(group.check, group.operator, group.dtype, (name,))))
    assert list(found) == [f"{group.id}/{name}"]


def test_a_refusal_reaches_nothing(suite):
    """What was called on the way to an exception has given no values that could be judged."""
    plan = read_plan(plan_path(suite.root, torch.__version__))
    group = next(g for g in plan.groups if g.check == "operators.errors" and g.operator == "gather")
    assert all(name.endswith("-refused") for name in group.names)
    assert list(reached(suite, group)) == []


def test_an_unjudged_case_reaches_nothing(suite):
    blind = replace(suite.operators["exp"], oracle=Oracle("unjudged", why="for this test"), by_dtype={})
    unjudged = replace(suite, operators={**suite.operators, "exp": blind})
    group = group_of(suite, "exp", "float32")
    assert list(reached(unjudged, group)) == []
    assert any("aten::exp" in seen for _, seen in reached(suite, group))


def test_the_frozen_coverage_is_that_of_the_frozen_plan(suite, frozen):
    """Fails when the plan was frozen by other means than `onboard spec freeze`."""
    plan = read_plan(plan_path(suite.root, torch.__version__))
    assert frozen.plan == plan.digest


def test_every_witness_is_a_planned_case(suite, frozen):
    plan = read_plan(plan_path(suite.root, torch.__version__))
    cases = {case for group in plan.groups for case in group.cases()}
    assert not set(frozen.overloads.values()) - cases
    assert not set(frozen.opinfo.values()) - cases


@pytest.mark.slow
def test_running_the_plan_reaches_what_is_frozen(suite, frozen):
    found = measure(suite)
    assert sorted(found.overloads) == sorted(frozen.overloads)
    assert sorted(found.opinfo) == sorted(frozen.opinfo)


def test_every_core_overload_belongs_to_one_entry(suite, frozen):
    from conformance.device.census import census

    owners = {name: entries_of(name, suite, frozen) for name in census("CPU").core}
    assert [name for name, found in owners.items() if len(found) != 1] == []


ADD, OUT = Overload("aten::add.Tensor", "default", core=True), Overload("aten::add.out", "kernel", core=False)
LINEAR = Overload("aten::linear", "math", core=False)
CUDNN = Overload("aten::cudnn_convolution", "kernel", core=False, rule="others")
FEW = Denominators("2.13", (ADD, OUT, CUDNN, LINEAR), ("add", "exp"))
CASE = "operators.forward/add/float32/sample-0000/plain/function"
SEEN = Witnesses("2.13", "0" * 64, {"aten::add.Tensor": CASE, "aten::cudnn_convolution": CASE}, {"add": CASE})


def test_only_what_is_inside_counts():
    table = {row.name: row for row in rows(FEW, SEEN)}
    assert {name: (row.total, row.outside, row.reached, row.percent) for name, row in table.items()} == {
        "opinfo": (2, 0, 1, 50.0),
        "core": (1, 0, 1, 100.0),
        "kernel": (2, 1, 0, 0.0),
        "backend": (3, 1, 1, 50.0),
        "aten": (4, 1, 1, 33.3),
    }


def test_a_percentage_is_never_rounded_up_to_all():
    many = tuple(Overload(f"aten::f{n:04}", "math", core=False) for n in range(5000))
    seen = replace(SEEN, overloads={one.name: CASE for one in many[1:]})
    (aten,) = (row for row in rows(replace(FEW, overloads=many), seen) if row.name == "aten")
    assert aten.percent == 99.9


def test_without_a_measurement_there_is_no_share():
    assert {(row.reached, row.percent) for row in rows(FEW, None)} == {(None, None)}


def test_a_rule_shows_what_it_cuts_and_what_is_called_all_the_same():
    (row,) = rule_rows(FEW, SEEN, [Rule("others", "why", ("cudnn_*",))])
    assert (row.overloads, row.reached) == (1, 1)


def test_what_is_missing_comes_with_what_is_inside_first():
    none = replace(SEEN, overloads={})
    assert missing(FEW, none, ["kernel"]) == [OUT, CUDNN]
    assert missing(FEW, SEEN, ["aten"]) == [OUT, LINEAR]


def test_what_a_newer_torch_adds_is_new_upstream():
    newer = replace(FEW, overloads=(*FEW.overloads, Overload("aten::new", "kernel", core=True)), opinfo=("add", "new"))
    found = difference(newer, FEW)
    assert [one.name for one in found.overloads] == ["aten::new"]
    assert found.opinfo == ("new",)
    assert found.gone == ("exp",)
    assert not difference(FEW, FEW)


def test_a_measurement_that_differs_does_not_hold():
    same = Coverage(FEW, difference(FEW, FEW), SEEN, None)
    assert same.holds
    assert not replace(same, lost=("aten::exp",)).holds
    assert not replace(same, gained=("aten::exp",)).holds
    assert not replace(same, stale="another plan").holds


def test_an_entry_that_names_an_overload_owns_it(suite):
    owner = replace(suite.operators["mul"], aten=("add.Tensor",))
    named = replace(suite, operators={**suite.operators, "mul": owner})
    assert entries_of("aten::add.Tensor", suite, SEEN) == ("add",)
    assert entries_of("aten::add.Tensor", named, SEEN) == ("mul",)
    assert entries_of("aten::linear", suite, SEEN) == ()


def test_they_read_back(tmp_path):
    path = witnesses_path(tmp_path, "2.13.0+cpu")
    assert read_witnesses(path) is None
    write_witnesses(path, SEEN)
    assert read_witnesses(path) == SEEN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"overload aten::add.Tensor {CASE}\n", ""),
        ("aten::add.Tensor", "aten::add.out"),
        ("sample-0000", "sample-0001"),
        ("plan 0", "plan 1"),
    ],
)
def test_a_changed_file_is_refused(tmp_path, old, new):
    path = witnesses_path(tmp_path, "2.13")
    write_witnesses(path, SEEN)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError):
        read_witnesses(path)
