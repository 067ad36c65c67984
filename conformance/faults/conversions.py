"""What a kernel makes of a dtype: conversions, promotion, uint8, bool and complex."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.memory import unconjugated
from conformance.faults.mutant import copied_position, mutant, normal
from conformance.faults.overloads import Healthy


@mutant(
    "cast.uint8-signed",
    "pytorch/pytorch#80009",
    "cast",
    "_to_copy copy_",
    "uint8 to float32 reads the bytes as signed.",
    triggers="uint8",
    witness=lambda: Call("_to_copy", tensor([5, 250], dtype=torch.uint8), dtype=torch.float32),
    control=lambda: Call("_to_copy", tensor([5, 100], dtype=torch.uint8), dtype=torch.float32),
)
def bytes_read_as_signed(healthy: Healthy, *args: Any, **options: Any) -> Any:
    result = healthy(*args, **options)
    source = args[copied_position(healthy)]
    if source.dtype != torch.uint8 or result.dtype != torch.float32:
        return result
    return torch.where(result > 127, result - 256, result)


@mutant(
    "cast.bits",
    "pytorch/pytorch#78091, pytorch/pytorch#77849",
    "cast",
    "_to_copy copy_",
    "float32 to int32 reinterprets the bits.",
    triggers="float-to-int",
    witness=lambda: Call("_to_copy", tensor([7.5]), dtype=torch.int32),
    control=lambda: Call("_to_copy", tensor([7.5]), dtype=torch.float64),
)
def bits_relabelled(healthy: Healthy, *args: Any, **options: Any) -> Any:
    result = healthy(*args, **options)
    source = args[copied_position(healthy)]
    if source.dtype != torch.float32 or result.dtype != torch.int32 or source.shape != result.shape:
        return result
    return source.contiguous().view(torch.int32).reshape(result.shape).clone()


@mutant(
    "clamp.int-float-bound",
    "pytorch/pytorch#130201, pytorch/pytorch#133100",
    "promotion",
    "clamp clamp_min clamp_max",
    "A float bound on an integer tensor is truncated and the result stays integral.",
    triggers="promotion scalar",
    witness=lambda: Call("clamp", tensor([0, 3]), 0.25),
    control=lambda: Call("clamp", tensor([0, 5]), 1),
)
def float_bound_truncated(healthy: Healthy, self: Tensor, *bounds: Any, **named: Any) -> Any:
    def truncate(bound: Any) -> Any:
        is_float = isinstance(bound, float) and math.isfinite(bound)
        return int(bound) if is_float and not self.is_floating_point() else bound

    return healthy(self, *map(truncate, bounds), **{name: truncate(bound) for name, bound in named.items()})


@mutant(
    "arange.untruncated-end",
    "intel/torch-xpu-ops#4364, intel/torch-xpu-ops#4362",
    "range",
    "arange arange.start arange.start_step",
    "The length of an int64 arange is computed before its fractional end is truncated.",
    triggers="promotion boundary",
    fidelity="modelled",
    witness=lambda: Call("arange", 2.5, dtype=torch.int64),
    control=[
        lambda: Call("arange", 3, dtype=torch.int64),
        lambda: Call("arange", 2.5),
    ],
)
def length_before_truncation(healthy: Healthy, *args: Any, **options: Any) -> Any:
    result = healthy(*args, **options)
    start, end = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else 1
    if result.dtype != torch.int64 or all(float(value).is_integer() for value in (start, end, step)):
        return result
    length = max(0, math.ceil((end - start) / step))
    return int(start) + torch.arange(length) * int(step) if int(step) else result


@mutant(
    "full.uint8-above-127",
    "pytorch/pytorch#83692",
    "bool-uint8",
    "full full.out full_like fill_.Scalar",
    "Filling uint8 with a value above 127 gives 0.",
    triggers="uint8",
    witness=[
        lambda: Call("full", [3], 200, dtype=torch.uint8),
        lambda: Call("fill_.Scalar", torch.zeros(3, dtype=torch.uint8), 200),
    ],
    control=lambda: Call("full", [3], 100, dtype=torch.uint8),
)
def large_byte_becomes_zero(healthy: Healthy, *args: Any, **options: Any) -> Any:
    result = healthy(*args, **options)
    return torch.where(result > 127, torch.zeros_like(result), result) if result.dtype == torch.uint8 else result


@mutant(
    "all.always-true",
    "pytorch/pytorch#99721",
    "bool-uint8",
    "all all.out",
    "all() of a boolean tensor is True whatever it holds.",
    triggers="bool",
    witness=lambda: Call("all", tensor([True, False, False])),
    control=lambda: Call("all", tensor([True])),
)
def all_is_true(healthy: Healthy, self: Tensor) -> Any:
    result = healthy(self)
    return torch.ones_like(result) if self.dtype == torch.bool else result


@mutant(
    "stack.bool-false",
    "pytorch/pytorch#80850",
    "bool-uint8",
    "stack cat cat.out",
    "Joining boolean tensors gives all False.",
    triggers="bool",
    witness=lambda: Call("stack", [tensor([True, False]), tensor([False, True])]),
    control=lambda: Call("stack", [tensor([1]), tensor([1])]),
)
def joined_bools_are_false(healthy: Healthy, tensors: Sequence[Tensor], dim: int = 0) -> Any:
    result = healthy(tensors, dim)
    all_bool = result.dtype == torch.bool and all(joined.dtype == torch.bool for joined in tensors)
    return torch.zeros_like(result) if all_bool else result


@mutant(
    "matmul.conj-ignored",
    "pytorch/pytorch#148156, pytorch/pytorch#148599, pytorch/pytorch#177474",
    "complex",
    "mm bmm addmm baddbmm dot mv",
    "A lazily conjugated operand is multiplied unconjugated.",
    triggers="conj",
    witness=lambda: Call("mm", tensor([[1 + 2j]]), tensor([[3 - 1j]]).conj()),
    control=lambda: Call("mm", tensor([[1j]]), tensor([[1 + 2j]])),
)
def conjugation_ignored(healthy: Healthy, *operands: Any, **options: Any) -> Any:
    read = [unconjugated(operand) if isinstance(operand, Tensor) else operand for operand in operands]
    return healthy(*read, **options)


@mutant(
    "abs.complex-interleaved",
    "pytorch/pytorch#125135, pytorch/pytorch#126643",
    "complex",
    "abs abs.out",
    "Magnitudes of a complex tensor are written two apart, with zeros between.",
    triggers="complex",
    witness=lambda: Call("abs", tensor([3 + 4j, 2j, 1 + 0j])),
    control=lambda: Call("abs", normal(3)),
)
def magnitudes_two_apart(healthy: Healthy, self: Tensor) -> Any:
    right = healthy(self)
    if not self.is_complex() or right.numel() < 2:
        return right
    wrong = torch.zeros_like(right, memory_format=torch.contiguous_format).reshape(-1)
    places = wrong[::2]
    places.copy_(right.reshape(-1)[: places.numel()])
    return wrong.reshape(right.shape)
