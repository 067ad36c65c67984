"""The bound of a contraction holds for every order of summation, against exact fractions, and for little else."""

import random
from fractions import Fraction

import pytest
import torch

from conformance.inputs.catalogue import function_of
from conformance.inputs.samples import Sample
from conformance.oracle import dot
from conformance.oracle.reference import wide_reference

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
TERMS = 60


def draws(kind, count=TERMS):
    values = random.Random(f"{kind}{count}")
    if kind == "positive":
        return [values.random() for _ in range(count)]
    if kind == "wide":
        return [values.gauss(0, 1) * 2.0 ** values.randint(-6, 6) for _ in range(count)]
    half = [values.gauss(0, 1) for _ in range(count // 2)]
    return [*half, *(-v * (1 + 2.0**-9) for v in reversed(half))]  # almost everything cancels


def vectors(kind, dtype):
    left = torch.tensor(draws(kind), dtype=dtype)
    right = torch.tensor(draws("positive"), dtype=dtype)
    return left, right


def exactly(left, right):
    return sum((Fraction(a) * Fraction(b) for a, b in zip(left.tolist(), right.tolist(), strict=True)), Fraction())


def bound(left, right, extra=0):
    """The reference and the bound of one dot product."""
    sample = Sample((left, right), {})
    want = wide_reference(torch.dot, sample)
    absolute, terms = dot.absolute_bounds(torch.dot, sample)[0], dot.term_counts(torch.dot, sample, want, "ones")[0]
    return want[0], dot.tolerance(want[0], absolute, terms, left.dtype, extra, stored=False)


def summed(products, width=torch.float32):
    total = torch.zeros((), dtype=width)
    for product in products:
        total = (total.double() + product).to(width)
    return total


@pytest.mark.parametrize("kind", ["positive", "wide", "cancelling"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_order_is_inside_by_exact_fractions(dtype, kind):
    left, right = vectors(kind, dtype)
    exact = exactly(left, right)
    want, allowed = bound(left, right)
    limit = Fraction(allowed.item())
    assert abs(Fraction(want.item()) - exact) < limit / 1000  # the reference is as good as exact
    products = (left.double() * right.double()).tolist()
    rounded = (left.float() * right.float()).tolist()
    generator = random.Random(3)
    for terms in (products, products[::-1], sorted(products), sorted(products, key=abs), rounded,
                  generator.sample(products, TERMS)):  # fmt: skip
        got = summed(terms).to(dtype)
        assert abs(Fraction(got.item()) - exact) <= limit


@pytest.mark.parametrize("kind", ["positive", "wide"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_truncating_accumulator_is_inside(dtype, kind):
    left, right = vectors(kind, dtype)
    total = 0.0
    for product in (left.double() * right.double()).tolist():
        total = cut(total + product)
    want, allowed = bound(left, right)
    assert dot_measure(torch.tensor(total).to(dtype), want, left, right).passed
    assert allowed.item() > 0


def cut(value):
    """Towards zero, to float32."""
    return (torch.tensor(value, dtype=torch.float64).view(torch.int64) & ~((1 << 29) - 1)).view(torch.float64).item()


def dot_measure(got, want, left, right, extra=0):
    sample = Sample((left, right), {})
    absolute = dot.absolute_bounds(torch.dot, sample)[0]
    terms = dot.term_counts(torch.dot, sample, [want], "ones")[0]
    return dot.judge(got, want, absolute, terms, extra)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["positive", "wide", "cancelling"])
def test_twice_the_bound_is_wrong(dtype, kind):
    left, right = vectors(kind, dtype)
    want, allowed = bound(left, right)
    assert dot_measure(want.to(dtype), want, left, right).passed
    for sign in (-1, 1):
        found = dot_measure((want + sign * 2.5 * allowed).to(dtype), want, left, right)
        assert not found.passed
        assert found.ratio > 1.5
        assert found.rung == "dot"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_an_accumulator_of_the_storage_format_is_wrong(dtype):
    left = right = torch.tensor(draws("positive", 1000), dtype=dtype)
    want, _ = bound(left, right)
    products = (left.double() * right.double()).tolist()
    assert not dot_measure(summed(products, width=dtype), want, left, right).passed
    assert dot_measure(summed(products).to(dtype), want, left, right).passed


def test_a_dropped_term_is_wrong():
    left, right = vectors("positive", torch.float32)
    want, _ = bound(left, right)
    assert not dot_measure(torch.dot(left[:-1], right[:-1]), want, left, right).passed


def test_complex_products_are_inside_and_a_lost_conjugate_is_not():
    generator = torch.Generator().manual_seed(5)
    left, right = (torch.randn(TERMS, dtype=torch.complex64, generator=generator) for _ in range(2))
    want = wide_reference(torch.dot, Sample((left, right), {}))[0]
    assert dot_measure(torch.dot(left, right), want, left, right).passed
    assert not dot_measure(torch.vdot(left, right), want, left, right).passed


def test_what_is_not_finite_is_judged_by_class():
    left, right = torch.tensor([float("inf"), 1.0]), torch.tensor([1.0, 1.0])
    want = wide_reference(torch.dot, Sample((left, right), {}))[0]
    assert dot_measure(torch.tensor(float("inf")), want, left, right).passed
    for wrong in (3e38, float("nan"), -float("inf"), 0.0):
        assert not dot_measure(torch.tensor(wrong), want, left, right).passed


def test_gamma_is_highams_and_ends_where_it_says_nothing():
    assert dot.gamma(torch.tensor([4.0], dtype=torch.float64), 2.0**-10).item() == 4 * 2.0**-10 / (1 - 4 * 2.0**-10)
    with pytest.raises(dot.PlanError, match="have no bound"):
        dot.gamma(torch.tensor([2.0**23]), 2.0**-24)


@pytest.mark.parametrize(
    ("operator", "args", "kwargs", "terms", "count"),
    [
        ("mm", (torch.randn(2, 7), torch.randn(7, 3)), {}, "ones", 7),
        ("sum", (torch.randn(4, 6), 1), {}, "ones", 6),
        ("mean", (torch.randn(4, 6), 1), {}, "inputs", 6),
        ("nn.functional.conv2d", (torch.randn(1, 3, 5, 5), torch.randn(2, 3, 2, 2)), {}, "ones", 12),
        ("nn.functional.avg_pool2d", (torch.randn(1, 1, 6, 6), (2, 3)), {}, "window-2", 6),
        ("nn.functional.avg_pool2d", (torch.randn(1, 1, 6, 6),), {"kernel_size": 3}, "window-2", 9),
        ("nn.functional.adaptive_avg_pool1d", (torch.randn(1, 1, 7), 2), {}, "bins", 5),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_terms_are_counted(operator, args, kwargs, terms, count):
    sample = Sample(args, kwargs)
    function = function_of(operator)
    found = dot.term_counts(function, sample, wide_reference(function, sample), terms)[0]
    assert (found == count).all()


def test_scales_are_among_the_absolute_values():
    sample = Sample((torch.zeros(2, 2), torch.ones(2, 2), torch.ones(2, 2)), {"alpha": -3.0, "beta": 2.0})
    assert (dot.absolute_bounds(torch.addmm, sample)[0] == 6).all()
