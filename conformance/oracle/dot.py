"""The dot rung: everything that has an a-priori bound by the same operator on absolute values.

    |y - r| <= 2 u_out |r| + gamma(n + c, 2 u_acc) (1 + 2 u_out) B + (n + c) eta_acc + eta_out

with gamma(n, u) = n u / (1 - n u).

B is the operator on absolute values in float64, n the number of terms of each output, c further roundings, u_acc the
unit roundoff of the accumulator, eta a subnormal: each product may underflow, and so may the result. The first term
is 0 where the accumulator's format is the
output's. Holds for any order and association, with exact products or not, and for accumulators that truncate
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1; Blanchard et al., SISC 42(3), 2020).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from conformance.oracle.compare import Measure, errors, measure
from conformance.oracle.formats import accumulator_dtype, accumulator_roundoff, smallest_subnormal, unit_roundoff
from conformance.oracle.reference import evaluate, wide_defaults, with_floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.inputs.samples import Sample

_FAITHFUL = 2  # the output may be rounded either way
_TRUNCATING = 2  # and so may each step of the accumulator
_SCALES = frozenset({"alpha", "beta"})


class PlanError(Exception):
    """The plan asks for what has no bound: the suite is wrong, not the device."""


def gamma(terms: torch.Tensor, u: float) -> torch.Tensor:
    """Higham's n u / (1 - n u); raises PlanError where n u >= 1/2, where the bound says nothing."""
    product = terms * u
    if terms.numel() and not bool((product < 0.5).all()):
        raise PlanError(f"{float(terms.max()):.0f} terms at unit roundoff {u:g} have no bound")
    return product / (1 - product)


def absolute_bounds(function: Callable[..., Any], sample: Sample) -> list[Any]:
    """The operator on the absolute values of all its inexact arguments and scales, float64."""
    return _on(function, sample, torch.abs, abs)


def term_counts(function: Callable[..., Any], sample: Sample, reference: list[Any], terms: str) -> list[Any]:
    """The number of terms of each output element, in the shape of the outputs.

    `ones`: counted by the operator itself on ones. Where that gives 1 whatever the number (means): `inputs`, input
    elements per output element; `window-N`, the kernel of a pool over N dimensions; `bins`, the largest bin of an
    adaptive pool.
    """
    if terms == "ones":
        return _on(function, sample, torch.ones_like, lambda _: 1)
    return [
        torch.full(value.shape, _terms_per_output(sample, value, terms), dtype=torch.float64)
        if isinstance(value, torch.Tensor) else value
        for value in reference
    ]  # fmt: skip


def _terms_per_output(sample: Sample, output: torch.Tensor, terms: str) -> float:
    source = sample.tensors[0]
    if terms == "inputs":
        return source.numel() / max(output.numel(), 1)
    if terms == "bins":
        pairs = zip(source.shape, output.shape, strict=True)
        return float(math.prod(math.ceil(big / max(small, 1)) + 1 for big, small in pairs if big != small))
    dims = int(terms[-1])
    size = sample.args[1] if len(sample.args) > 1 else sample.kwargs["kernel_size"]
    sizes = list(size) if isinstance(size, (tuple, list)) else [size]
    return float(math.prod(sizes if len(sizes) == dims else sizes * dims))


def _on(
    function: Callable[..., Any],
    sample: Sample,
    tensors: Callable[[torch.Tensor], torch.Tensor],
    numbers: Callable[[Any], Any],
) -> list[Any]:
    def change(flat: torch.Tensor) -> torch.Tensor:
        return tensors(flat).to(flat.dtype)  # of a complex tensor abs is real

    kwargs = {key: numbers(value) if key in _SCALES else value for key, value in sample.kwargs.items()}
    with wide_defaults():
        return evaluate(function, with_floats(replace(sample, kwargs=kwargs), change))


def tolerance(
    want: torch.Tensor, absolute: torch.Tensor, terms: torch.Tensor, dtype: torch.dtype, extra: int, *, stored: bool
) -> torch.Tensor:
    """The bound of each element of an output of dtype `dtype`, float64; `extra` is c.

    With `stored` the further roundings are of the storage format: torch composes the operator of calls whose results
    are kept in it. A complex product is four real ones: each component has 2 n terms, and the modulus is sqrt(2)
    components.
    """
    u_out, u_acc = unit_roundoff(dtype), accumulator_roundoff(dtype)
    rounding = 0.0 if u_out == u_acc else _FAITHFUL * u_out
    size = _modulus(absolute)
    count, scale = _modulus(terms) + extra, 1.0
    if dtype.is_complex:
        count, scale = 2 * count, math.sqrt(2)
    accumulated = gamma(count, _TRUNCATING * u_acc) * (1 + rounding) * size
    between = extra * rounding * size if stored else 0.0
    underflow = count * smallest_subnormal(accumulator_dtype(dtype)) + smallest_subnormal(dtype)
    return scale * (rounding * want.abs() + accumulated + between + underflow)


def _modulus(value: torch.Tensor) -> torch.Tensor:
    return value.abs().to(torch.float64)


def judge(
    got: torch.Tensor, want: torch.Tensor, absolute: torch.Tensor, terms: torch.Tensor, extra: int, *,
    stored: bool = False,
) -> Measure:  # fmt: skip
    """Measure one output against its reference by the bound above."""
    bound = tolerance(want, absolute, terms, got.dtype, extra, stored=stored)
    # What is not finite is judged by class: the error is 0 or infinite there, and an infinite bound must not take it.
    bound = torch.where(want.isfinite(), bound, 0.0)
    return measure("dot", got, want, errors(got, want, got.dtype), bound)
