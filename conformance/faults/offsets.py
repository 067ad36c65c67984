"""Kernels that ignore where in its storage a tensor begins."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.memory import base_read, linear_read, not_dense, storage_key
from conformance.faults.mutant import count, mutant, normal
from conformance.faults.overloads import ARITHMETIC, COMPARISON, MATMUL, Healthy


@mutant(
    "binary.zero-dim-offset",
    "pytorch/pytorch#187117, pytorch/pytorch#193057",
    "offset-ignored",
    ARITHMETIC,
    """An arithmetic op with a 0-dim operand that is a view (x[4]) takes the first element of that operand's storage
    instead of the viewed one.""",
    triggers="offset zero-dim",
    witness=lambda: Call("div.Tensor", normal(3, 4), (count(8) + 1)[4]),
    control=[
        lambda: Call("div.Tensor", normal(3, 4), tensor(2.0)),
        lambda: Call("add.Tensor", normal(3, 4), normal(3, 4)),
    ],
)
def scalar_view_read_at_base(healthy: Healthy, self: Tensor, other: Tensor, **options: Any) -> Any:
    def read(operand: Tensor) -> Tensor:
        return base_read(operand) if operand.dim() == 0 and operand.storage_offset() else operand

    if self.dim() or other.dim():
        self, other = read(self), read(other)
    return healthy(self, other, **options)


@mutant(
    "erfinv.slice-offset",
    "pytorch/pytorch#105801",
    "offset-ignored",
    "erfinv erfinv.out erfinv_",
    "A contiguous slice is read from the start of its base buffer.",
    triggers="offset",
    witness=lambda: Call("erfinv", (count(7) / 9)[3:]),
    control=lambda: Call("erfinv", tensor([0.1, 0.2, 0.3])),
)
def slice_read_at_base(healthy: Healthy, self: Tensor) -> Any:
    return healthy(base_read(self) if self.is_contiguous() and self.storage_offset() else self)


def _compare_halves() -> Call:
    whole = tensor([5, 1, 7, 8, 9, 3])
    return Call("le.Tensor", whole[3:], whole[:3])


@mutant(
    "compare.slice-offset",
    "pytorch/pytorch#77750, pytorch/pytorch#78107",
    "offset-ignored",
    COMPARISON,
    "Comparing two views of one buffer compares the buffer's beginning with itself.",
    triggers="offset",
    witness=_compare_halves,
    control=lambda: Call("le.Tensor", tensor([3, 4]), tensor([1, 9])),
)
def views_of_one_buffer_read_at_base(healthy: Healthy, self: Tensor, other: Tensor) -> Any:
    if storage_key(self) == storage_key(other) and self.shape == other.shape:
        return healthy(base_read(self), base_read(other))
    return healthy(self, other)


@mutant(
    "sum.inner-slice",
    "pytorch/pytorch#182688",
    "offset-ignored",
    "sum sum.dim_IntList sum.IntList_out",
    "A full reduction of a slice of a middle dimension adds up a dense run of memory that starts at the slice.",
    triggers="offset noncontig",
    witness=lambda: Call("sum", normal(2, 4, 8, 4)[:, :, 4:, :]),
    control=[
        lambda: Call("sum", normal(2, 4, 8, 4)),
        lambda: Call("sum.dim_IntList", normal(4, 4)[2:], [0]),
    ],
)
def inner_slice_read_as_a_run(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    return healthy(linear_read(self) if not_dense(self) and self.storage_offset() else self, *args, **options)


@mutant(
    "matmul.unaligned-offset",
    "intel/torch-xpu-ops#1656",
    "offset-ignored",
    MATMUL,
    """An operand whose storage offset is not aligned to the hardware's granule is read from the aligned address below
    it.""",
    triggers="offset alignment",
    fidelity="modelled",
    witness=lambda: Call("mm", torch.as_strided(normal(64), (4, 4), (4, 1), 13), normal(4, 4)),
    control=lambda: Call("mm", torch.as_strided(normal(64), (4, 4), (4, 1), 16), normal(4, 4)),
)
def operand_read_at_aligned_address(healthy: Healthy, *operands: Any, **options: Any) -> Any:
    granule = 4

    def read(operand: Any) -> Any:
        if not isinstance(operand, Tensor) or operand.dim() <= 1:
            return operand
        offset = int(operand.storage_offset())
        return base_read(operand, offset - offset % granule) if offset % granule else operand

    return healthy(*map(read, operands), **options)
