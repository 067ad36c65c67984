"""Integer arithmetic that goes through floats, rounds the other way or overflows otherwise."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import mutant
from conformance.faults.overloads import Healthy


@mutant(
    "remainder.int-through-float",
    "pytorch/pytorch#154171, pytorch/pytorch#154280",
    "int-precision",
    "remainder.Tensor remainder.Scalar remainder.Tensor_out fmod.Tensor fmod.Scalar",
    "Integer remainder goes through float32.",
    triggers="large-int",
    witness=lambda: Call("remainder.Scalar", tensor([(1 << 25) + 1, 12]), 7),
    control=lambda: Call("remainder.Scalar", tensor([17, 18]), 5),
)
def remainder_through_float(healthy: Healthy, self: Tensor, other: Any) -> Any:
    right = healthy(self, other)
    if right.dtype not in (torch.int32, torch.int64):
        return right
    dividend = self.float()
    divisor = other.float() if isinstance(other, Tensor) else float(other)
    quotient = torch.div(dividend, divisor)
    quotient = quotient.trunc() if "fmod" in healthy.name else quotient.floor()
    wrong = dividend - quotient * divisor
    inexact = self.abs() > 2**24
    return torch.where(inexact & wrong.isfinite(), wrong.to(right.dtype), right)


@mutant(
    "floor_divide.reciprocal",
    "kulinseth/pytorch#243",
    "int-precision",
    "floor_divide floor_divide.out floor_divide_.Tensor div.Tensor_mode",
    "int32 floor division multiplies by a float32 reciprocal: -616 // 28 becomes -23.",
    triggers="int division",
    witness=lambda: Call("floor_divide", tensor([-57 * 7], dtype=torch.int32), tensor([7], dtype=torch.int32)),
    control=lambda: Call("floor_divide", tensor([-7], dtype=torch.int32), tensor([2], dtype=torch.int32)),
)
def divided_by_reciprocal(healthy: Healthy, self: Tensor, other: Any, **options: Any) -> Any:
    right = healthy(self, other, **options)
    if right.dtype not in (torch.int32, torch.int16) or options.get("rounding_mode", "floor") != "floor":
        return right
    divisor = other.float() if isinstance(other, Tensor) else tensor(float(other))
    quotient = (self.float() * (1 / divisor)).floor()
    return torch.where(quotient.isfinite(), quotient, right.float()).to(right.dtype)


@mutant(
    "remainder.truncates",
    "tenstorrent/tt-metal#12835, pytorch/pytorch#1164",
    "division",
    "remainder.Tensor remainder.Scalar remainder.Tensor_out remainder_.Tensor remainder_.Scalar",
    "With operands of different signs remainder takes the sign of the dividend.",
    triggers="negative division",
    fidelity="modelled",
    witness=lambda: Call("remainder.Tensor", tensor([-7, 7]), tensor([3, -3])),
    control=lambda: Call("remainder.Tensor", tensor([7]), tensor([3])),
)
def sign_of_dividend(healthy: Healthy, self: Tensor, other: Any) -> Any:
    result = healthy(self, other)
    return torch.fmod(self, other).to(result.dtype)


@mutant(
    "lshift.scalar-swapped",
    "pytorch/pytorch#147889",
    "int-precision",
    "bitwise_left_shift.Scalar_Tensor bitwise_left_shift.Tensor",
    "1 << t computes t << 1.",
    triggers="scalar-first",
    witness=lambda: Call("bitwise_left_shift.Scalar_Tensor", 3, tensor([2, 4, 1])),
    control=lambda: Call("bitwise_left_shift.Tensor", tensor([1, 2, 3]), tensor([1, 2, 3])),
)
def shift_swapped(healthy: Healthy, self: Any, other: Tensor) -> Any:
    result = healthy(self, other)
    if not isinstance(self, Tensor) or (self.dim() == 0 and other.dim()):
        return torch.bitwise_left_shift(other, self).to(result.dtype)
    return result


@mutant(
    "sum.uint8-saturates",
    "pytorch/pytorch#179415",
    "int-overflow",
    "sum sum.dim_IntList sum.IntList_out",
    "sum(dtype=uint8) saturates at 255 instead of wrapping.",
    triggers="uint8 overflow dtype-arg",
    witness=lambda: Call("sum", tensor([200, 100], dtype=torch.uint8), dtype=torch.uint8),
    control=lambda: Call("sum", tensor([5, 2], dtype=torch.uint8)),
)
def sum_saturates(healthy: Healthy, self: Tensor, *args: Any, dtype: torch.dtype | None = None, **options: Any) -> Any:
    result = healthy(self, *args, dtype=dtype, **options)
    if result.dtype != torch.uint8:
        return result
    return healthy(self, *args, dtype=torch.int64, **options).clamp(max=255).to(torch.uint8)
