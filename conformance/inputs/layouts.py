"""Layouts: the same values of a tensor at other addresses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.tree import tree_map

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN = "plain"
OFFSET = "offset"
STRIDED = "strided"
LAYOUTS = (PLAIN, OFFSET, STRIDED)
#: What only some tensors can have: lazy conjugation and negation, and the channels as the innermost dimension.
CONJ = "conj"
NEG = "neg"
CHANNELS_LAST = "channels-last"

#: Odd, so that a kernel that reads in aligned vectors is off as well.
_BEFORE = 3
_AFTER = 5
#: How many samples of a group are laid out anew, and up to which size: layouts multiply cases.
RELAID_SAMPLES = 2
_MAX_ELEMENTS = 1 << 16


def relaid_samples(samples: Sequence[Sample], largest: int | None = None) -> list[int]:
    """The ordinals of the samples whose tensors get other layouts: chosen by shape alone, never by value.

    The first sample with a tensor of two elements or more, and the first after it whose tensors have more dimensions
    (else the next one); none with more than `largest` elements.
    """
    fit = [i for i, sample in enumerate(samples) if _can_be_relaid(sample, largest)]
    if len(fit) <= RELAID_SAMPLES:
        return fit
    rank = _rank(samples[fit[0]])
    second = next((i for i in fit[1:] if _rank(samples[i]) > rank), fit[1])
    return [fit[0], second]


def _can_be_relaid(sample: Sample, largest: int | None) -> bool:
    found = sample.tensors
    if largest is not None and sum(tensor.numel() for tensor in found) > largest:
        return False
    return (
        any(tensor.numel() >= 2 for tensor in found)
        and all(tensor.layout is torch.strided and tensor.numel() <= _MAX_ELEMENTS for tensor in found)
    )  # fmt: skip


def _rank(sample: Sample) -> int:
    return max(tensor.dim() for tensor in sample.tensors)


def relay(sample: Sample, layout: str) -> Sample:
    """The sample with every tensor argument of one element or more at other addresses and with the same values.

    `offset`: the same strides inside a larger storage, behind a storage offset; what lies around is junk. `strided`:
    dimensions in reverse order and every second address only; the gaps are junk. `conj` and `neg`: memory holds the
    conjugate or the negative, and a bit of the tensor says so. `channels-last`: the second of four or five dimensions
    is the innermost. `plain` is the sample itself.
    """
    if layout == PLAIN:
        return sample
    lay = _LAYS[layout]

    def convert(value: Any) -> Any:
        return lay(value) if isinstance(value, torch.Tensor) and value.numel() else value

    return Sample(tree_map(convert, sample.args), tree_map(convert, sample.kwargs))


def _offset(tensor: torch.Tensor) -> torch.Tensor:
    strides = [0 if size == 1 else stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True))
    return _lay(tensor, span, tensor.stride())


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    strides, step = [], 2
    for size in tensor.shape:  # the first dimension is the innermost: column-major, and every second address
        strides.append(step)
        step *= max(size, 1)
    return _lay(tensor, 2 * math.prod(tensor.shape), strides)


def _conj(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.conj().resolve_conj().conj() if tensor.is_complex() else tensor


def _neg(tensor: torch.Tensor) -> torch.Tensor:
    inexact = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    return torch._neg_view(-tensor) if inexact else tensor  # noqa: SLF001 - only real(conj(x)) gives one in public


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return tensor.clone(memory_format=formats[tensor.dim()]) if tensor.dim() in formats else tensor


_LAYS = {OFFSET: _offset, STRIDED: _strided, CONJ: _conj, NEG: _neg, CHANNELS_LAST: _channels_last}


def channeled_sample(samples: Sequence[Sample], largest: int | None = None) -> int | None:
    """The ordinal of the first sample that `channels-last` lays at other addresses."""
    return next(
        (
            i
            for i, sample in enumerate(samples)
            if _can_be_relaid(sample, largest)
            and any(
                tensor.dim() in (4, 5) and tensor.shape[1] > 1 and tensor.shape[2:].numel() > 1
                for tensor in sample.tensors
            )
        ),
        None,
    )


def _lay(tensor: torch.Tensor, span: int, strides: Sequence[int]) -> torch.Tensor:
    storage = torch.full((_BEFORE + span + _AFTER,), _junk(tensor.dtype), dtype=tensor.dtype)
    laid = storage.as_strided(tensor.shape, strides, _BEFORE)
    with torch.no_grad():
        if 0 in strides:  # an expanded tensor: several elements share an address and the same value
            narrow = tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
            storage.as_strided(narrow.shape, strides, _BEFORE).copy_(narrow)
        else:
            laid.copy_(tensor)
    return laid


def _junk(dtype: torch.dtype) -> Any:
    """What shows when it is read: NaN, or for integers a 1, which is still an index that stays in bounds."""
    if dtype.is_floating_point or dtype.is_complex:
        return math.nan
    return dtype is torch.bool or 1
