"""The conditioned rung: how far the answer moves when what goes in moves by one rounding.

    |y - f(x)| <= 4 ulp(f(x)) + max(8, n / sqrt(3)) max_k |f(x (1 + u s_k)) - f(x)|

with random signs s_k; for composites also one rounding after every aten call of the reference, and where torch defines
that call by simpler ones, after each of these. A general fallback for what has no bound of its own (Monte-Carlo
arithmetic; the factors 4 and 8 are not tuned).

One rounding of each of n equal terms moves their sum by u sqrt(n); one rounding of each partial sum, where they are
added one after the other, by u n sqrt(n / 3): n / sqrt(3) times as far. n is not known of an operator; it is at most
the largest size of a dimension, or the number of inputs per output. Up to 64 terms it is left at 8.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.inputs.transport import CannotTravelError, rebuild
from conformance.inputs.tree import tree_map
from conformance.oracle.compare import Measure, errors, exceeds, measure
from conformance.oracle.formats import accumulator_roundoff, is_inexact, smallest_normal, ulp, unit_roundoff
from conformance.oracle.reference import evaluate, wide_defaults, with_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.inputs.samples import Sample

ULPS = 4
SPREADS = 8
#: Up to so many terms no right kernel, however it adds, was seen beyond 8 spreads; past them the worst order counts.
FEW_TERMS = 64
#: Draws of the inputs alone, and of the roundings inside. Two roundings of opposite effect (a - b) cancel in one draw
#: of two: three draws would miss them once in eight times, which is rare for inputs and not for chains of calls.
INPUT_DRAWS = 3
CALL_DRAWS = 8
#: In float64 nothing moves by less than this: half of it is a tie, which mostly rounds back. So at float64 the draws
#: move by two roundings, of which one is the reference's own.
FINEST = 2.0**-52
#: One generator for all draws, well mixed: those of small seeds begin alike, and roundings would cancel in every draw.
_SEED = 0x1E3779B97F4A7C15
#: Above this share of elements whose bound exceeds the value itself, a case says nothing.
VACUOUS_SHARE = 0.5
#: Of what is left of a difference such a bound says something while it is below this part of what was subtracted.
SMALL = 1 / 16


@dataclass(frozen=True, slots=True)
class Noise:
    """The roundings that an operator of `dtype` may make: of its inputs, within a call, and of a call's result.

    `inputs` is the accumulator's unit roundoff, or the storage format's where the suite says that the operator keeps
    intermediate results in it.
    """

    inputs: float
    inner: float
    results: float
    tiny: float


def noise_of(dtype: torch.dtype, *, stored: bool) -> Noise:
    """The noise of an operator of a dtype; `stored` says that it keeps intermediate results in that."""
    fine, coarse = (max(u, FINEST) for u in (accumulator_roundoff(dtype), unit_roundoff(dtype)))
    return Noise(coarse if stored else fine, coarse if stored else fine, coarse, smallest_normal(dtype))


def nearness(reference: torch.Tensor, dtype: torch.dtype, *, whole: bool) -> torch.Tensor:
    """The cheap part of the bound: 4 ulp of each reference value, or with `whole` of the largest one; float64."""
    magnitude = reference.abs() if reference.dtype.is_complex else reference
    magnitude = torch.nan_to_num(magnitude, nan=0.0, posinf=0.0, neginf=0.0)
    if whole and magnitude.numel():
        magnitude = magnitude.abs().max().expand(magnitude.shape)
    return ULPS * ulp(magnitude, dtype)


def spreads(
    function: Callable[..., Any], sample: Sample, reference: list[Any], noise: Noise
) -> Iterator[list[torch.Tensor | None]]:
    """Yield, draw by draw, the largest change of each output so far; None for an output that has no spread.

    First each input moves by one rounding, then roundings after and within every aten call that computes join in.
    """
    if not any(is_inexact(tensor.dtype) for tensor in sample.tensors):
        sample = _as_floats(function, sample)
    found: list[torch.Tensor | None] = [None] * len(reference)
    random = torch.Generator().manual_seed(_SEED)
    for draw in range(INPUT_DRAWS + CALL_DRAWS):
        moved = with_floats(sample, lambda flat: perturb(flat, noise.inputs, noise.tiny, random))
        with wide_defaults(), RoundEveryCall(noise, random) if draw >= INPUT_DRAWS else contextlib.nullcontext():
            drawn = evaluate(function, moved)
        if len(drawn) != len(reference):
            raise CannotTravelError("the number of outputs depends on the last bit of the inputs")
        found = [_larger(*outputs) for outputs in zip(found, drawn, reference, strict=True)]
        yield found


def _larger(before: torch.Tensor | None, near: Any, exact: Any) -> torch.Tensor | None:
    if not isinstance(exact, torch.Tensor) or not is_inexact(exact.dtype) or near.shape != exact.shape:
        return before
    # A draw that leaves the domain (acos just above 1) says nothing about the point itself.
    change = torch.where(near.isnan() | (near == exact), 0.0, (near - exact).abs())
    return change if before is None else torch.maximum(before, change)


def _as_floats(function: Callable[..., Any], sample: Sample) -> Sample:
    """The sample with its integers as float64 where the operator takes that: it converts them, and that rounds."""
    floats = rebuild(sample, lambda flat: flat.to(torch.float64), lambda leaf: leaf)
    try:
        evaluate(function, floats)
    except (RuntimeError, IndexError, TypeError, ValueError):
        return sample  # an operator of integers alone: indices, counts
    return floats


def perturb(values: torch.Tensor, u: float, tiny: float, random: torch.Generator) -> torch.Tensor:
    """Each value times 1 + u or 1 - u at random; zeros become the smallest normal number of a random sign."""
    if values.dtype.is_complex:
        return torch.view_as_complex(perturb(torch.view_as_real(values), u, tiny, random))
    signs = torch.randint(0, 2, values.shape, generator=random, dtype=torch.int8).to(values.dtype) * 2 - 1
    return torch.where(values == 0, signs * tiny, values * (1 + u * signs))


#: What only moves data rounds nothing.
_MOVES = frozenset({
    "clone", "copy_", "resize_", "_to_copy", "cat", "stack",
    "index", "index_select", "gather", "repeat", "flip", "roll",
    "constant_pad_nd", "fill_", "fill", "zeros", "zeros_like", "zero_", "ones", "ones_like", "empty", "empty_like",
    "full", "full_like", "new_zeros", "new_full", "new_empty", "where", "masked_fill", "masked_fill_", "neg", "abs",
    "relu", "maximum", "minimum", "amax", "amin", "max", "min", "sort", "topk", "select_scatter", "slice_scatter",
    "diagonal_copy", "contiguous", "scalar_tensor", "eye", "tril", "triu", "index_put_", "scatter", "masked_select",
    "clamp", "clamp_min", "clamp_max", "sgn", "sign", "floor", "ceil", "round", "trunc", "_local_scalar_dense",
})  # fmt: skip


#: What rounds once however it is defined; its definition in torch._refs would say the same in many Python calls.
_ROUNDS_ONCE = frozenset({
    "mul", "div", "sqrt", "reciprocal", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "floor_divide", "pow",
    "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isnan", "isinf", "bitwise_and",
})  # fmt: skip


#: What adds up rounds inside: its errors are those of its terms and not of their sum, of which little may be left.
_SUMS = frozenset({
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "sum", "mean", "nansum", "convolution",
    "convolution_backward",
})  # fmt: skip


#: What gives whole numbers of others, and rounds on the way: x / sqrt(x x) is 1 by luck.
_QUOTIENTS = frozenset({"div", "sqrt", "rsqrt", "reciprocal"})


class RoundEveryCall(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Move every inexact result of an aten call that computes by one rounding.

    A call that torch defines by simpler ones is replaced by its definition, in which every step rounds likewise, in the
    accumulator's format: so a kernel that follows the textbook formula is inside the bound.
    """

    def __init__(self, noise: Noise, random: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._noise = noise
        self._random = random
        self._depth = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in _MOVES or func.is_view or func.namespace != "aten" or _is_extremum(name, args):
            return func(*args, **(kwargs or {}))
        written = any(argument.alias_info and argument.alias_info.is_write for argument in func._schema.arguments)  # noqa: SLF001
        if written:
            result = func(*args, **(kwargs or {}))
            for value in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(value, torch.Tensor) and is_inexact(value.dtype):
                    value.copy_(self._moved(value))
            return result
        exact = _are_whole(args) if name in _QUOTIENTS else None
        return tree_map(lambda value: self._moved(value, exact), self._run(func, args, kwargs or {}))

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        definition = decomposition_table.get(func)
        name = func.overloadpacket.__name__
        if name in _ROUNDS_ONCE or (name in ("add", "sub") and "alpha" not in kwargs):
            definition = None
        if name in _SUMS:
            return func(*tree_map(self._inside, args), **kwargs)
        if definition is None or torch.Tag.nondeterministic_seeded in func.tags:
            return func(*args, **kwargs)
        self._depth += 1
        try:
            with self:
                result = definition(*args, **kwargs)
        except NotImplementedError:  # a definition may cover some arguments only
            result = NotImplemented
        finally:
            self._depth -= 1
        return func(*args, **kwargs) if result is NotImplemented else result

    def _inside(self, value: Any) -> Any:
        return self._rounded(value, self._noise.inner)

    def _moved(self, value: Any, exact: torch.Tensor | None = None) -> Any:
        return self._rounded(value, self._noise.inner if self._depth else self._noise.results, exact)

    def _rounded(self, value: Any, u: float, exact: torch.Tensor | None = None) -> Any:
        if not isinstance(value, torch.Tensor) or not is_inexact(value.dtype) or value.layout is not torch.strided:
            return value
        # A whole number that comes out (a mask, a pixel's place, exp(0)) was computed exactly: it stays.
        whole = _is_whole(value) if exact is None else _is_whole(value) & exact
        moved = torch.where(whole, value, perturb(value, u, self._noise.tiny, self._random).to(value.dtype))
        # What is below the normal numbers has no full precision, and on some processors is flushed to zero.
        flushed = perturb(value, 1.0, 0.0, self._random).to(value.dtype)
        return torch.where(value.abs() < self._noise.tiny, flushed, moved)


def _is_extremum(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a norm is that of the largest or the smallest magnitude, which is one of its inputs."""
    return name == "linalg_vector_norm" and len(args) > 1 and args[1] in (math.inf, -math.inf)


def _is_whole(value: torch.Tensor) -> torch.Tensor:
    return value == (torch.round(value.real) if value.dtype.is_complex else torch.round(value))


def _are_whole(args: tuple[Any, ...]) -> torch.Tensor:
    """Where all arguments of an elementwise call are whole numbers."""
    found = torch.ones((), dtype=torch.bool)
    for value in args:
        if isinstance(value, torch.Tensor) and is_inexact(value.dtype):
            found = found & _is_whole(value)
        elif isinstance(value, float):
            found = found & value.is_integer()
    return found


def judge(
    got: torch.Tensor, want: torch.Tensor, steps: Iterable[torch.Tensor | None], *,
    whole: bool = False, terms: int = 1, beside: float = 0.0, near: torch.Tensor | None = None,
) -> tuple[Measure, str | None]:  # fmt: skip
    """Measure one output against its reference; the second value says why nothing can be said, if so.

    `steps` are the growing spreads of the output: they are taken only as far as an element asks for more. With `whole`
    every element has the bound of the largest one: what norms, not elements, bound. `terms` is how many numbers the
    operator may add up for one of them. `beside` is the size of the numbers that the output may be what is left of, as
    gradients are: it is then only known to be small beside that. `near` is the cheap part of the bound where it is at
    hand.
    """
    dtype = got.dtype
    error = errors(got, want, dtype)
    bound = near = nearness(want, dtype, whole=whole) if near is None else near
    asking = exceeds(error, near)  # an element inside the cheap bound needs no other, least of all that of a pole
    if not bool(asking.any()):
        return measure("conditioned", got, want, error, bound), None
    if bool(error.isinf().any()):
        steps = ()  # another class of number: no spread can excuse it
    factor = max(SPREADS, terms / math.sqrt(3)) if terms > FEW_TERMS else SPREADS
    for found in steps:
        if found is not None:
            spread = torch.nan_to_num(found, posinf=0.0).max().expand(found.shape) if whole and found.numel() else found
            bound = torch.where(asking, torch.maximum(bound, near + factor * spread), bound)
        if not bool(exceeds(error, bound).any()):
            break
    bound = torch.where(want.isfinite(), bound, 0.0)  # where the reference is not finite, the error is 0 or infinite
    result = measure("conditioned", got, want, error, bound)
    size = want.abs().max().expand(want.shape) if whole and want.numel() else want.abs()
    leant = asking & ~(bound < size)  # accepted by a bound that would accept zero as well
    poles = asking & ~bound.isfinite()
    # What an element with a bound of its own says is said, whatever cannot be said of its neighbours.
    if bool((exceeds(error, bound) & ~leant & ~poles).any()):
        return result, None
    if beside and result.passed:
        finite = torch.nan_to_num(want.abs(), nan=0.0, posinf=0.0)
        leant &= ~(bound < SMALL * max(beside, float(finite.max()) if finite.numel() else 0.0))
    share = float(leant.double().mean()) if leant.numel() else 0.0
    if share > VACUOUS_SHARE and error.isfinite().all():
        return result, f"the bound exceeds the value itself on {share:.0%} of the elements that need it"
    if not result.passed and bool(poles.any()):
        return result, "the value next to a pole has no finite bound"
    return result, None
