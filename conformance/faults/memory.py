"""What broken kernels do to the memory of tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def storage_key(tensor: Tensor) -> int:
    """The same for tensors that share a storage, and only for them."""
    return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - storages that are empty have no address to tell them apart


def whole_storage(tensor: Tensor) -> Tensor:
    """All the memory behind a tensor, as an alias of one dimension."""
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    return torch.as_strided(tensor, (elements,), (1,), 0)


def expanded(tensor: Tensor) -> bool:
    """Whether some dimension repeats its elements by a stride of zero."""
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


def noncontiguous(value: Any) -> bool:
    """Whether this is a tensor whose elements do not follow each other in memory."""
    return isinstance(value, Tensor) and value.numel() > 1 and not value.is_contiguous()


def not_dense(value: Any) -> bool:
    """Whether this is a tensor with gaps or overlap: no permutation of a dense block."""
    return noncontiguous(value) and not torch.ops.aten.is_non_overlapping_and_dense(value)


def linear_read(tensor: Tensor) -> Tensor:
    """As many elements, taken one after the other from memory: the strides are ignored."""
    if tensor.numel() == 0:
        return tensor
    storage = whole_storage(tensor)
    positions = (torch.arange(tensor.numel()) + tensor.storage_offset()) % storage.numel()
    return storage[positions].reshape(tensor.shape)


def as_if_dense(tensor: Tensor) -> Tensor:
    """What a kernel reads that takes every tensor for a contiguous one."""
    return linear_read(tensor) if noncontiguous(tensor) else tensor


def base_read(tensor: Tensor, offset: int = 0) -> Tensor:
    """The elements of the same view at another storage offset."""
    if tensor.numel() == 0:
        return tensor
    return torch.as_strided(tensor, tensor.shape, tensor.stride(), offset).clone()


def linear_write(target: Tensor, values: Tensor) -> Tensor:
    """Store the values one after the other into memory: the strides of the target are ignored."""
    storage = whole_storage(target)
    positions = (torch.arange(values.numel()) + target.storage_offset()) % storage.numel()
    storage[positions] = values.reshape(-1).to(storage.dtype)
    return target


def unconjugated(tensor: Tensor) -> Tensor:
    """What lies in memory where a tensor is conjugated lazily."""
    return tensor.conj() if tensor.is_conj() else tensor
