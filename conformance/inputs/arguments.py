"""Other arguments: a sample of OpInfo's with one number, flag or dtype among its arguments changed.

Called one after the other with tensors of equal shapes, they also show what a cache keyed by shape alone has kept.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.layouts import relaid_samples
from conformance.inputs.samples import Sample
from conformance.inputs.sizes import Resized, resized
from conformance.inputs.special import integer_sample
from conformance.inputs.tree import leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Of each sample, and of one that was changed already.
_MOST = 14
_FEW = 6
#: The size that a dimension grows to, past what a kernel may keep in one vector.
_GROWN = 33
_SEED = 33
#: Arguments are changed beside tensors of up to this many elements.
_MAX_ELEMENTS = 1 << 14


def changed(
    samples: Sequence[Sample], largest: int | None, dtype: torch.dtype, *, first: bool
) -> Iterator[Callable[[], Sample]]:
    """Makers of samples that differ from one of OpInfo's in one argument; the host says which of them are calls.

    A flag is turned over; an integer becomes 0, 1, -1, the next one, one far beyond and one between two; a float 0, its
    opposite and another; a tensor of one argument among several a number; and `dtype` is named where it was not. The
    same of tensors with a dimension of 33, and of tensors without dimensions; less where the dtype is not the `first`.
    """
    bases = [samples[i] for i in relaid_samples(samples, largest) if samples[i].size <= _MAX_ELEMENTS]
    for sample in bases if first else bases[:1]:
        makers: list[Callable[[], Sample]] = [*_with_numbers(sample), *_with_scalars(sample)]
        yield from makers[: _MOST if first else _FEW]
        yield partial(_with_dtype, sample, dtype)
    if first and bases:
        grown: Resized | None = next(
            (r for r in resized(bases[:1], None, fixed=None, seed=_SEED) if r.new == _GROWN), None
        )
        if grown is not None:
            yield from [*_with_numbers(grown.make())][:_FEW]
        flat = _without_dimensions(next((base for base in samples if _is_along(base)), bases[0]))
        yield partial(_itself, flat)
        yield from [*_with_numbers(flat)][:_FEW]
    integers = None if dtype.is_floating_point or dtype.is_complex or dtype is torch.bool else dtype
    special = integers and integer_sample(samples, integers)
    if special:
        yield partial(_with_dtype, special, dtype)


def _is_along(sample: Sample) -> bool:
    """Whether a whole number is among the arguments, as the dimension is that an operator goes along."""
    numbers = leaves((sample.args, sample.kwargs))
    return any(isinstance(value, int) and not isinstance(value, bool) for value in numbers) and any(
        tensor.dim() for tensor in sample.tensors
    )


def _itself(sample: Sample) -> Sample:
    return sample


def _without_dimensions(sample: Sample) -> Sample:
    def convert(value: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor) and value.layout is torch.strided and value.numel()
        return value.flatten()[0].clone() if is_tensor else value

    return Sample(tree_map(convert, sample.args), tree_map(convert, sample.kwargs))


def _with_numbers(sample: Sample) -> Iterator[Callable[[], Sample]]:
    found: list[Any] = []

    def note(value: Any) -> Any:
        found.append(value)
        return value

    tree_map(note, (sample.args, sample.kwargs))
    for position, value in enumerate(found):
        for other in _others(value):
            yield partial(_replaced, sample, position, other)


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [other for other in dict.fromkeys((0, value + 16, 1, -1, value + 1, 200, value + 0.5)) if other != value]
    if isinstance(value, float):
        return [other for other in dict.fromkeys((0.0, -value, value + 1.5)) if other != value]
    return []


def _replaced(sample: Sample, position: int, other: Any) -> Sample:
    """The sample with the leaf at `position`, in the order of args and kwargs, replaced."""
    number = -1

    def convert(value: Any) -> Any:
        nonlocal number
        number += 1
        return other if number == position else value

    args, kwargs = tree_map(convert, (sample.args, sample.kwargs))
    return Sample(args, kwargs)


def _with_scalars(sample: Sample) -> Iterator[Callable[[], Sample]]:
    """One tensor among several arguments as the number that stands first in it; a whole one also with a half."""
    tensors = [i for i, value in enumerate(sample.args) if isinstance(value, torch.Tensor) and value.numel()]
    for position in tensors if len(tensors) > 1 else ():
        yield partial(_scalar_at, sample, position, 0)
        if not sample.args[position].dtype.is_floating_point:
            yield partial(_scalar_at, sample, position, 0.5)


def _scalar_at(sample: Sample, position: int, more: float) -> Sample:
    value = sample.args[position].flatten()[0].item() + more if more else sample.args[position].flatten()[0].item()
    return Sample((*sample.args[:position], value, *sample.args[position + 1 :]), sample.kwargs)


def _with_dtype(sample: Sample, dtype: torch.dtype) -> Sample:
    return Sample(sample.args, {"dtype": dtype, **sample.kwargs})
