"""Sizes: a sample of OpInfo's with one of its sizes replaced everywhere: by none, one, and beyond powers of two.

OpInfo's tensors have few sizes, and none beyond a few hundred; kernels fail where a block, a counter of 16 bits or a
limit of the grid ends.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from conformance.inputs.layouts import relaid_samples
from conformance.inputs.samples import Sample
from conformance.inputs.tree import tensors, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Nothing, a single one, past a vector, past a block, past 2**16.
SIZES = (0, 1, 33, 1025, 65537)
#: How many different sizes of a sample are replaced, and how many elements the new tensors may have in all.
_DIMENSIONS = 3
_MOST = 1 << 19


#: How many elements an operator may make of a dimension of 1025.
_MOST_MADE = 1 << 21
#: Where an operator makes this many times the elements at 1025 that it makes at 33, 65537 is out of reach.
_GROWTH = 64


@dataclass(frozen=True, slots=True)
class Resized:
    """A sample with the size `old` replaced by `new` in every tensor that has it."""

    sample: Sample
    old: int
    new: int
    seed: int

    def make(self) -> Sample:
        return _resize(self.sample, self.old, self.new, self.seed)

    def is_within_reach(self, function: Callable[..., Any]) -> bool:
        """Whether the operator's own tensors grow no faster than its arguments: attention's are quadratic in a length.

        Asked of the host, at two smaller sizes, when a plan is made.
        """
        if self.new < _REACHED[1]:
            return True
        if self.new == _REACHED[1]:
            made = _made(function, self.make())
            return made is None or made.elements <= _MOST_MADE
        small, large = (_made(function, _resize(self.sample, self.old, new, self.seed)) for new in _REACHED)
        return small is not None and large is not None and large.work <= _GROWTH * small.work


_REACHED = (33, 1025)


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the elements of everything that is returned, and the multiplications of what multiplies matrices."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.elements: int = 0
        self.flops: int = 0

    @property
    def work(self) -> int:
        return self.elements + self.flops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.elements += sum(tensor.numel() for tensor in tensors(result))
        flops = flop_registry.get(func.overloadpacket)
        if flops is not None:
            self.flops += int(flops(*args, **(kwargs or {}), out_val=result))
        return result


def _made(function: Callable[..., Any], sample: Sample) -> _Counting | None:
    """How much the operator makes on its way; None where the host has no answer."""
    counting = _Counting()
    with warnings.catch_warnings(), torch.no_grad(), counting:
        warnings.simplefilter("ignore")
        try:
            function(*sample.args, **sample.kwargs)
        except Exception:  # noqa: BLE001 - an operator of Python may raise anything
            return None
    return counting


def resized(
    samples: Sequence[Sample], largest: int | None, *, fixed: torch.dtype | None, seed: int
) -> Iterator[Resized]:
    """Samples in which a size of two or more is another one, in every tensor that has it.

    Two dimensions of one size stay equal, as those that an operator contracts or joins must. Values are drawn from
    those that are replaced, so that they stay in the domain and indices in bounds; tensors of the dtype `fixed` must
    not grow. Chosen by shape alone; whether the operator takes the new shapes is for the host to say.
    """
    for ordinal in _bases(samples, largest):
        sample = samples[ordinal]
        sizes = list(dict.fromkeys(size for tensor in sample.tensors for size in tensor.shape if size > 1))
        for old in sizes[:_DIMENSIONS]:
            for new in SIZES:
                if new != old and _fits(sample, old, new, fixed):
                    yield Resized(sample, old, new, seed)


def emptied(samples: Sequence[Sample], largest: int | None) -> Iterator[Callable[[], Sample]]:
    """Makers of samples in which the tensors of one shape, as an index and what it brings, have no elements."""
    for ordinal in _bases(samples, largest):
        shapes = dict.fromkeys(tensor.shape for tensor in samples[ordinal].tensors if tensor.dim())
        for shape in shapes if len(shapes) > 1 or len(samples[ordinal].tensors) > 1 else ():
            yield partial(_without, samples[ordinal], shape)
        for kept in [t for t in samples[ordinal].tensors if t.dim() and len(shapes) == 1][:1]:
            yield partial(_without, samples[ordinal], kept.shape, after=1)


def _without(sample: Sample, shape: torch.Size, after: int = 0) -> Sample:
    """The sample with tensors of a shape, but for the first `after` ones, cut to no elements."""
    number = 0

    def convert(value: Any) -> Any:
        nonlocal number
        if not isinstance(value, torch.Tensor) or value.shape != shape:
            return value
        number += 1
        return value.new_empty((0, *shape[1:])) if number > after else value

    return Sample(tree_map(convert, sample.args), tree_map(convert, sample.kwargs))


def _bases(samples: Sequence[Sample], largest: int | None) -> list[int]:
    """The samples that are laid out anew, and the smallest one with a batch of two or more."""
    found = relaid_samples(samples, largest)
    batches = [
        (sample.size, ordinal)
        for ordinal, sample in enumerate(samples)
        if sample.tensors and sample.tensors[0].dim() > 2 and sample.tensors[0].shape[0] > 1 and sample.size > 0
    ]
    if found and batches and min(batches)[1] not in found:
        found.append(min(batches)[1])
    return [
        ordinal
        for ordinal in found
        if all(tensor.layout is torch.strided for tensor in samples[ordinal].tensors) and not _shares(samples[ordinal])
    ]


def _shares(sample: Sample) -> bool:
    storages = {tensor.untyped_storage()._cdata for tensor in sample.tensors}  # noqa: SLF001 - no public name
    return len(storages) != len(sample.tensors)


def _fits(sample: Sample, old: int, new: int, fixed: torch.dtype | None) -> bool:
    elements = 0
    for tensor in sample.tensors:
        number = 1
        for size in tensor.shape:
            number *= new if size == old else size
        elements += number
        if new > old and tensor.dtype is fixed and number != tensor.numel():
            return False
    return elements <= _MOST


def _resize(sample: Sample, old: int, new: int, seed: int) -> Sample:
    random = torch.Generator().manual_seed(seed)

    def convert(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or old not in value.shape:
            return value
        shape = [new if size == old else size for size in value.shape]
        flat = value.resolve_conj().reshape(-1)
        if flat.numel() == 0:
            return value.new_empty(shape)
        distinct = torch.unique(flat) if flat.dtype is torch.int64 else flat[:0]
        if math.prod(shape) <= distinct.numel():  # indices that are written to must not meet
            return distinct[torch.randperm(distinct.numel(), generator=random)[: math.prod(shape)]].reshape(shape)
        places = torch.randint(0, flat.numel(), shape, generator=random)
        return flat[places] if flat.dtype.itemsize > 1 else flat.view(torch.uint8)[places].view(flat.dtype)

    return Sample(tree_map(convert, sample.args), tree_map(convert, sample.kwargs))
