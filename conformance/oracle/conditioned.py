"""The conditioned rung: how far the answer moves when what goes in moves by one rounding.

    |y - f(x)| <= 4 ulp(f(x)) + 8 max_k |f(x (1 + u s_k)) - f(x)|

with random signs s_k and three draws; for composites also one rounding after every aten call of the reference.
A general fallback for what has no bound of its own (Monte-Carlo arithmetic; the factors 4 and 8 are not tuned).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.inputs.transport import CannotTravelError
from conformance.inputs.tree import tree_map
from conformance.oracle.compare import Measure, errors, exceeds, measure
from conformance.oracle.formats import accumulator_roundoff, is_inexact, smallest_normal, ulp, unit_roundoff
from conformance.oracle.reference import evaluate, wide_defaults, with_floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.inputs.samples import Sample

ULPS = 4
SPREADS = 8
DRAWS = 3
#: Above this share of elements whose bound exceeds the value itself, a case says nothing.
VACUOUS_SHARE = 0.10


def nearness(reference: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The cheap part of the bound: 4 ulp of each reference value, float64."""
    magnitude = reference.abs() if reference.dtype.is_complex else reference
    return ULPS * ulp(torch.nan_to_num(magnitude, nan=0.0, posinf=0.0, neginf=0.0), dtype)


def input_spread(
    function: Callable[..., Any], sample: Sample, reference: list[Any], dtype: torch.dtype
) -> list[torch.Tensor | None]:
    """Per output, the largest change over the draws when each input moves by one rounding of the accumulator.

    An operator reads its inputs exactly and computes in the accumulator's format: that rounding is what it may make.
    """
    return _spread(function, sample, reference, dtype, accumulator_roundoff(dtype), None)


def call_spread(
    function: Callable[..., Any], sample: Sample, reference: list[Any], dtype: torch.dtype
) -> list[torch.Tensor | None]:
    """As `input_spread`, with one rounding of the storage format after every aten call that computes, too."""
    return _spread(function, sample, reference, dtype, accumulator_roundoff(dtype), unit_roundoff(dtype))


def _spread(
    function: Callable[..., Any],
    sample: Sample,
    reference: list[Any],
    dtype: torch.dtype,
    u_inputs: float,
    u_calls: float | None,
) -> list[torch.Tensor | None]:
    found: list[torch.Tensor | None] = [None] * len(reference)
    tiny = smallest_normal(dtype)
    for draw in range(DRAWS):
        random = torch.Generator().manual_seed(draw + 1)
        moved = with_floats(sample, lambda flat, random=random: perturb(flat, u_inputs, tiny, random))
        with wide_defaults():
            if u_calls is None:
                drawn = evaluate(function, moved)
            else:
                with RoundEveryCall(u_calls, tiny, random):
                    drawn = evaluate(function, moved)
        if len(drawn) != len(reference):
            raise CannotTravelError("the number of outputs depends on the last bit of the inputs")
        for i, (near, exact) in enumerate(zip(drawn, reference, strict=True)):
            if isinstance(exact, torch.Tensor) and is_inexact(exact.dtype) and near.shape == exact.shape:
                # A draw that leaves the domain (acos just above 1) says nothing about the point itself.
                change = (near - exact).abs()
                change = torch.where(near.isnan() | (near == exact), 0.0, change)
                before = found[i]
                found[i] = change if before is None else torch.maximum(before, change)
    return found


def perturb(values: torch.Tensor, u: float, tiny: float, random: torch.Generator) -> torch.Tensor:
    """Each value times 1 + u or 1 - u at random; zeros become the smallest normal number of a random sign."""
    if values.dtype.is_complex:
        return torch.view_as_complex(perturb(torch.view_as_real(values), u, tiny, random))
    signs = torch.randint(0, 2, values.shape, generator=random, dtype=torch.int8).to(values.dtype) * 2 - 1
    return torch.where(values == 0, signs * tiny, values * (1 + u * signs))


#: What only moves data rounds nothing.
_MOVES = frozenset({
    "clone", "copy_", "_to_copy", "cat", "stack", "index", "index_select", "gather", "repeat", "flip", "roll",
    "constant_pad_nd", "fill_", "fill", "zeros", "zeros_like", "zero_", "ones", "ones_like", "empty", "empty_like",
    "full", "full_like", "new_zeros", "new_full", "new_empty", "where", "masked_fill", "masked_fill_", "neg", "abs",
    "relu", "maximum", "minimum", "amax", "amin", "max", "min", "sort", "topk", "select_scatter", "slice_scatter",
    "diagonal_copy", "contiguous", "scalar_tensor", "eye", "tril", "triu", "index_put_", "scatter", "masked_select",
    "clamp", "clamp_min", "clamp_max", "sgn", "sign", "floor", "ceil", "round", "trunc", "_local_scalar_dense",
})  # fmt: skip


class RoundEveryCall(TorchDispatchMode):
    """Move every inexact result of an aten call that computes by one rounding of relative size `u`."""

    def __init__(self, u: float, tiny: float, random: torch.Generator) -> None:
        super().__init__()
        self._u = u
        self._tiny = tiny
        self._random = random

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in _MOVES or func.is_view:
            return result
        if any(argument.alias_info and argument.alias_info.is_write for argument in func._schema.arguments):  # noqa: SLF001
            for value in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(value, torch.Tensor) and is_inexact(value.dtype):
                    value.copy_(self._moved(value))
            return result
        return tree_map(self._moved, result)

    def _moved(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not is_inexact(value.dtype) or value.layout is not torch.strided:
            return value
        # A zero that was computed (a masked weight, a relu) is exact: it stays.
        return torch.where(value == 0, value, perturb(value, self._u, self._tiny, self._random).to(value.dtype))


def judge(
    got: torch.Tensor,
    want: torch.Tensor,
    spreads: list[Callable[[], torch.Tensor | None]],
) -> tuple[Measure, str | None]:
    """Measure one output against its reference; the second value says why nothing can be said, if so.

    `spreads` are tried in order, and only as far as an element asks for more.
    """
    dtype = got.dtype
    error = errors(got, want, dtype)
    bound = nearness(want, dtype)
    near = bound
    for spread in spreads:
        if not bool(exceeds(error, bound).any()):
            break
        found = spread()
        if found is not None:
            bound = torch.maximum(bound, near + SPREADS * found)
    result = measure("conditioned", got, want, error, bound)
    leant = exceeds(error, near) & ~(bound < want.abs())  # accepted by a bound that would accept zero as well
    share = float(leant.double().mean()) if leant.numel() else 0.0
    if share > VACUOUS_SHARE and error.isfinite().all():
        return result, f"the bound exceeds the value itself on {share:.0%} of the elements that need it"
    if not result.passed and not bool((bound.isfinite() | ~exceeds(error, near)).all()):
        return result, "the value next to a pole has no finite bound"
    return result, None
