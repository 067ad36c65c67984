"""How arguments travel: whole storages are copied, and every view is rebuilt over its copy.

Sizes, strides, storage offsets, gaps, and which arguments share memory survive the journey; conjugate and negative
bits too. Only a contiguous copy, `as_strided` and the bit views are asked of the device.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.tree import leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Container

#: A result that is a small view of a storage larger than this is copied by value, not with its storage.
MAX_STORAGE_BYTES = 1 << 26

_SPARSE = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


class CannotTravelError(Exception):
    """An argument or a result of a kind that has no storage of its own to copy."""


def rebuild(
    sample: Sample,
    move: Callable[[torch.Tensor], torch.Tensor],
    leaf: Callable[[Any], Any],
    staying: Container[int] = (),
) -> Sample:
    """The sample with `move` applied to each storage, seen as one flat tensor, and `leaf` to what is no tensor.

    Tensors whose number, in order, is among `staying` are copied where they are. `move` must return a contiguous tensor
    of the same number of elements that is not the one it was given.
    """
    moved: dict[tuple[int, torch.dtype], torch.Tensor] = {}
    number = itertools.count()

    def convert(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return leaf(value)
        if next(number) in staying:
            return _rebuild_tensor(value, torch.clone, {})
        return _rebuild_tensor(value, move, moved)

    args: tuple[Any, ...] = tree_map(convert, sample.args)
    kwargs: dict[str, Any] = tree_map(convert, sample.kwargs)
    return Sample(args, kwargs)


def _rebuild_tensor(
    tensor: torch.Tensor,
    move: Callable[[torch.Tensor], torch.Tensor],
    moved: dict[tuple[int, torch.dtype], torch.Tensor],
) -> torch.Tensor:
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        return _rebuild_sparse(tensor, move, moved)
    if tensor.is_conj():
        return _rebuild_tensor(tensor.conj(), move, moved).conj()
    if tensor.is_neg():
        return torch._neg_view(_rebuild_tensor(torch._neg_view(tensor), move, moved))  # noqa: SLF001
    storage = tensor.untyped_storage()
    # Two dtypes over one storage are two copies: no operator of the catalogue writes through one and reads the other.
    key = (storage._cdata, tensor.dtype)  # noqa: SLF001
    if key not in moved:
        moved[key] = move(flat_storage(tensor))
    flat = moved[key]
    if tensor.storage_offset() == 0 and tensor.dim() == 1 and tensor.numel() == flat.numel() and tensor.stride(0) == 1:
        return flat
    return flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def flat_storage(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of a strided tensor as one contiguous, one-dimensional tensor of its dtype (a view)."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((count,), (1,), 0)


def _rebuild_sparse(
    tensor: torch.Tensor,
    move: Callable[[torch.Tensor], torch.Tensor],
    moved: dict[tuple[int, torch.dtype], torch.Tensor],
) -> torch.Tensor:
    parts = [_rebuild_tensor(part, move, moved) for part in sparse_parts(tensor)]
    if tensor.layout is torch.sparse_coo:
        built = torch.sparse_coo_tensor(parts[0], parts[1], size=tensor.shape)
        return built._coalesced_(tensor.is_coalesced())
    return torch.sparse_compressed_tensor(parts[0], parts[1], parts[2], size=tensor.shape, layout=tensor.layout)


def sparse_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The strided tensors that a sparse one is made of; raises CannotTravelError for a layout not known here."""
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()  # noqa: SLF001
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    raise CannotTravelError(f"no transport is known for the layout {tensor.layout}")


def send(sample: Sample, device: torch.device, staying: Container[int] = ()) -> Sample:
    """A copy of the sample on `device`, but for the tensors whose number is among `staying`.

    `device=` arguments and generators name the device too.
    """

    def move(flat: torch.Tensor) -> torch.Tensor:
        return flat.clone() if device.type == "cpu" else flat.to(device)

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.device):
            return device if value.type == "cpu" else value
        if value == "cpu" and isinstance(value, str):
            return str(device)
        if isinstance(value, torch.Generator):
            return torch.Generator(device).manual_seed(value.initial_seed())
        return value

    return rebuild(sample, move, leaf, staying)


def names_device(sample: Sample, device: torch.device) -> bool:
    """Whether anything in the call says that it is for the device; without, a factory makes its result on the host."""
    for leaf in leaves((sample.args, sample.kwargs)):
        if isinstance(leaf, torch.Tensor) and leaf.device.type == device.type:
            return True
        if isinstance(leaf, (str, torch.device)) and str(leaf) == str(device):
            return True
    return False


def clone(sample: Sample) -> Sample:
    """A copy on the host."""
    return rebuild(sample, torch.clone, lambda value: value)


def fetch(result: Any) -> Any:
    """The result with every tensor on the host: the storage is copied whole and the view rebuilt over it."""
    return tree_map(lambda value: _fetch_tensor(value) if isinstance(value, torch.Tensor) else value, result)


def _fetch_tensor(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.device.type in ("cpu", "meta"):
        return tensor.detach()
    tensor = tensor.detach()
    if tensor.layout is torch.sparse_coo:
        indices, values = (_fetch_tensor(part) for part in sparse_parts(tensor))
        return torch.sparse_coo_tensor(indices, values, size=tensor.shape)
    if tensor.layout in _SPARSE:
        parts = [_fetch_tensor(part) for part in sparse_parts(tensor)]
        return torch.sparse_compressed_tensor(parts[0], parts[1], parts[2], size=tensor.shape, layout=tensor.layout)
    if tensor.is_conj():
        return _fetch_tensor(tensor.conj()).conj()
    if tensor.is_neg():
        return torch._neg_view(_fetch_tensor(torch._neg_view(tensor)))  # noqa: SLF001
    # Also of a view of nothing: what lies around it must come along, or it would seem to have been written to.
    if not 0 < tensor.untyped_storage().nbytes() <= MAX_STORAGE_BYTES:
        return tensor.cpu()
    flat = flat_storage(tensor).cpu()
    return flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
