"""Distances, classes of numbers, and the sentence about the worst element."""

import math

import pytest
import torch

from conformance.oracle.compare import Measure, differing, errors, exact, exceeds, measure, worst

NAN, INF = math.nan, math.inf
MAX = torch.finfo(torch.float32).max


def f64(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.float8_e5m2])
def test_exact_takes_nan_for_nan_and_tells_zeros_apart(dtype):
    want = torch.tensor([NAN, 0.0, -0.0, INF, 1.5, NAN, INF]).to(dtype)
    got = torch.tensor([NAN, -0.0, -0.0, INF, 1.5, 1.0, -INF]).to(dtype)
    assert differing(got, want).tolist() == [False, True, False, False, False, True, True]
    assert differing(got, want, signed_zero=False).tolist() == [False, False, False, False, False, True, True]
    found = exact(got, want)
    assert (found.error, found.bound, found.passed) == (3, 0, False)
    assert "3 of 7 elements" in found.message
    assert exact(want, want).passed


def test_exact_tells_the_last_bit():
    want = torch.tensor([1.0])
    assert not exact(torch.nextafter(want, torch.tensor(2.0)), want).passed


def test_exact_rounds_the_wide_reference_first():
    assert exact(torch.tensor([0.1]), f64(0.1)).passed
    assert not exact(torch.tensor([0.1]), f64(0.1000001)).passed


def test_complex_numbers_differ_where_a_part_does():
    want = torch.tensor([1 + 2j, 3 + 4j, 5 - 6j])
    got = torch.tensor([1 + 2j, 3 + 5j, 6 - 6j])
    assert differing(got, want).tolist() == [False, True, True]
    assert not differing(want.conj().conj(), want).any()
    assert not differing(want.conj(), want.conj().resolve_conj()).any()


def test_integers_beyond_float64_differ():
    want = torch.tensor([(1 << 60) + 1])
    assert not exact(torch.tensor([1 << 60]), want).passed


@pytest.mark.parametrize(
    ("got", "want", "error"),
    [
        (1.5, 1.0, 0.5), (NAN, NAN, 0), (INF, INF, 0), (-INF, -INF, 0), (INF, -INF, INF), (NAN, 1.0, INF),
        (1.0, NAN, INF), (MAX, INF, INF), (INF, 1e39, 0), (-INF, -1e39, 0), (-INF, 1e39, INF), (NAN, INF, INF),
        (INF, NAN, INF), (0.0, INF, INF),
    ],
)  # fmt: skip
def test_what_is_not_finite_is_judged_by_class(got, want, error):
    found = errors(torch.tensor([got]), f64(want), torch.float32).item()
    assert found == error or (error == INF and found > 1e38)


def test_an_infinity_is_as_wrong_as_the_finite_value_is_far_from_the_largest():
    near, far = errors(torch.tensor([INF, INF]), f64(MAX, 1.0), torch.float32).tolist()
    assert 0 < near < 2e31  # half a place at the largest number
    assert far > 3e38


def test_a_complex_number_is_infinite_with_either_part():
    got = torch.tensor([complex(INF, NAN), complex(NAN, 1), complex(1, 1), complex(INF, 0)])
    want = torch.tensor([complex(1, INF), complex(NAN, NAN), complex(NAN, 1), 1], dtype=torch.complex128)
    assert errors(got, want, torch.complex64).tolist() == [0, 0, INF, INF]


def test_no_bound_that_is_not_finite_excuses_anything():
    assert exceeds(f64(1, 1, 0, 2, NAN), f64(INF, NAN, 0, 1, 1)).tolist() == [True, True, False, True, True]
    assert not Measure("dot", 1.0, INF).passed
    assert not Measure("dot", NAN, 1.0).passed
    assert Measure("dot", 1.0, 1.0).passed


def test_the_worst_element_is_the_one_with_the_highest_ratio():
    want = f64(1000.0, 1.0, 0.0).reshape(3, 1)
    got = torch.tensor([1001.0, 1.5, 0.0]).reshape(3, 1)
    found = measure("dot", got, want, (got.double() - want).abs(), f64(10.0, 0.1, 0.0).reshape(3, 1))
    assert (found.error, found.bound) == (0.5, 0.1)
    assert found.message == "1 of 3 elements; at [1, 0] 1.5 where 1.0 is due"


def test_an_error_beside_a_bound_of_zero_is_the_worst():
    got, want = torch.tensor([2.0, 1e-30]), f64(1.0, 0.0)
    found = measure("dot", got, want, (got.double() - want).abs(), f64(0.5, 0.0))
    assert found.bound == 0
    assert not found.passed
    assert found.ratio == INF


def test_the_worst_measure():
    small, large = Measure("dot", 1.0, 10.0), Measure("exact", 1.0, 0.0)
    assert worst([small, large]) is large
    assert worst([]) is None
    assert Measure("exact", 0.0, 0.0).ratio == 0


def test_nothing_to_compare_passes():
    empty = torch.empty(0)
    assert exact(empty, empty).passed
    assert measure("dot", empty, empty.double(), empty.double(), empty.double()).passed
