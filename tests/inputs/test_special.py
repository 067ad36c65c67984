"""Special values are put where they mean something, by shape alone, and the script shows them."""

import math

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import SPECIAL, Forward
from conformance.device.profile import Profile
from conformance.inputs.samples import Sample, opinfo_samples
from conformance.inputs.special import VALUES, special_sample
from conformance.selftest import power
from conformance.spec.plan import Group
from conformance.spec.suite import load_suite


@pytest.fixture(scope="module")
def suite():
    return load_suite()


def sample(*tensors, **kwargs):
    return Sample(tensors, kwargs)


def written(value):
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else str(value)


def test_real_inexact_tensors_are_filled_and_everything_else_stays():
    whole, scalar = torch.arange(9), 2.5
    found = special_sample([sample(torch.ones(4, 4), whole, scalar, weight=torch.ones(2))])
    assert {written(v) for v in found.args[0].flatten().tolist()} == {written(v) for v in VALUES}
    assert found.args[1] is whole
    assert found.args[2] == scalar
    assert found.kwargs["weight"].shape == (2,)


def test_in_two_tensors_every_value_meets_every_other():
    found = special_sample([sample(torch.ones(32), torch.ones(32))])
    pairs = {(written(a), written(b)) for a, b in zip(*(t.tolist() for t in found.args), strict=True)}
    assert len(pairs) == 32
    assert {a for a, _ in pairs} == {b for _, b in pairs} == {written(v) for v in VALUES}


STORAGE = torch.ones(20)


@pytest.mark.parametrize(
    "unfit",
    [sample(torch.ones(7)), sample(torch.ones(1025)), sample(torch.ones(8, dtype=torch.int64)), sample(),
     sample(torch.ones(8, dtype=torch.complex64)), sample(torch.eye(8).to_sparse()),
     sample(STORAGE[:8], STORAGE[8:16])],
    ids=["small", "large", "integers", "none", "complex", "sparse", "one storage"],
)  # fmt: skip
def test_a_sample_that_is_not_fit_is_passed_over(unfit):
    assert special_sample([unfit]) is None
    assert special_sample([unfit, sample(torch.ones(8))]) is not None


@pytest.mark.parametrize("operator", ["add", "sum", "nn.functional.gelu", "cat", "sort"])
def test_the_values_do_not_depend_on_the_seed(operator):
    one, other = (special_sample(opinfo_samples(operator, "float32", seed)) for seed in (0, 1))
    for a, b in zip(one.tensors, other.tensors, strict=True):
        assert torch.equal(a.nan_to_num(), b.nan_to_num())


@pytest.mark.parametrize("operator", ["add", "exp", "sum", "nn.functional.relu", "fmod", "hypot"])
def test_the_case_passes_on_the_host_and_its_script_runs(suite, operator):
    context = Context(torch.device("cpu"), Profile("cpu", "cpu"), suite, 0)
    assert Forward().names(suite, operator, "float32")[-1] == SPECIAL
    (case,) = [case for case in Forward().cases(context, operator, "float32") if case.name == SPECIAL]
    assert case.run().outcome == "pass"
    text = case.repro()
    assert "nan" in text
    exec(text, {})


@pytest.mark.parametrize(
    ("operator", "kernel"),
    [
        ("exp", lambda original, x: original(x).nan_to_num()),
        ("add", lambda original, *a, **k: original(*a, **k).nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)),
        ("neg", lambda original, x: original(x) + 0.0),  # -0 becomes 0
        ("maximum", lambda original, a, b: torch.where(a.isnan(), b, torch.where(b.isnan(), a, original(a, b)))),
        ("sqrt", lambda original, x: torch.where(x == math.inf, torch.finfo(x.dtype).max, original(x))),
    ],
    ids=["number for NaN", "zero for NaN", "lost sign of zero", "dropped NaN", "number for infinity"],
)
def test_what_only_special_values_show_is_caught(suite, operator, kernel):
    class Fault:
        id = operator
        ops = (f"aten::{operator}", "aten::add.Tensor")[operator == "add" :][:1]

        @staticmethod
        def make(_):
            return kernel

    context = Context(torch.device("cpu"), Profile("cpu", "cpu"), suite, 0)
    names = tuple(Forward().names(suite, operator, "float32"))
    found = power.judge(context, Fault(), [Group("operators.forward", operator, "float32", names)])
    assert found.case == f"operators.forward/{operator}/float32/{SPECIAL}"
