"""The size and the sign of every bound, on cases that are computed by hand in the comment beside them."""

import math

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.oracle import compare, conditioned, dot, judge, laws, ties
from conformance.oracle.trial import Trial
from conformance.spec.operators import Oracle

F32, BF16, F16, C64 = torch.float32, torch.bfloat16, torch.float16, torch.complex64


def f64(*values):
    return torch.tensor(values, dtype=torch.float64)


# --- exact: a count of elements against zero


@pytest.mark.parametrize(
    ("got", "want", "signed", "unsigned"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0),
        ([1.0, 2.0], [1.0, 2.0 + 2**-22], 1, 1),  # the next float32 after 2
        ([0.0, -0.0], [-0.0, -0.0], 1, 0),
        ([math.nan, 1.0], [math.nan, math.nan], 1, 1),
        ([math.inf], [1e39], 0, 0),  # beyond float32 the rounded reference is infinite
        ([0.1], [0.1], 0, 0),  # the reference is rounded: 0.1 in float64 is 1.5e-9 from 0.1 in float32
    ],
)
def test_exact_counts_elements(got, want, signed, unsigned):
    for signed_zero, count in ((True, signed), (False, unsigned)):
        found = compare.exact(torch.tensor(got), f64(*want), signed_zero=signed_zero)
        assert (found.error, found.bound) == (count, 0.0)
        assert found.passed == (count == 0)


@pytest.mark.parametrize(
    ("indices", "wrong"),
    [
        ([1, 3, 0, 2], 0),  # 1 <= 1 <= 4 <= 4, with the later of the ones first
        ([3, 1, 2, 0], 0),
        ([1, 3, 0, 0], 4),  # an index twice spoils its line
        ([0, 3, 1, 2], 2),  # 4 where 1 is due, and 1 where 4 is due
        ([1, 3, 2, 4], 1),  # there is no fifth
    ],
)
def test_ties_count_positions(indices, wrong):
    values = torch.tensor([4.0, 1.0, 4.0, 1.0])
    found = ties.along(torch.tensor(indices), torch.tensor([1, 3, 0, 2]), values, 0)
    assert (found.error, found.bound) == (wrong, 0.0)


# --- dot: 2 u_out |r| + gamma(n + c, 2 u_acc) (1 + 2 u_out) B + eta


def g(count, u):
    return count * u / (1 - count * u)


@pytest.mark.parametrize(
    ("dtype", "want", "absolute", "terms", "extra", "stored", "bound"),
    [
        # float32 accumulates in itself: 2 u_acc = 2**-23 and no rounding of the output besides.
        (F32, 4.0, 4.0, 4, 0, False, g(4, 2**-23) * 4 + 2**-149),
        (F32, 4.0, 4.0, 4, 2, False, g(6, 2**-23) * 4 + 2**-149),
        # Cancellation: the bound stands on what is added, 4, and not on what is left.
        (F32, 0.0, 4.0, 4, 0, False, g(4, 2**-23) * 4 + 2**-149),
        # What a composed float32 call stores is rounded as the accumulator is: already in c.
        (F32, 4.0, 4.0, 4, 1, True, g(5, 2**-23) * 4 + 2**-149),
        (F32, 0.0, 0.0, 0, 0, False, 2**-149),
        # bfloat16: 2 u_out = 2**-7; -3 has the output error 3/128; the sum's error is stretched by 1 + 2**-7.
        (BF16, -3.0, 5.0, 3, 0, False, 3 / 128 + g(3, 2**-23) * (1 + 2**-7) * 5 + 2**-133),
        (BF16, -3.0, 5.0, 3, 1, True, 3 / 128 + g(4, 2**-23) * (1 + 2**-7) * 5 + 5 / 128 + 2**-133),
        # float16: 2 u_out = 2**-10, and its smallest number is 2**-24.
        (F16, 0.5, 2.0, 10, 0, False, 0.5 / 1024 + g(10, 2**-23) * (1 + 2**-10) * 2 + 2**-24),
        # A complex product is four real ones, two of them in each part: 2 (3 + 1) terms, and the modulus of two parts.
        (C64, 3 - 4j, 7.0, 3, 1, False, math.sqrt(2) * (g(8, 2**-23) * 7 + 2**-149)),
        # float64 has no wider accumulator: 2 u_acc = 2**-52.
        (torch.float64, 1.0, 1.0, 8, 0, False, g(8, 2**-52) + 2**-1074),
    ],
)  # fmt: skip
def test_the_bound_of_a_sum_of_products(dtype, want, absolute, terms, extra, stored, bound):
    wide = torch.complex128 if dtype is C64 else torch.float64
    found = dot.tolerance(
        torch.tensor(want, dtype=wide), torch.tensor(absolute, dtype=wide), torch.tensor(terms, dtype=wide), dtype,
        extra, stored=stored,
    )  # fmt: skip
    assert found.dtype is torch.float64
    assert found.item() == pytest.approx(bound, rel=1e-15)
    assert found.item() > 0


#: Ones times ones. float32, n = 4: the bound at 4 is 2**-19 and 2**-40 more, the spacing 2**-21 above and 2**-22 below.
#: bfloat16, n = 2: at 2 it is 2**-6 and 2**-21 more, the spacing 2**-6 above and 2**-7 below.
EDGES = [
    (F32, 4, 4 + 4 * 2**-21, True), (F32, 4, 4 + 5 * 2**-21, False),
    (F32, 4, 4 - 8 * 2**-22, True), (F32, 4, 4 - 9 * 2**-22, False),
    (BF16, 2, 2 + 2**-6, True), (BF16, 2, 2 + 2 * 2**-6, False),
    (BF16, 2, 2 - 2 * 2**-7, True), (BF16, 2, 2 - 3 * 2**-7, False),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "count", "got", "passes"), EDGES)
def test_a_dot_ends_where_the_bound_does_on_both_sides(dtype, count, got, passes):
    x = torch.ones(count, dtype=dtype)
    trial = Trial(torch.dot, Sample((x, x), {}), str(dtype).removeprefix("torch."), Oracle("dot"))
    output = torch.tensor(got, dtype=dtype)
    assert output.item() == got
    assert judge.judge(trial, [output, x, x], [True, True]).measure.passed is passes


# --- conditioned: 4 ulp(f) + 8 times the largest change


@pytest.mark.parametrize(
    ("dtype", "values", "whole", "bounds"),
    [
        # The spacing of float32 is 2**-23 at 1, half of that below it, and 2**-149 at zero.
        (F32, [1.0, 0.75, -1.5, 0.0], False, [2**-21, 2**-22, 2**-21, 2**-147]),
        (F32, [math.inf, math.nan], False, [2**-147, 2**-147]),
        (BF16, [3.0, 256.0], False, [2**-4, 8.0]),
        (BF16, [3.0, 256.0], True, [8.0, 8.0]),
        (F32, [3 + 4j], False, [4 * 2**-21]),  # the modulus is 5
    ],
)
def test_nearness_is_four_units_in_the_last_place(dtype, values, whole, bounds):
    wide = torch.complex128 if isinstance(values[0], complex) else torch.float64
    assert conditioned.nearness(torch.tensor(values, dtype=wide), dtype, whole=whole).tolist() == bounds


#: At 1 the spacing of float32 is 2**-23 above and 2**-24 below. Without a spread the bound is 2**-21; with one of
#: 2**-20 it is 2**-21 + 2**-17 = 68 * 2**-23.
@pytest.mark.parametrize(
    ("spread", "got", "passes"),
    [
        (0.0, 1 + 4 * 2**-23, True), (0.0, 1 + 5 * 2**-23, False),
        (0.0, 1 - 8 * 2**-24, True), (0.0, 1 - 9 * 2**-24, False),
        (2**-20, 1 + 68 * 2**-23, True), (2**-20, 1 + 69 * 2**-23, False),
        (2**-20, 1 - 136 * 2**-24, True), (2**-20, 1 - 137 * 2**-24, False),
    ],
)  # fmt: skip
def test_conditioned_ends_where_the_bound_does_on_both_sides(spread, got, passes):
    found, reason = conditioned.judge(torch.tensor([got]), f64(1.0), iter([f64(spread)]))
    assert found.passed is passes
    assert reason is None


def spreads_of(function, *args):
    found = list(Trial(function, Sample(args, {}), "float32", Oracle("conditioned")).spreads(0))
    return found[conditioned.INPUT_DRAWS - 1].item(), found[-1].item()


def test_the_spread_of_an_exponential_is_its_condition_number_in_roundings():
    # exp(x (1 + u)) - exp(x) = x u exp(x) for small u. The rounding of the result adds u exp(x): (x + 1) u exp(x).
    for x in (0.5, 1.0, 8.0):
        inputs, calls = spreads_of(torch.exp, torch.tensor(x))
        assert inputs == pytest.approx(x * 2**-24 * math.exp(x), rel=1e-6)
        assert calls == pytest.approx((x + 1) * 2**-24 * math.exp(x), rel=1e-6)


def test_the_spread_of_a_difference_is_that_of_its_terms():
    # 1 - (1 - 2**-10): both terms move by 2**-24 of themselves, most if they move apart, by (2 - 2**-10) 2**-24. The
    # rounding of the result adds 2**-24 of 2**-10 and of what has moved.
    inputs, calls = spreads_of(torch.sub, torch.tensor(1.0), torch.tensor(1 - 2**-10))
    apart = (2 - 2**-10) * 2**-24
    assert inputs == apart
    assert apart <= calls <= apart + 2**-24 * (2**-10 + apart)


def test_the_spread_at_a_zero_is_what_the_smallest_normal_number_makes_of_it():
    # A rounding of zero is zero, so that it is replaced by 2**-126 of either sign; 3 * 2**-126 away, twice rounded.
    inputs, calls = spreads_of(torch.mul, torch.tensor(0.0), torch.tensor(3.0))
    assert inputs == pytest.approx(3 * 2**-126, rel=2**-23)
    assert calls == pytest.approx(3 * 2**-126, rel=2**-22)


@pytest.mark.parametrize(("vacuous", "judged"), [(0, True), (5, True), (6, False)])
def test_half_may_lean_on_a_bound_beyond_its_value(vacuous, judged):
    # 4 ulp + 8 * 1/8 is more than 1, the value itself: a zero would do as well. The limit is half of the elements.
    got, spread = torch.ones(10), torch.zeros(10, dtype=torch.float64)
    got[:vacuous], spread[:vacuous] = 0.0, 0.125
    found, reason = conditioned.judge(got, torch.ones(10, dtype=torch.float64), iter([spread]))
    assert found.passed
    assert (reason is None) is judged


# --- random: the statistic and its critical value


def uniform(values):
    return laws.kolmogorov(torch.tensor(values, dtype=torch.float64), lambda x: x)


@pytest.mark.parametrize(
    ("values", "statistic"),
    [
        ([0.5], 0.5),  # the empirical function jumps from 0 to 1 where 1/2 is due
        ([0.125, 0.375, 0.625, 0.875], 0.125 * 2),  # 1/8 off at every jump, times sqrt(4)
        ([0.0] * 7, math.sqrt(7)),  # all at one end: 1 off; 2.646 is below 2.693
        ([0.0] * 8, math.sqrt(8)),  # and above
        ([1.0] * 8, math.sqrt(8)),  # at the other end likewise
    ],
)
def test_kolmogorovs_distance(values, statistic):
    found = uniform(values)
    assert found.error == pytest.approx(statistic, rel=1e-15)
    assert found.bound == pytest.approx(2.69338613445, rel=1e-10)  # sqrt(ln(2e6) / 2)
    assert found.passed is (statistic < 2.69)


@pytest.mark.parametrize(("heads", "passes"), [(50, True), (80, True), (81, False), (20, True), (19, False)])
def test_frequencies_are_six_standard_deviations(heads, passes):
    # Of 100 even chances the standard deviation is 5: 30 off is the limit, too many or too few.
    found = laws.frequencies(f64(heads, 100 - heads), f64(0.5, 0.5))
    assert (found.error, found.bound) == (abs(heads - 50) / 5, 6.0)
    assert found.passed is passes


@pytest.mark.parametrize("sign", [1, -1])
def test_students_statistic_of_draws_around_a_centre(sign):
    # Of 5, 3, 5, 3 around 0 the mean is 4, the deviation sqrt(4/3), that of the mean sqrt(1/3): 4 sqrt(3), less the
    # slack of 4 of the smallest numbers. One more is 5 sqrt(3), beyond 8.
    draws = [f64(sign * v).float() for v in (5, 3, 5, 3)]
    found = laws.unbiased(draws, f64(0.0))
    assert found.error == pytest.approx(4 * math.sqrt(3), rel=1e-6)
    assert found.bound == 8
    assert found.passed
    assert not laws.unbiased([d + sign for d in draws], f64(0.0)).passed


# --- beside the host: the ratio of two errors over the same bound


@pytest.mark.parametrize(("off", "excused"), [(2.0, True), (8.0, True), (9.0, False)])
def test_a_device_may_be_four_times_as_far_off_as_the_host(off, excused):
    # What only passes its input on moves by 2**-24: the bound at 1 is (4 + 8 / 2) 2**-23. The host is at twice that, so
    # that the device is excused up to eight times that.
    def rounds(x):
        return x + 2 * 8 * 2**-23 if x.dtype is F32 else x

    x = torch.ones(1)
    trial = Trial(rounds, Sample((x,), {}), "float32", Oracle("conditioned", host_off="of this test"))
    got = [1 + off * 8 * 2**-23 * x, x]
    found = judge.judge(trial, got, [True])
    assert (judge.beside_host(trial, trial.sample, got, found) is not None) is excused
