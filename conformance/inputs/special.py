"""Special values: a sample of OpInfo's with its numbers replaced by NaN, infinities and zeros of both signs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.tree import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: NaN comes once in eight, so that the rows of a reduction are not all NaN; the second one has its sign bit set.
VALUES = (
    1.0, math.inf, -0.0, 2.0, math.nan, 0.0, -math.inf, -1.5, 0.5, -math.inf, 3.0, 0.0, -math.nan, math.inf, -2.0, -0.0,
)  # fmt: skip
LARGE = (40000.0, 30000.0, 50000.0, 20000.0)
#: Beyond seven bits, multiples of one another, beyond what float32 and float64 count; each as far as its dtype goes. No
#: smallest number: some processors trap where it is divided by -1.
INTEGERS = (616, 113, -3, 28, -616, 1, 255, 7, 200, 2**24 + 1, 616, 9, 2**30 + 1, -28, 2, 2**53 + 1)
#: Enough for each value once, and no more than a comparison of an instant.
_FEWEST, _MOST = 8, 1024


def special_sample(samples: Sequence[Sample]) -> Sample | None:
    """The first sample of a fit size with its real inexact tensors filled anew; None where no sample is fit.

    Chosen by shape alone, never by value: the plan does not depend on the seed.
    """
    return _sample(samples, VALUES)


def large_sample(samples: Sequence[Sample]) -> Sample | None:
    """Likewise, with numbers of which float16 holds each and not the sum of a few."""
    return _sample(samples, LARGE)


def _sample(samples: Sequence[Sample], values: Sequence[float]) -> Sample | None:
    chosen = next((sample for sample in samples if _is_fit(sample, _is_filled)), None)
    if chosen is None:
        return None
    number = 0

    def convert(value: Any) -> Any:
        nonlocal number
        if not _is_filled(value):
            return value
        number += 1
        return _filled(value, number - 1, values)

    return Sample(tree_map(convert, chosen.args), tree_map(convert, chosen.kwargs))


def integer_sample(samples: Sequence[Sample], dtype: torch.dtype, most: int | None = None) -> Sample | None:
    """The first sample of a fit size with its tensors of an integer dtype filled anew; None where no sample is fit.

    With `most` by numbers up to that: where larger ones lose what the answer hangs on when they are converted.
    """
    chosen = next((sample for sample in samples if _is_fit(sample, lambda value: value.dtype is dtype)), None)
    if chosen is None:
        return None
    limits = torch.iinfo(dtype)
    largest = limits.max if most is None else min(most, limits.max)
    values = [value for value in INTEGERS if max(limits.min, -largest) < value <= largest]
    number = 0

    def convert(value: Any) -> Any:
        nonlocal number
        if not isinstance(value, torch.Tensor) or value.dtype is not dtype or value.numel() == 0:
            return value
        number += 1
        return _filled(value, number - 1, values)

    return Sample(tree_map(convert, chosen.args), tree_map(convert, chosen.kwargs))


def _is_fit(sample: Sample, is_filled: Callable[[torch.Tensor], bool]) -> bool:
    found = sample.tensors
    if any(tensor.layout is not torch.strided for tensor in found):
        return False
    storages = {tensor.untyped_storage()._cdata for tensor in found}  # noqa: SLF001 - torch offers no public name
    return (
        len(storages) == len(found)  # else two arguments are views of one memory, which filling would part
        and sum(tensor.numel() for tensor in found) <= _MOST
        and any(is_filled(tensor) and tensor.numel() >= _FEWEST for tensor in found)
    )


def _is_filled(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.numel() > 0


def _filled(tensor: torch.Tensor, number: int, values: Sequence[float]) -> torch.Tensor:
    """A contiguous tensor of the same shape; in the second of two tensors each period is shifted by one more."""
    size = len(values)
    flat = [values[(i + number * (i // size + 3)) % size] for i in range(tensor.numel())]
    return torch.tensor(flat, dtype=tensor.dtype).reshape(tensor.shape)
