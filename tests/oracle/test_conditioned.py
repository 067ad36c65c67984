"""The fallback accepts what is rounded well, refuses what is not, and says where it can say nothing."""

import itertools
import math

import pytest
import torch

from conformance.inputs.catalogue import function_of
from conformance.inputs.samples import Sample
from conformance.oracle import conditioned
from conformance.oracle.formats import ulp
from conformance.oracle.trial import Trial
from conformance.spec.operators import Oracle

ORACLE = Oracle("conditioned")
GRID = torch.linspace(-3, 3, 61)
OPERATORS = {
    "exp": (GRID,), "log": (GRID.exp(),), "sin": (GRID * 5,), "tanh": (GRID,), "sqrt": (GRID.abs(),),
    "expm1": (GRID / 100,), "softmax": (GRID.reshape(1, -1), 1), "var": (GRID,), "nn.functional.gelu": (GRID,),
    "sub": (GRID, GRID + 1e-3), "logsumexp": (GRID.reshape(1, -1), 1), "nn.functional.layer_norm": (GRID, (61,)),
}  # fmt: skip


def trial_of(operator, *args, dtype="float32", **kwargs):
    return Trial(function_of(operator), Sample(args, kwargs), dtype, ORACLE)


def judged(trial, got):
    return conditioned.judge(got, trial.reference[0].double(), trial.spreads(0))


def bound_of(trial, dtype):
    """The bound of every element with all draws: that of an output that asks for all of them."""
    reference = trial.reference[0]
    spread = list(trial.spreads(0))[-1]
    return conditioned.nearness(reference, dtype, whole=False) + conditioned.SPREADS * spread


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_rounded_result_is_accepted_and_ten_times_the_bound_is_not(operator, dtype):
    args = [a.to(dtype) if isinstance(a, torch.Tensor) else a for a in OPERATORS[operator]]
    trial = trial_of(operator, *args, dtype=str(dtype).removeprefix("torch."))
    reference = trial.reference[0]
    measure, reason = judged(trial, reference.to(dtype))
    assert reason is None
    assert measure.passed
    assert judged(trial, trial.host[0])[0].passed
    limit = bound_of(trial, dtype)
    at = int((reference.abs() / limit).argmax())  # where the bound is the tightest
    got = reference.to(dtype)
    got.view(-1)[at] = (reference.view(-1)[at] + 10 * limit.view(-1)[at]).to(dtype)
    measure, reason = judged(trial, got)
    assert reason is None
    assert not measure.passed
    assert measure.ratio > 5


def test_inside_the_cheap_bound_no_draw_is_taken():
    def steps():
        raise AssertionError("nobody asked")
        yield

    want = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert conditioned.judge(want.float(), want, steps())[0].passed


def test_another_class_of_number_takes_no_draw_and_is_wrong():
    def steps():
        raise AssertionError("no spread can excuse it")
        yield

    want = torch.tensor([1.0, math.nan], dtype=torch.float64)
    measure, reason = conditioned.judge(torch.tensor([1.0, 1.0]), want, steps())
    assert not measure.passed
    assert reason is None


def test_what_is_inside_passes_beside_a_pole():
    near = torch.tensor([[math.inf, 0.0]], dtype=torch.float64)
    want = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    measure, reason = conditioned.judge(want.float(), want, iter(near))
    assert reason is None
    assert measure.passed


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
def test_entropy_of_zero_and_one_passes(dtype):
    values = torch.tensor([0, 1, 0, 1]).to(getattr(torch, dtype))
    trial = trial_of("special.entr", values, dtype=dtype)
    measure, reason = judged(trial, trial.host[0])
    assert reason is None
    assert measure.passed
    assert not judged(trial, torch.tensor([0.0, 0.0, 0.0, 0.5]))[0].passed


def test_an_error_of_an_element_without_a_finite_bound_is_not_judged():
    want = torch.tensor([1.0], dtype=torch.float64)
    measure, reason = conditioned.judge(torch.tensor([2.0]), want, iter([torch.tensor([math.inf]).double()]))
    assert not measure.passed
    assert reason is not None


def test_a_bound_larger_than_the_value_is_no_pass():
    left = torch.tensor([1.0, 2.0, 3.0])
    trial = trial_of("sub", left, left * (1 + 2.0**-22))
    reference = trial.reference[0]
    measure, reason = judged(trial, torch.zeros(3))  # nothing is left of the difference
    assert reason is not None or not measure.passed
    assert judged(trial, reference.float()) == (measure_of(trial, reference), None)


def measure_of(trial, reference):
    return conditioned.judge(reference.float(), reference, ())[0]


def test_vacuous_bounds_are_told():
    want = torch.tensor([1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    got = torch.tensor([1.5, 1.5, 1.5, 1.0])
    spread = torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    measure, reason = conditioned.judge(got, want, iter([spread]))
    assert measure.passed
    assert reason == "the bound exceeds the value itself on 75% of the elements that need it"


def test_zero_where_the_answer_is_certain_is_compared_with_the_smallest_number():
    want = torch.zeros(3, dtype=torch.float64)
    assert conditioned.judge(torch.zeros(3), want, ())[0].passed
    assert not conditioned.judge(torch.tensor([0.0, 1e-8, 0.0]), want, ())[0].passed


def test_a_bound_of_norms_is_that_of_the_largest_element():
    want = torch.tensor([100.0, 1e-3], dtype=torch.float64)
    got = (want + ulp(want[:1], torch.float32)).float()
    assert not conditioned.judge(got, want, ())[0].passed
    assert conditioned.judge(got, want, (), whole=True)[0].passed
    assert not conditioned.judge((want + 10 * ulp(want[:1], torch.float32)).float(), want, (), whole=True)[0].passed


def test_perturbations_move_by_one_rounding_either_way():
    values = torch.tensor([1.0, -2.0, 0.0] * 50, dtype=torch.float64)
    moved = conditioned.perturb(values, 2.0**-24, 1e-38, torch.Generator().manual_seed(0))
    change = torch.where(values == 0, moved / 1e-38, (moved - values) / values * 2.0**24)
    assert set(change.tolist()) == {-1.0, 1.0}
    z = torch.view_as_complex(values.reshape(-1, 2))
    assert conditioned.perturb(z, 0.5, 1e-38, torch.Generator()).dtype is torch.complex128


def test_a_rounding_of_float64_moves_every_number():
    """1 + 2^-53 is 1 in float64: moved by half a unit, most numbers would stay, and a right kernel be out of bounds."""
    noise = conditioned.noise_of(torch.float64, stored=False)
    values = 1 + torch.rand(1000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert bool((conditioned.perturb(values, noise.inputs, 0.0, torch.Generator().manual_seed(0)) != values).all())
    assert conditioned.noise_of(torch.float32, stored=False).inputs == 2.0**-24


def test_the_spread_grows_draw_by_draw_and_is_the_same_each_time():
    trial = trial_of("exp", GRID)
    found = list(trial.spreads(0))
    assert len(found) == conditioned.INPUT_DRAWS + conditioned.CALL_DRAWS
    assert all(bool((b >= a).all()) for a, b in itertools.pairwise(found))
    again = list(trial_of("exp", GRID).spreads(0))
    assert all(torch.equal(a, b) for a, b in zip(found, again, strict=True))


def test_inner_roundings_are_in_the_spread_of_a_composite():
    """(x - mean) rounds: next to a large mean, a variance computed in float32 needs it."""
    values = GRID / 100 + 1000
    trial = trial_of("var", values)
    measure, _ = judged(trial, values.var())
    assert measure.passed
