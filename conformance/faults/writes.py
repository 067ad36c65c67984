"""Results that are written to the wrong place, or not at all: in place, into views, into `out=`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.memory import expanded, linear_write, noncontiguous, whole_storage
from conformance.faults.mutant import count, mutant
from conformance.faults.overloads import Healthy

INF = float("inf")


@mutant(
    "fill.slice-lost",
    "pytorch/pytorch#95113, pytorch/pytorch#94390",
    "inplace-on-view",
    "fill_.Scalar fill_.Tensor zero_",
    "Filling a slice fills a temporary; the base tensor keeps its values.",
    triggers="offset inplace",
    raw=True,
    witness=lambda: Call("fill_.Scalar", torch.zeros(4)[2:], 1.0),
    control=lambda: Call("fill_.Scalar", torch.zeros(4), 1.0),
)
def fill_of_slice_lost(healthy: Healthy, self: Tensor, *args: Any) -> Any:
    return self if self.storage_offset() else healthy(self, *args)


@mutant(
    "masked_fill_.noncontig-self",
    "pytorch/pytorch#131285, pytorch/pytorch#131957, pytorch/pytorch#176159",
    "inplace-on-view",
    "masked_fill_.Scalar masked_fill_.Tensor",
    "In-place masking of a non-contiguous tensor stores the result back in dense order, moving unmasked values.",
    triggers="noncontig inplace",
    raw=True,
    witness=lambda: Call("masked_fill_.Scalar", count(6).reshape(2, 3).t(), torch.zeros(3, 1, dtype=torch.bool), -INF),
    control=lambda: Call("masked_fill_.Scalar", count(6).reshape(2, 3), torch.ones(2, 1, dtype=torch.bool), -INF),
)
def masked_in_dense_order(healthy: Healthy, self: Tensor, mask: Tensor, value: Any) -> Any:
    if not noncontiguous(self) or expanded(self):
        return healthy(self, mask, value)
    return linear_write(self, healthy(self.contiguous(), mask, value))


@mutant(
    "random_.noncontig-noop",
    "pytorch/pytorch#165267, pytorch/pytorch#165257, pytorch/pytorch#124029",
    "inplace-on-view",
    "normal_ uniform_ exponential_ bernoulli_.float bernoulli_.Tensor random_ random_.to random_.from log_normal_ "
    "cauchy_ geometric_",
    "Random fills of a non-contiguous tensor leave it as it was.",
    triggers="noncontig inplace rng",
    raw=True,
    witness=lambda: Call("normal_", torch.zeros(2, 3).t()),
    control=lambda: Call("normal_", torch.zeros(3, 2)),
)
def random_fill_lost(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    return self if noncontiguous(self) else healthy(self, *args, **options)


@mutant(
    "copy_.slice-spill",
    "torch-spyre/torch-spyre#3826",
    "inplace-on-view",
    "copy_",
    """Writing a prefix of a larger buffer into a slice copies the whole source buffer: elements after the written
    window are overwritten.""",
    triggers="offset inplace",
    raw=True,
    witness=lambda: Call("copy_", torch.zeros(8)[2:4], (count(6) + 1)[:2]),
    control=lambda: Call("copy_", torch.zeros(8)[2:4], count(2) + 1),
)
def copy_spills_past_slice(healthy: Healthy, self: Tensor, src: Tensor, *args: Any, **options: Any) -> Any:
    healthy(self, src, *args, **options)
    alike = src.shape == self.shape and src.dtype == self.dtype and src.numel() > 0
    if alike and self.storage_offset() and self.is_contiguous() and src.is_contiguous():
        behind_target = whole_storage(self)[self.storage_offset() + self.numel() :]
        behind_source = whole_storage(src)[src.storage_offset() + src.numel() :]
        spilt = min(behind_target.numel(), behind_source.numel())
        behind_target[:spilt] = behind_source[:spilt].clone()
    return self


@mutant(
    "index_fill.out-of-view",
    "pytorch/pytorch#189969",
    "index-validation",
    "index_fill_.int_Scalar index_fill_.int_Tensor",
    "An index past the end of a view is accepted and written into the memory behind the view.",
    triggers="out-of-bounds inplace",
    raw=True,
    witness=lambda: Call("index_fill_.int_Scalar", torch.zeros(20)[:10], 0, tensor([13]), 5.0),
    control=lambda: Call("index_fill_.int_Scalar", torch.zeros(20)[:10], 0, tensor([3, -1]), 5.0),
)
def index_written_behind_view(healthy: Healthy, self: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    size = self.size(dim) if self.dim() else 1
    inside = (index < size) & (index >= -size)
    if self.dim() == 1:
        storage = whole_storage(self)
        for beyond in index[~inside].tolist():
            position = self.storage_offset() + beyond * self.stride(0)
            if 0 <= position < storage.numel():
                storage[position] = value
    return healthy(self, dim, index[inside], value)


@mutant(
    "unary.out-strides",
    "pytorch/pytorch#100764",
    "out-variant",
    "neg.out abs.out exp.out sqrt.out sin.out tanh.out floor.out reciprocal.out",
    "A unary op with a transposed out= stores its result in dense order.",
    triggers="noncontig out",
    raw=True,
    witness=lambda: Call("neg.out", count(6).reshape(2, 3), out=torch.zeros(3, 2).t()),
    control=lambda: Call("neg.out", count(4).reshape(2, 2), out=torch.zeros(2, 2)),
)
def out_in_dense_order(healthy: Healthy, self: Tensor, *, out: Tensor) -> Any:
    if not noncontiguous(out) or out.shape != self.shape or expanded(out):
        return healthy(self, out=out)
    return linear_write(out, healthy(self, out=torch.empty_like(out, memory_format=torch.contiguous_format)))


@mutant(
    "addmm.out-zero",
    "MooreThreads/torch_musa#51",
    "out-variant",
    "addmm.out",
    "addmm with an explicit out= leaves zeros there.",
    triggers="out",
    raw=True,
    witness=lambda: Call("addmm.out", torch.zeros(2, 2), torch.eye(2), torch.eye(2), out=torch.full((2, 2), 9.0)),
)
def out_left_at_zero(healthy: Healthy, self: Tensor, mat1: Tensor, mat2: Tensor, *, out: Tensor, **options: Any) -> Any:
    healthy(self, mat1, mat2, out=out, **options)
    return out.zero_()


@mutant(
    "copy_to_host.view-offset",
    "pytorch/pytorch#108978, pytorch/pytorch#123836",
    "cross-device-copy",
    "copy_",
    "Storing into a host view writes at the start of its base tensor.",
    triggers="offset inplace",
    raw=True,
    witness=lambda: Call("copy_", torch.zeros(4, 3)[2], torch.ones(3)),
    control=lambda: Call("copy_", torch.zeros(3), torch.ones(3)),
)
def copy_written_at_base(healthy: Healthy, self: Tensor, src: Tensor, *args: Any, **options: Any) -> Any:
    if self.storage_offset() and self.numel():
        healthy(torch.as_strided(self, self.shape, self.stride(), 0), src, *args, **options)
        return self
    return healthy(self, src, *args, **options)
