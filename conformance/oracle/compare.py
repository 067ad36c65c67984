"""How far a result is from the reference, element by element, and the worst of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from conformance.oracle.formats import is_inexact, overflow_threshold


@dataclass(frozen=True, slots=True)
class Measure:
    """The worst element of a comparison: it passes exactly when error <= bound and the bound is finite.

    `rung` gives the unit: for `exact` a count of differing elements against 0, else an absolute error.
    """

    rung: str
    error: float
    bound: float
    message: str = ""

    @property
    def passed(self) -> bool:
        return math.isfinite(self.bound) and self.error <= self.bound

    @property
    def ratio(self) -> float:
        """Error in units of the bound; infinite where the bound is zero or no bound and the error is not zero."""
        if self.error == 0 and math.isfinite(self.bound):
            return 0.0
        return self.error / self.bound if math.isfinite(self.bound) and self.bound > 0 else math.inf


def worst(measures: list[Measure]) -> Measure | None:
    """The measure with the highest ratio of error to bound; None of an empty list."""
    return max(measures, key=lambda measure: measure.ratio, default=None)


def differing(got: torch.Tensor, want: torch.Tensor, *, signed_zero: bool = True) -> torch.Tensor:
    """Where two tensors of one dtype differ: NaN equals NaN, and unless told otherwise +0 differs from -0."""
    if not is_inexact(want.dtype):
        return got != want
    if want.dtype.is_complex:
        parts = differing(torch.view_as_real(got.resolve_conj()), torch.view_as_real(want.resolve_conj()),
                          signed_zero=signed_zero)  # fmt: skip
        return parts.any(-1)
    if want.element_size() == 1:  # the 8-bit formats have no comparisons; float32 holds all their values
        got, want = got.to(torch.float32), want.to(torch.float32)
    wrong = (got != want) & ~(got.isnan() & want.isnan())
    if signed_zero:
        wrong |= (want == 0) & (got == 0) & (got.signbit() != want.signbit())
    return wrong


def exact(got: torch.Tensor, want: torch.Tensor, *, signed_zero: bool = True) -> Measure:
    """Compare bit by bit but for the payload of NaN; `want` is rounded to the dtype of `got` first."""
    target = want if want.dtype == got.dtype else want.to(got.dtype)
    wrong = differing(got, target, signed_zero=signed_zero)
    count = int(wrong.sum())
    message = "" if count == 0 else describe(got, target, wrong)
    return Measure("exact", float(count), 0.0, message)


def errors(got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The absolute error of each element against a float64 or complex128 reference, as float64.

    What is not finite is judged by class and never by distance: 0 where NaN meets NaN or infinities of one sign meet,
    infinite where NaN meets a number. An infinity where the reference is finite stands for the largest number of
    `dtype`, and is right where the reference is beyond that. `got` has the dtype `dtype`, and the shape of `want`.
    """
    if want.dtype.is_complex:
        return _complex_errors(got.to(torch.complex128), want, overflow_threshold(dtype))
    value = got.to(torch.float64)
    error = (value - want).abs()
    if bool(torch.isfinite(error).all()):
        return error
    limit = overflow_threshold(dtype)
    overflowed = value.isinf() & want.isfinite()
    error = torch.where(overflowed, (value.sign() * limit - want).abs(), error)
    agrees = (value == want) | (value.isnan() & want.isnan()) | (overflowed & (value.sign() * want >= limit))
    error = torch.where(agrees, 0.0, error)
    return torch.where(error.isnan() | (value.isfinite() != want.isfinite()) & ~overflowed & ~agrees, math.inf, error)


def _complex_errors(value: torch.Tensor, want: torch.Tensor, limit: float) -> torch.Tensor:
    # C's rule: a complex number with an infinite part is infinite, whatever the other part; no sign is compared.
    error = (value - want).abs()
    value_inf, want_inf = value.isinf(), want.isinf()
    value_nan, want_nan = value.isnan() & ~value_inf, want.isnan() & ~want_inf
    same_class = (value_inf == want_inf) & (value_nan == want_nan)
    error = torch.where(same_class & (want_inf | want_nan), 0.0, error)
    overflowed = value_inf & want.isfinite() & ((want.real.abs() >= limit) | (want.imag.abs() >= limit))
    return torch.where(overflowed, 0.0, torch.where(same_class, error, math.inf))


def measure(rung: str, got: torch.Tensor, want: torch.Tensor, error: torch.Tensor, bound: torch.Tensor) -> Measure:
    """The worst element by ratio of `error` to `bound` (float64 tensors of one shape)."""
    if error.numel() == 0:
        return Measure(rung, 0.0, 0.0)
    wrong = exceeds(error, bound)
    ratio = torch.where(error == 0, 0.0, error / bound)
    message = ""
    if bool(wrong.any()):
        ratio = torch.where(wrong & ~ratio.isfinite(), math.inf, ratio)
        message = describe(got, want, wrong, int(ratio.argmax()))
    at = int(ratio.argmax())
    return Measure(rung, float(error.flatten()[at]), float(bound.flatten()[at]), message)


def exceeds(error: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    """Where an error is not within its bound; a bound that is not finite bounds nothing."""
    return ~((error <= bound) & bound.isfinite())


def describe(got: torch.Tensor, want: torch.Tensor, wrong: torch.Tensor, at: int | None = None) -> str:
    """One line: how many elements are wrong, and the one at the flat index `at` (else the first)."""
    first = int(wrong.flatten().to(torch.uint8).argmax()) if at is None else at
    place = ", ".join(str(int(i)) for i in torch.unravel_index(torch.tensor(first), wrong.shape)) if wrong.dim() else ""
    found, expected = got.flatten()[first].item(), want.flatten()[first].item()
    return f"{int(wrong.sum())} of {wrong.numel()} elements; at [{place}] {found!r} where {expected!r} is due"
