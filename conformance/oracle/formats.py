"""Number formats: unit roundoff, spacing, smallest and largest numbers."""

from __future__ import annotations

import functools
import math

import torch

#: Half-precision arithmetic accumulates in float32 on every device that a backend is written for; an accumulator of
#: the storage format is a defect that the bounds are there to find.
_ACCUMULATOR = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float8_e4m3fn: torch.float32,
    torch.float8_e5m2: torch.float32,
    torch.complex32: torch.complex64,
}
_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the real and imaginary parts; a real dtype is its own."""
    return _REAL.get(dtype, dtype)


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the reference: float64 or complex128 for what is inexact, the dtype itself for what is not."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def is_inexact(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


@functools.cache
def unit_roundoff(dtype: torch.dtype) -> float:
    """Half the distance from 1 to the next number: 2**-24 for float32, 2**-8 for bfloat16."""
    return float(torch.finfo(real_dtype(dtype)).eps) / 2


def accumulator_dtype(dtype: torch.dtype) -> torch.dtype:
    """What sums are kept in: float32 for the half formats."""
    return _ACCUMULATOR.get(dtype, dtype)


def accumulator_roundoff(dtype: torch.dtype) -> float:
    return unit_roundoff(accumulator_dtype(dtype))


@functools.cache
def smallest_subnormal(dtype: torch.dtype) -> float:
    info = torch.finfo(real_dtype(dtype))
    return float(info.smallest_normal) * float(info.eps)


@functools.cache
def smallest_normal(dtype: torch.dtype) -> float:
    return float(torch.finfo(real_dtype(dtype)).smallest_normal)


@functools.cache
def overflow_threshold(dtype: torch.dtype) -> float:
    """What infinity stands for when it is measured: halfway to the number that would follow the largest one."""
    info = torch.finfo(real_dtype(dtype))
    _, exponent = math.frexp(info.max)
    threshold = float(info.max) + math.ldexp(float(info.eps), exponent - 1) / 2
    return threshold if math.isfinite(threshold) else float(info.max)


def ulp(reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The spacing of `dtype` at each value of a real float64 tensor; at zero and below, the smallest subnormal."""
    _, exponent = torch.frexp(reference)
    eps = float(torch.finfo(real_dtype(dtype)).eps)
    # Not torch.ldexp: it raises 2 to the exponent in float32. And of zero frexp gives the exponent 0, that of a half.
    spacing = torch.where(reference == 0, 0.0, torch.exp2(exponent.to(torch.float64) - 1) * eps)
    return spacing.clamp(min=smallest_subnormal(dtype))
