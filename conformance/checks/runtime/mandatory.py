"""`runtime.mandatory`: the twelve operators that everything else stands on, each called directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from conformance.checks.runtime.kit import Area, NotApplicableError, Probe, expect, expect_bits, expect_raises

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATORS = (
    "empty.memory_format", "empty_strided", "as_strided", "view", "_reshape_alias", "resize_", "_copy_from",
    "_copy_from_and_resize", "_local_scalar_dense", "set_.source_Tensor", "set_.source_Storage",
    "set_.source_Storage_storage_offset",
)  # fmt: skip


def kernel(device: torch.device, overload: str) -> None:
    """Static: a fallback cannot serve what the fallback itself needs."""
    name = torch._C._get_privateuse1_backend_name()  # noqa: SLF001
    key = "PrivateUse1" if device.type == name else torch._C._dispatch_key_for_device(device.type)  # noqa: SLF001
    lines = torch._C._dispatch_dump_table(overload).splitlines()  # noqa: SLF001
    found = next((line for line in lines if line.startswith(f"{key}: ")), None)
    if found is None and key != "PrivateUse1":
        raise NotApplicableError(f"torch serves {device.type} without {overload}")
    expect(found is not None, f"{overload} has no kernel for {key}")
    expect("[backend fallback]" not in str(found), f"{overload} of {key} is left to the fallback")


def empty_shape(device: torch.device) -> None:
    empty = torch.ops.aten.empty.memory_format
    for dtype in (torch.float32, torch.int64, torch.bool):
        found = empty([2, 3], dtype=dtype, device=device)
        expect(found.shape == (2, 3), f"empty([2, 3]) has the shape {tuple(found.shape)}")
        expect(found.stride() == (3, 1), f"empty([2, 3]) has the strides {found.stride()} where (3, 1) is due")
        expect(found.dtype is dtype, f"empty of {dtype} has the dtype {found.dtype}")
        expect(found.device.type == device.type, f"empty on {device} lies on {found.device}")
        size = found.untyped_storage().nbytes()
        expect(size >= 6 * dtype.itemsize, f"empty([2, 3]) of {dtype} has {size} bytes")
    found = empty([0, 3], device=device)
    expect(found.numel() == 0, f"empty([0, 3]) has {found.numel()} elements")
    found = empty([], device=device)
    expect(found.shape == (), f"empty([]) has the shape {tuple(found.shape)}")


def empty_channels_last(device: torch.device) -> None:
    empty = torch.ops.aten.empty.memory_format
    found = empty([2, 3, 4, 5], device=device, memory_format=torch.channels_last)
    expect(found.stride() == (60, 1, 15, 3), f"channels_last strides are {found.stride()} where (60, 1, 15, 3) is due")


def empty_apart(device: torch.device) -> None:
    first = torch.ops.aten.empty.memory_format([4], device=device)
    first.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    second = torch.ops.aten.empty.memory_format([4], device=device)
    second.copy_(torch.tensor([5.0, 6.0, 7.0, 8.0]))
    expect_bits(first, torch.tensor([1.0, 2.0, 3.0, 4.0]), "a tensor after another was made and written")


def empty_strided_strides(device: torch.device) -> None:
    found = torch.ops.aten.empty_strided([2, 3], [1, 4], dtype=torch.float32, device=device)
    expect(found.shape == (2, 3), f"the shape is {tuple(found.shape)} where (2, 3) is due")
    expect(found.stride() == (1, 4), f"the strides are {found.stride()} where (1, 4) is due")
    size = found.untyped_storage().nbytes()
    expect(size >= 40, f"the storage has {size} bytes where element (1, 2) ends at 40")
    due = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found.copy_(due)
    expect_bits(found, due, "what was written through the strides (1, 4)")


def as_strided_window(device: torch.device) -> None:
    base = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).to(device)
    found = torch.ops.aten.as_strided(base, [3, 2], [1, 2], 1)
    expect(found.storage_offset() == 1, f"the storage offset is {found.storage_offset()} where 1 is due")
    expect(found.stride() == (1, 2), f"the strides are {found.stride()} where (1, 2) is due")
    expect_bits(found, torch.tensor([[1.0, 3.0], [2.0, 4.0], [3.0, 5.0]]), "overlapping windows over 0 to 5")


def as_strided_shares(device: torch.device) -> None:
    base = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(device)
    found = torch.ops.aten.as_strided(base, [2], [2], 1)
    found.copy_(torch.tensor([10.0, 30.0]))
    expect_bits(base, torch.tensor([0.0, 10.0, 2.0, 30.0]), "the base after its view was written")


def view_shape(device: torch.device) -> None:
    base = torch.tensor([0, 1, 2, 3, 4, 5]).to(device)
    found = torch.ops.aten.view(base, [2, -1])
    expect(found.shape == (2, 3), f"view(2, -1) of 6 elements has the shape {tuple(found.shape)}")
    expect_bits(found, torch.tensor([[0, 1, 2], [3, 4, 5]]), "view(2, -1) of 0 to 5")
    found.copy_(torch.tensor([[6, 7, 8], [9, 10, 11]]))
    expect_bits(base, torch.tensor([6, 7, 8, 9, 10, 11]), "the base after its view was written")


def view_strided(device: torch.device) -> None:
    base = torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]).to(device)
    part = torch.ops.aten.as_strided(base, [2, 4], [8, 1], 0)
    found = torch.ops.aten.view(part, [2, 2, 2])
    expect(found.stride() == (8, 2, 1), f"the strides are {found.stride()} where (8, 2, 1) is due")
    expect_bits(found, torch.tensor([[[0, 1], [2, 3]], [[8, 9], [10, 11]]]), "a view of every second row")


def view_refuses(device: torch.device) -> None:
    base = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(device)
    turned = torch.ops.aten.as_strided(base, [3, 2], [1, 3], 0)
    expect_raises(lambda: torch.ops.aten.view(turned, [6]), "view(6) of a transposed tensor")
    expect_raises(lambda: torch.ops.aten.view(base, [4]), "view(4) of 6 elements")


def reshape_alias(device: torch.device) -> None:
    base = torch.tensor([0, 1, 2, 3, 4, 5]).to(device)
    found = torch.ops.aten._reshape_alias(base, [3, 2], [2, 1])  # noqa: SLF001
    expect(found.stride() == (2, 1), f"the strides are {found.stride()} where (2, 1) is due")
    expect_bits(found, torch.tensor([[0, 1], [2, 3], [4, 5]]), "the alias of 0 to 5")
    found.copy_(torch.tensor([[6, 7], [8, 9], [10, 11]]))
    expect_bits(base, torch.tensor([6, 7, 8, 9, 10, 11]), "the base after its alias was written")


def resize_grows(device: torch.device) -> None:
    tensor = torch.tensor([1.0, 2.0, 3.0]).to(device)
    found = torch.ops.aten.resize_(tensor, [2, 4])
    expect(found is tensor, "resize_ returns another tensor")
    expect(tensor.stride() == (4, 1), f"the strides are {tensor.stride()} where (4, 1) is due")
    size = tensor.untyped_storage().nbytes()
    expect(size >= 32, f"the storage has {size} bytes where 32 are due")
    kept = torch.ops.aten.as_strided(tensor, [3], [1], 0)
    expect_bits(kept, torch.tensor([1.0, 2.0, 3.0]), "what was there before the tensor grew")
    due = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    tensor.copy_(due)
    expect_bits(tensor, due, "what was written after the tensor grew")


def resize_shrinks(device: torch.device) -> None:
    tensor = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(device)
    torch.ops.aten.resize_(tensor, [2])
    expect_bits(tensor, torch.tensor([1.0, 2.0]), "a tensor after it shrank")
    torch.ops.aten.resize_(tensor, [0])
    expect(tensor.numel() == 0, f"resize_([0]) leaves {tensor.numel()} elements")


def copy_from(device: torch.device) -> None:
    if device.type != torch._C._get_privateuse1_backend_name():  # noqa: SLF001
        raise NotApplicableError(f"torch serves {device.type} without aten::_copy_from")
    due = torch.tensor([[1.0, -0.0], [float("nan"), float("inf")]])
    there = torch.ops.aten.empty.memory_format([2, 2], device=device)
    torch.ops.aten._copy_from(due, there, False)  # noqa: SLF001
    back = torch.full((2, 2), 7.0)
    torch.ops.aten._copy_from(there, back, False)  # noqa: SLF001
    expect_bits(back, due, "copied up and down")
    again = torch.full((2, 2), 7.0).to(device)
    torch.ops.aten._copy_from(there, again, False)  # noqa: SLF001
    expect_bits(again, due, "copied within the device")


def copy_from_and_resize(device: torch.device) -> None:
    if device.type != torch._C._get_privateuse1_backend_name():  # noqa: SLF001
        raise NotApplicableError(f"torch serves {device.type} without aten::_copy_from_and_resize")
    due = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    there = torch.ops.aten.empty.memory_format([0], device=device)
    torch.ops.aten._copy_from_and_resize(due, there)  # noqa: SLF001
    expect_bits(there, due, "copied into an empty tensor, which has to grow")


def local_scalar(device: torch.device, dtype: torch.dtype, due: complex) -> None:
    tensor = torch.tensor(due, dtype=dtype).to(device)
    found = torch.ops.aten._local_scalar_dense(tensor)  # noqa: SLF001
    expect(type(found) is type(due) and found == due, f"{dtype}: {found!r} where {due!r} is due")


def local_scalar_offset(device: torch.device) -> None:
    row = torch.tensor([1.0, 2.0, 3.0]).to(device)
    found = torch.ops.aten._local_scalar_dense(torch.ops.aten.as_strided(row, [], [], 2))  # noqa: SLF001
    expect(found == 3.0, f"an element with a storage offset of 2: {found!r} where 3.0 is due")


def set_tensor(device: torch.device) -> None:
    source = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(device)
    part = torch.ops.aten.as_strided(source, [2], [2], 1)
    found = torch.ops.aten.empty.memory_format([0], device=device)
    torch.ops.aten.set_.source_Tensor(found, part)
    expect(found.storage_offset() == 1, f"the storage offset is {found.storage_offset()} where 1 is due")
    expect_bits(found, torch.tensor([1.0, 3.0]), "a tensor set to another")
    found.copy_(torch.tensor([10.0, 30.0]))
    expect_bits(source, torch.tensor([0.0, 10.0, 2.0, 30.0]), "the source after the tensor was written")


def set_storage(device: torch.device) -> None:
    source = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(device)
    found = torch.ops.aten.empty.memory_format([0], device=device)
    torch.ops.aten.set_.source_Storage(found, source.untyped_storage())
    expect(found.shape == (4,), f"the shape is {tuple(found.shape)} where (4,) is due")
    expect_bits(found, torch.tensor([0.0, 1.0, 2.0, 3.0]), "a tensor set to a storage")


def set_storage_offset(device: torch.device) -> None:
    source = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).to(device)
    found = torch.ops.aten.empty.memory_format([0], device=device)
    torch.ops.aten.set_.source_Storage_storage_offset(found, source.untyped_storage(), 1, [2, 2], [3, 1])
    expect(found.storage_offset() == 1, f"the storage offset is {found.storage_offset()} where 1 is due")
    expect_bits(found, torch.tensor([[1.0, 2.0], [4.0, 5.0]]), "a tensor set to a part of a storage")


_CALLS = {
    "empty.memory_format": {"apart": empty_apart, "channels-last": empty_channels_last, "shape": empty_shape},
    "empty_strided": {"strides": empty_strided_strides},
    "as_strided": {"shares": as_strided_shares, "window": as_strided_window},
    "view": {"refuses": view_refuses, "shape": view_shape, "strided": view_strided},
    "_reshape_alias": {"alias": reshape_alias},
    "resize_": {"grows": resize_grows, "shrinks": resize_shrinks},
    "_copy_from": {"copy": copy_from},
    "_copy_from_and_resize": {"resize": copy_from_and_resize},
    "_local_scalar_dense": {"offset": local_scalar_offset},
    "set_.source_Tensor": {"shares": set_tensor},
    "set_.source_Storage": {"whole": set_storage},
    "set_.source_Storage_storage_offset": {"part": set_storage_offset},
}

#: One value per dtype that a detour through another dtype would lose.
_SCALARS = {
    "bfloat16": -0.375, "bool": True, "complex64": 1.5 - 2j, "float32": 1.0 + 2**-23, "float64": 1.0 + 2**-52,
    "int32": 2**31 - 1, "int64": 2**53 + 1, "uint8": 255,
}  # fmt: skip


def _probes(operator: str) -> Iterator[Probe]:
    yield Probe("kernel", kernel, (f"aten::{operator}",))
    for name, function in _CALLS[operator].items():
        yield Probe(name, function)
    if operator == "_local_scalar_dense":
        for dtype, value in _SCALARS.items():
            yield Probe(f"value-{dtype}", local_scalar, (getattr(torch, dtype), value), dtype)


CHECK = Area("runtime.mandatory", {operator: tuple(_probes(operator)) for operator in OPERATORS})
