"""What the derived checks call: other sizes, arguments, layouts and dtypes, in place, with `out=`, for gradients."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from conformance.checks.operators.derived import Call, agrees_on_strides, is_in_range, is_moderate, keeps_size
from conformance.checks.operators.run import FUNCTION, STRIDES
from conformance.inputs import arguments, catalogue, variants
from conformance.inputs.errors import error_samples
from conformance.inputs.layouts import (
    CHANNELS_LAST,
    CONJ,
    LAYOUTS,
    NEG,
    PLAIN,
    channeled_sample,
    relaid_samples,
)  # fmt: skip
from conformance.inputs.samples import Sample, opinfo_samples, planned_seed, seed_of
from conformance.inputs.sizes import Resized, emptied, resized
from conformance.inputs.special import integer_sample, large_sample, special_sample
from conformance.inputs.transport import clone
from conformance.oracle import laws
from conformance.oracle.formats import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.spec.operators import OperatorSpec

    Made: TypeAlias = tuple[Callable[..., Any], Sample]


def first_dtype(spec: OperatorSpec) -> tuple[str, ...]:
    """The dtype that most is asked of: the first that the operator has."""
    return catalogue.planned_dtypes(spec.name, spec.dtypes)[:1]


def required_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    return catalogue.planned_dtypes(spec.name, spec.dtypes)


def optional_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    """The further dtypes that the CPU has."""
    return tuple(dtype for dtype in spec.optional if dtype in catalogue.host_dtypes(spec.name))


def argument_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    """The first, and where numbers are converted and wrap: the widest integer and the unsigned one."""
    available = (*first_dtype(spec), *required_dtypes(spec), *optional_dtypes(spec))
    return tuple(dict.fromkeys((*first_dtype(spec), *(d for d in available if d in ("int64", "uint8")))))


def bit_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    """Those that are required, and the complex one: only its tensors can be conjugated."""
    wanted = (*required_dtypes(spec), *(dtype for dtype in optional_dtypes(spec) if dtype == "complex64"))
    return tuple(dict.fromkeys(wanted))


def of_sizes(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator at sizes that OpInfo has not."""
    function = catalogue.function_of(spec.name)
    for stem, sized in _sizes(spec, dtype, seed):
        is_worth = partial(sized.is_within_reach, function)
        yield Call(stem, FUNCTION, _calling(function, sized.make), is_worth=is_worth, accepts=is_moderate)
    for place, make in enumerate(
        () if "operators.sizes/empty" in spec.leaves_out else emptied(_samples(spec, dtype, seed), spec.largest)
    ):
        yield Call(f"empty-{place:04}", FUNCTION, _calling(function, make))


def _sizes(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[tuple[str, Resized]]:
    # Into one place twice: what an operator then leaves there is open. So indices must not become more.
    places = spec.family == "indexing" or spec.name.startswith("nn.functional.max_unpool")
    fixed = torch.int64 if places and dtype != "int64" else None
    number = seed_of(spec.name, dtype, "sizes", planned_seed(spec.name, dtype, seed))
    takes_none = "operators.sizes/empty" not in spec.leaves_out
    for place, sized in enumerate(resized(_samples(spec, dtype, seed), spec.largest, fixed=fixed, seed=number)):
        if sized.new or takes_none:
            yield f"size-{place:04}", sized


def of_arguments(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator with another number, flag or dtype."""
    function = catalogue.function_of(spec.name)
    first = (dtype,) == first_dtype(spec)
    makers = arguments.changed(_samples(spec, dtype, seed), spec.largest, getattr(torch, dtype), first=first)
    for place, make in enumerate(makers):
        yield Call(f"argument-{place:04}", FUNCTION, _calling(function, make), accepts=is_in_range)


def of_dtypes(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator at a further dtype: two samples, special values, and what only some tensors can be laid out as."""
    kind: torch.dtype = getattr(torch, dtype)
    whole = not (kind.is_floating_point or kind.is_complex)
    if whole and "operators.dtypes/whole" in spec.leaves_out:
        return
    samples = _samples(spec, dtype, seed)
    function = catalogue.function_of(spec.name)
    for ordinal in relaid_samples(samples, spec.largest):
        yield Call(f"sample-{ordinal:04}", FUNCTION, partial(_at, function, samples, ordinal))
    most = _CONVERTED if spec.oracle_for(dtype).rung == "conditioned" else None
    special = (integer_sample(samples, kind, most) if whole else special_sample(samples)) if spec.special else None
    if special is not None:
        yield Call("special-0000", FUNCTION, lambda: (function, special))
    large = _large(spec, dtype, samples)
    if large is not None:
        yield Call("large-0000", FUNCTION, lambda: (function, large))


#: Integers that are converted to be computed with: a sine of more than this hangs on bits that float32 has not.
_CONVERTED = 1 << 12


def _large(spec: OperatorSpec, dtype: str, samples: Sequence[Sample]) -> Sample | None:
    """Numbers whose sum a half format does not hold and whose mean it does: asked of what has the bound of a sum."""
    if dtype != "float16" or "operators.dtypes/large" in spec.leaves_out or spec.oracle_for(dtype).rung != "dot":
        return None
    return large_sample(samples)


def of_layouts(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator on tensors that are conjugated or negated lazily, and on those with the channels innermost."""
    if not set(LAYOUTS) <= set(spec.layouts):
        return  # what depends on how its arguments lie in memory
    samples = _samples(spec, dtype, seed)
    function = catalogue.function_of(spec.name)
    bits = (CONJ, NEG) if dtype.startswith("complex") else (NEG,)
    for ordinal in relaid_samples(samples, spec.largest):
        if any(tensor.dtype.is_floating_point or tensor.is_complex() for tensor in samples[ordinal].tensors):
            yield Call(f"sample-{ordinal:04}", FUNCTION, partial(_at, function, samples, ordinal), bits)
    channeled = channeled_sample(samples, spec.largest)
    if channeled is not None:
        yield Call(f"sample-{channeled:04}", FUNCTION, partial(_at, function, samples, channeled), (CHANNELS_LAST,))


def of_inplace(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The in-place variant, on tensors of their own and on views of larger ones."""
    written = catalogue.entries()[spec.name].get_inplace()
    if written is None:
        return
    function = _writing(spec, dtype, written)
    samples = _samples(spec, dtype, seed)
    for ordinal in relaid_samples(samples, spec.largest):
        made = partial(_at, function, samples, ordinal)
        yield Call(f"sample-{ordinal:04}", "inplace", made, _of(spec, "operators.inplace"), accepts=keeps_size)


def _writing(spec: OperatorSpec, dtype: str, written: Callable[..., Any]) -> Callable[..., Any]:
    """The function that writes; with its functional twin where an answer has a bound, which that one's steps make."""
    exact = spec.view or spec.oracle_for(dtype).rung == "exact"
    return written if exact else variants.Writing(written, catalogue.function_of(spec.name))


def of_out(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator with `out=`: of the right shape in three layouts, to be resized, of a wider and of another dtype."""
    if not catalogue.entries()[spec.name].supports_out:
        return
    samples = _samples(spec, dtype, seed)
    function = catalogue.function_of(spec.name)
    for place, ordinal in enumerate(relaid_samples(samples, spec.largest)):
        for variant, convert, layouts in _OUT if place == 0 else _OUT[:1]:
            made = partial(_with_out, function, samples[ordinal], convert, _writing(spec, dtype, function))
            precision = (
                getattr(torch, dtype) if convert is variants.wider and is_inexact(getattr(torch, dtype)) else None
            )
            yield Call(
                f"sample-{ordinal:04}",
                variant,
                made,
                _of(spec, "operators.out", layouts),
                precision=precision,
                must_refuse=convert is variants.narrower,
            )


_OUT = (
    ("out", variants.junk, LAYOUTS),
    ("out-resized", variants.no_elements, (PLAIN,)),
    ("out-wider", variants.wider, (PLAIN,)),
    ("out-narrower", variants.narrower, (PLAIN,)),
)


def _with_out(
    function: Callable[..., Any],
    sample: Sample,
    convert: Callable[[torch.Tensor], torch.Tensor],
    writing: Callable[..., Any],
) -> Made | None:
    made = variants.with_out(sample, _host_result(function, sample), convert)
    return None if made is None else (writing, made)


def of_strides(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The operator on contiguous arguments, for the strides of what it returns."""
    samples = _samples(spec, dtype, seed)
    function = catalogue.function_of(spec.name)
    full = [i for i, sample in enumerate(samples) if sample.size <= _MOST_STRIDED and _has_order(sample)]
    for ordinal in dict.fromkeys((*relaid_samples(samples, spec.largest), *full[:2])):
        yield Call(f"sample-{ordinal:04}", STRIDES, partial(_at, function, samples, ordinal), accepts=agrees_on_strides)


#: Samples up to this many elements are called for the strides of their results.
_MOST_STRIDED = 1 << 14


def _has_order(sample: Sample) -> bool:
    """Whether every tensor has two dimensions or more that can lie one inside the other."""
    return bool(sample.tensors) and all(
        tensor.dim() > 1 and min(tensor.shape) > 1 and tensor.layout is torch.strided for tensor in sample.tensors
    )


def of_errors(spec: OperatorSpec, _: str, __: int) -> Iterator[Call]:
    """What the operator has to refuse."""
    function = catalogue.function_of(spec.name)
    samples = error_samples(spec.name)
    for place in range(len(samples)):
        yield Call(f"error-{place:04}", FUNCTION, partial(_at, function, samples, place), must_refuse=True, known=True)


def of_backward(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The gradients of every sample; of some also of laid out arguments, from an expanded upstream, of one argument."""
    if not _has_gradients(spec, dtype):
        return
    samples = _samples(spec, dtype, seed)
    function = catalogue.function_of(spec.name)
    relaid = relaid_samples(samples, spec.largest)
    layouts = _of(spec, "operators.backward")
    for ordinal, sample in enumerate(samples):
        if (spec.largest is not None and sample.size > spec.largest) or _draws(spec, dtype, sample):
            continue
        stem = f"sample-{ordinal:04}"
        made = partial(_gradient, function, sample, seed_of(spec.name, dtype, f"upstream-{ordinal}", seed))
        yield Call(stem, "backward", made, layouts if ordinal in relaid else (PLAIN,))
        if ordinal in relaid:
            yield Call(stem, "backward-expanded", partial(made, expanded=True))
            several = [i for i, tensor in enumerate(sample.tensors) if variants.can_follow(tensor)]
            for position in several if len(several) > 1 else ():
                yield Call(stem, f"backward-of-{position}", partial(made, alone=position))


def of_backward_sizes(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The gradients at sizes that OpInfo has not."""
    if _has_gradients(spec, dtype):
        function = catalogue.function_of(spec.name)
        for stem, sized in _sizes(spec, dtype, seed):
            number = seed_of(spec.name, dtype, f"upstream-{stem}", seed)
            is_worth = partial(sized.is_within_reach, variants.SumOfGradients(function))
            made = partial(_gradient_of, function, sized, number)
            yield Call(stem, "backward", made, is_worth=is_worth, accepts=is_moderate)


def _draws(spec: OperatorSpec, dtype: str, sample: Sample) -> bool:
    law = spec.oracle_for(dtype).law
    return law is not None and laws.drops(law, sample)


#: A tensor taken apart into thousands is autograd's work and not the device's.
_MOST_OUTPUTS = 64


def _has_gradients(spec: OperatorSpec, dtype: str) -> bool:
    return getattr(torch, dtype) in catalogue.entries()[spec.name].supported_backward_dtypes("cpu")


#: Sums over more terms than this are asked for with an upstream of one sign: of many terms that cancel, less is left
#: than the bound of their sum.
_MANY = 1 << 12


def _gradient_of(function: Callable[..., Any], sized: Resized, seed: int) -> Made | None:
    return _gradient(function, sized.make(), seed, positive=sized.new > _MANY)


def _gradient(
    function: Callable[..., Any], sample: Sample, seed: int, *,
    alone: int | None = None, expanded: bool = False, positive: bool = False,
) -> Made | None:  # fmt: skip
    """The call for gradients, of one tensor argument `alone` or of all; None where the result depends on none."""
    followed = [i for i, tensor in enumerate(sample.tensors) if variants.can_follow(tensor)]
    wanted = tuple(followed if alone is None else [alone])
    outputs = _differentiable_outputs(function, sample, wanted)
    if not 0 < len(outputs) <= _MOST_OUTPUTS:
        return None
    random = torch.Generator().manual_seed(seed)
    upstream = []
    for shape, dtype in outputs:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        drawn = torch.randn(() if expanded else shape, generator=random, dtype=wide)
        drawn = (drawn.abs() + 0.5 if positive else drawn).to(dtype)
        upstream.append(drawn.expand(shape))  # as the gradient of a sum is
    return variants.Gradient(function, wanted, len(outputs)), variants.with_upstream(sample, upstream)


def _of(spec: OperatorSpec, check: str, layouts: tuple[str, ...] = LAYOUTS) -> tuple[str, ...]:
    """Those of the layouts that the operator takes, and that the suite does not leave out of this check."""
    return tuple(layout for layout in layouts if layout in spec.layouts and f"{check}/{layout}" not in spec.leaves_out)


def _samples(spec: OperatorSpec, dtype: str, seed: int) -> tuple[Sample, ...]:
    return opinfo_samples(spec.name, dtype, seed)


def _at(function: Callable[..., Any], samples: Sequence[Sample], ordinal: int) -> Made:
    return function, samples[ordinal]


def _calling(function: Callable[..., Any], make: Callable[[], Sample]) -> Callable[[], Made]:
    return lambda: (function, make())


def _host_result(function: Callable[..., Any], sample: Sample) -> Any:
    fresh = clone(sample)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            return function(*fresh.args, **fresh.kwargs)
        except Exception:  # noqa: BLE001 - an operator of Python may raise anything
            return None  # no `out=` for a call that the host has no answer to; the plain case says so


def _differentiable_outputs(
    function: Callable[..., Any], sample: Sample, wanted: tuple[int, ...]
) -> list[tuple[torch.Size, torch.dtype]]:
    """Shape and dtype of each output that gradients flow through; none where the host cannot say."""
    fresh = clone(sample)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        for number in wanted:
            fresh.tensors[number].requires_grad_()
        try:
            result = function(*fresh.args, **fresh.kwargs)
        except Exception:  # noqa: BLE001 - an operator of Python may raise anything
            return []
    return [(value.shape, value.dtype) for value in variants.differentiable(result)]
