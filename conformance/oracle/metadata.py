"""What is promised of a result besides its values: structure, dtype, shape, device, and that a view is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.tree import is_size

if TYPE_CHECKING:
    from collections.abc import Sequence


def mismatch(got: Sequence[Any], host: Sequence[Any], device: torch.device, results: int) -> str | None:
    """Say how the outputs of a call differ from those of the host in anything but values; None when they don't.

    `got` are the outputs as they were returned, not fetched; the first `results` of them have to be on `device`, the
    others are arguments, which are where they are. Strides are judged by `view_mismatch` and `strides_mismatch`.
    """
    if len(got) != len(host):
        return f"{len(got)} outputs where {len(host)} are due"
    for index, (found, due) in enumerate(zip(got, host, strict=True)):
        problem = _leaf_mismatch(found, due, device if index < results else None)
        if problem:
            return f"output {index}: {problem}" if len(host) > 1 else problem
    return None


def _leaf_mismatch(found: Any, due: Any, device: torch.device | None) -> str | None:
    if not isinstance(due, torch.Tensor):
        if type(found) is not type(due) and not (is_size(found) and is_size(due)):
            return f"{type(found).__name__} where {type(due).__name__} is due"
        return None
    if not isinstance(found, torch.Tensor):
        return f"{type(found).__name__} where a tensor is due"
    if found.dtype != due.dtype:
        return f"dtype {_name(found.dtype)} where {_name(due.dtype)} is due"
    if found.shape != due.shape:
        return f"shape {list(found.shape)} where {list(due.shape)} is due"
    if device is not None and due.device.type == "cpu" and not _on(found.device, device):
        return f"device {found.device} where {device} is due"
    return None


def _on(found: torch.device, wanted: torch.device) -> bool:
    return found.type == wanted.type and (wanted.index is None or found.index is None or found.index == wanted.index)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def strides_mismatch(got: Sequence[Any], host: Sequence[Any]) -> str | None:
    """Say which tensor lies in memory otherwise than the host's, which has the same shape."""
    for index, (found, due) in enumerate(zip(got, host, strict=True)):
        if (
            isinstance(due, torch.Tensor)
            and due.layout is torch.strided
            and due.numel()
            and _strides(found) != _strides(due)
        ):
            where = f"output {index}: " if len(host) > 1 else ""
            return f"{where}strides {list(found.stride())} where {list(due.stride())} are due"
    return None


def view_mismatch(got: Any, arguments: Sequence[Any], host: Any, host_arguments: Sequence[Any]) -> str | None:
    """Say how a result is not the view that the host's is: another memory, offset or strides.

    Asked only of operators that PyTorch documents as views.
    """
    for found, due in zip(got, host, strict=True):
        if not isinstance(due, torch.Tensor) or not isinstance(found, torch.Tensor) or due.numel() == 0:
            continue
        owner = next((i for i, argument in enumerate(host_arguments) if _shares(due, argument)), None)
        if owner is None:
            continue
        if not _shares(found, arguments[owner]):
            return "a copy where a view is due"
        if _strides(found) != _strides(due) or found.storage_offset() != due.storage_offset():
            return (
                f"a view with strides {list(found.stride())} and offset {found.storage_offset()} where "
                f"{list(due.stride())} and {due.storage_offset()} are due"
            )
    return None


def _strides(tensor: torch.Tensor) -> list[int]:
    """The strides that lead somewhere: along a dimension of size one there is nowhere to go."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def stride_mismatch(found: torch.Tensor, due: Sequence[int]) -> str | None:
    """Say that a tensor does not have the strides that it had before it was written to."""
    if tuple(found.stride()) == tuple(due):
        return None
    return f"strides {list(found.stride())} where it had {list(due)}"


def alias_mismatch(
    got: Sequence[Any], arguments: Sequence[Any], host: Sequence[Any], host_arguments: Sequence[Any]
) -> str | None:
    """Say which result is not the argument that it was written to, where the host's is."""
    for found, due in zip(got, host, strict=True):
        owner = next((i for i, argument in enumerate(host_arguments) if _shares(due, argument)), None)
        if owner is not None and isinstance(found, torch.Tensor) and not _shares(found, arguments[owner]):
            return f"the result is not the tensor argument {owner}, which the call writes to"
    return None


def _shares(left: Any, right: Any) -> bool:
    return (
        isinstance(left, torch.Tensor)
        and isinstance(right, torch.Tensor)
        and left.layout is torch.strided
        and right.layout is torch.strided
        and left.untyped_storage()._cdata == right.untyped_storage()._cdata  # noqa: SLF001
    )
