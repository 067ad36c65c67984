"""Unit roundoff, spacing and limits of the formats, against numbers that are written out."""

import math

import pytest
import torch

from conformance.oracle.formats import (
    accumulator_roundoff,
    is_inexact,
    overflow_threshold,
    real_dtype,
    smallest_normal,
    smallest_subnormal,
    ulp,
    unit_roundoff,
    wide_dtype,
)

#: Bits of the significand, exponents of the smallest normal and of the smallest number, largest number.
FORMATS = {
    torch.float64: (53, -1022, -1074, (2 - 2.0**-52) * 2.0**1023),
    torch.float32: (24, -126, -149, (2 - 2.0**-23) * 2.0**127),
    torch.float16: (11, -14, -24, 65504.0),
    torch.bfloat16: (8, -126, -133, (2 - 2.0**-7) * 2.0**127),
    torch.float8_e5m2: (3, -14, -16, 57344.0),
    torch.float8_e4m3fn: (4, -6, -9, 448.0),
}
formats = pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: str(dtype).removeprefix("torch."))


@formats
def test_limits(dtype):
    bits, normal, subnormal, _ = FORMATS[dtype]
    assert unit_roundoff(dtype) == 2.0**-bits
    assert smallest_normal(dtype) == 2.0**normal
    assert smallest_subnormal(dtype) == 2.0**subnormal


@formats
def test_sums_of_narrow_formats_are_kept_in_float32(dtype):
    assert accumulator_roundoff(dtype) == (2.0**-53 if dtype is torch.float64 else 2.0**-24)


@formats
@pytest.mark.parametrize("exponent", [0, 1, -1, 5, -5])
def test_spacing_on_both_sides_of_a_power_of_two(dtype, exponent):
    bits = FORMATS[dtype][0]
    power = 2.0**exponent
    at, below = ulp(torch.tensor([power, power * (1 - 2.0**-10)], dtype=torch.float64), dtype).tolist()
    assert at == power * 2.0 ** (1 - bits)
    assert below == at / 2


@formats
def test_spacing_is_never_below_the_smallest_number(dtype):
    tiny = 2.0 ** FORMATS[dtype][2]
    assert ulp(torch.tensor([0.0, tiny, -tiny / 4], dtype=torch.float64), dtype).tolist() == [tiny] * 3


def test_spacing_agrees_with_the_next_number_of_float32():
    values = torch.rand(500, generator=torch.Generator().manual_seed(1)).exp2() * 1e3
    following = torch.nextafter(values, torch.tensor(math.inf))
    assert torch.equal(ulp(values.double(), torch.float32), following.double() - values.double())


@pytest.mark.parametrize("exponent", [-1000, -300, 200, 1000])
def test_spacing_of_float64_far_from_one(exponent):
    value = 1.5 * 2.0**exponent
    assert ulp(torch.tensor([value], dtype=torch.float64), torch.float64).item() == math.ulp(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_rounds_to_infinity_is_beyond_the_threshold(dtype):
    largest, limit = FORMATS[dtype][3], overflow_threshold(dtype)
    assert torch.tensor(limit, dtype=torch.float64).to(dtype).isinf()
    just_below = limit * (1 - 2.0**-40 if dtype is torch.float32 else 1 - 2.0**-20)  # torch rounds twice to the others
    assert torch.tensor(just_below, dtype=torch.float64).to(dtype).item() == largest


def test_kinds():
    assert real_dtype(torch.complex64) is torch.float32
    assert real_dtype(torch.bfloat16) is torch.bfloat16
    assert wide_dtype(torch.complex64) is torch.complex128
    assert wide_dtype(torch.bfloat16) is torch.float64
    assert wide_dtype(torch.int32) is torch.int32
    assert [is_inexact(d) for d in (torch.float16, torch.complex64, torch.int8, torch.bool)] == [
        True,
        True,
        False,
        False,
    ]
