"""The harness that injects faults: it hits the device's side alone, and blames nothing on a healthy kernel."""

from dataclasses import dataclass, replace

import pytest
import torch

from conformance.checks.contract import Context
from conformance.device.profile import default_profile
from conformance.errors import UsageError
from conformance.faults.overloads import resolve
from conformance.selftest import power
from conformance.selftest.inject import Hits, Injection, healthy_kernels, load_faults, overloads
from conformance.selftest.reach import asked, index, reached
from conformance.spec.plan import Group, make_plan
from conformance.spec.suite import load_suite

EXP = Group("operators.forward", "exp", "float32", ("sample-0000/plain/function", "sample-0001/plain/function"))
SIN = replace(EXP, operator="sin")
PLACES = [EXP]


@dataclass(frozen=True)
class Fault:
    id: str
    ops: tuple
    kernel: object

    def make(self, op):
        return self.kernel


def off_by_a_thousandth(original, *args, **kwargs):
    return original(*args, **kwargs) * 1.001


def right(original, *args, **kwargs):
    return original(*args, **kwargs)


def raises(original, *args, **kwargs):
    raise RuntimeError("of the kernel")


@pytest.fixture(scope="module")
def context():
    return Context(torch.device("cpu"), default_profile("cpu"), load_suite(), 0)


@pytest.mark.parametrize(
    ("kernel", "outcome", "message"),
    [(off_by_a_thousandth, "wrong", "is due"), (raises, "error", "of the kernel")],
)
def test_a_fault_is_caught_by_the_first_case_that_reaches_it(context, kernel, outcome, message):
    found = power.judge(context, Fault("exp.fault", ("aten::exp",), kernel), PLACES)
    assert found.caught
    assert found.outcome == outcome
    assert found.case.startswith("operators.forward/exp/float32/")
    assert message in found.message
    assert found.reached == 1
    assert found.false_alarms == ()


def test_a_healthy_kernel_is_missed_though_it_is_reached(context):
    found = power.judge(context, Fault("exp.none", ("aten::exp",), right), PLACES)
    assert not found.caught
    assert found.reached > 1


def test_a_fault_that_no_case_reaches_is_missed(context):
    found = power.judge(context, Fault("sin.fault", ("aten::sin",), off_by_a_thousandth), PLACES)
    assert (found.caught, found.reached) == (False, 0)


def test_a_case_that_fails_without_the_fault_is_a_false_alarm_and_catches_nothing(context, monkeypatch):
    monkeypatch.setattr(power, "healthy_kernels", lambda fault: dict.fromkeys(map(resolve, fault.ops), raises))
    found = power.judge(context, Fault("exp.fault", ("aten::exp",), off_by_a_thousandth), PLACES)
    assert not found.caught
    assert found.false_alarms[0].startswith("operators.forward/exp/float32/")


def test_faults_are_measured_side_by_side_and_each_is_told(context):
    faults = {name: Fault(name, (f"aten::{name}",), off_by_a_thousandth) for name in ("exp", "sin", "cos")}
    told = []
    plan = make_plan(torch.__version__, [EXP, SIN])
    verdicts = power.measure(context.suite, plan, faults, workers=2, done=told.append)
    assert [v.fault for v in verdicts] == [v.fault for v in told] == ["exp", "sin", "cos"]
    assert [v.caught for v in verdicts] == [True, True, False]


def test_the_overload_s_own_operators_come_first():
    cosh = replace(EXP, operator="cosh")
    where = {"aten.exp.default": [cosh, EXP], "aten.mul.Tensor": [EXP]}
    assert power._places(Fault("f", ("aten::exp", "aten::mul.Tensor"), right), where) == [EXP, cosh]


def test_groups_are_known_by_what_they_call(context):
    assert resolve("aten::exp") in reached(context, EXP)
    assert index({EXP: ["aten.exp.default"]})["aten.exp.default"] == [EXP]


def test_of_each_kind_of_case_the_first_and_the_last_are_asked():
    names = [
        f"{stem}/plain/{variant}" for stem in ("sample-0", "sample-1", "sample-2") for variant in ("function", "out")
    ]
    assert asked([*names, "special-0/plain/function"]) == [*names[:2], *names[4:], "special-0/plain/function"]


def test_an_injection_counts_and_ends():
    hits = Hits()
    with Injection(healthy_kernels(Fault("f", ("aten::exp",), right)), hits):
        torch.ones(2).exp().sin()
    torch.ones(2).exp()
    assert hits.count == 1


@pytest.mark.parametrize("name", ["aten::no_such_operator", "aten::exp.no_such_overload"])
def test_an_unknown_overload_is_an_error(name):
    with pytest.raises(UsageError, match="the fault f names aten::"):
        overloads(Fault("f", (name,), right))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("REGISTRY = 3", "no REGISTRY of faults"),
        ("import nothing_of_that_name", "cannot be imported"),
        (None, "no Python"),
    ],
)
def test_a_file_without_faults_is_an_error(tmp_path, text, message):
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_faults(file)
