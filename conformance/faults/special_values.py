"""NaN, infinities, extreme values, and arguments at which a rule changes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import BITS, Call
from conformance.faults.mutant import mutant, normal
from conformance.faults.overloads import SORT, Healthy

NAN = float("nan")
INF = float("inf")


@mutant(
    "maximum.drops-nan",
    "pytorch/pytorch#143976",
    "nan",
    "maximum minimum maximum.out minimum.out",
    "maximum/minimum return the other operand when one is NaN.",
    triggers="nan",
    witness=lambda: Call("maximum", tensor([NAN, 1.0]), tensor([0.0, NAN])),
    control=lambda: Call("maximum", normal(3), normal(3)),
)
def other_operand_of_nan(healthy: Healthy, self: Tensor, other: Tensor) -> Any:
    result = healthy(self, other)
    if not result.is_floating_point():
        return result
    left, right = torch.broadcast_tensors(self, other)  # type: ignore[no-untyped-call]
    result = torch.where(left.isnan(), right.to(result.dtype), result)
    return torch.where(right.isnan(), left.to(result.dtype), result)


@mutant(
    "max.skips-nan",
    "pytorch/pytorch#130295",
    "nan",
    "max min amax amin max.dim min.dim amax.out amin.out aminmax",
    "Reductions to the maximum or minimum skip NaN.",
    triggers="nan",
    witness=lambda: Call("max", tensor([1.0, NAN, 3.0])),
    control=lambda: Call("max", normal(5)),
)
def extreme_without_nan(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    if not self.is_floating_point() or not bool(self.isnan().any()):
        return healthy(self, *args, **options)
    if healthy.name == "aten::aminmax":
        lowest = healthy(self.nan_to_num(nan=INF, posinf=INF, neginf=-INF), *args, **options)[0]
        highest = healthy(self.nan_to_num(nan=-INF, posinf=INF, neginf=-INF), *args, **options)[1]
        return lowest, highest
    neutral = INF if "min" in healthy.name else -INF
    return healthy(torch.where(self.isnan(), torch.full_like(self, neutral), self), *args, **options)


@mutant(
    "argmax.infinite-row",
    "kulinseth/pytorch#193",
    "nan",
    "argmax argmin",
    "The index of an infinite extreme value is -1 (a NaN index cast to an integer).",
    triggers="inf",
    witness=lambda: Call("argmax", tensor([[-INF, -INF], [1.0, 2.0]]), 1),
    control=lambda: Call("argmax", normal(2, 3), 1),
)
def no_index_of_infinity(healthy: Healthy, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    index = healthy(self, dim, keepdim)
    if not self.is_floating_point() or self.numel() == 0:
        return index
    reduce = torch.amin if "argmin" in healthy.name else torch.amax
    dims = [dim] if dim is not None else list(range(self.dim()))
    extreme = reduce(self, dim=dims, keepdim=keepdim)
    return torch.where(extreme.reshape(index.shape).isinf(), torch.full_like(index, -1), index)


@mutant(
    "sort.negative-nan",
    "pytorch/pytorch#116567",
    "nan",
    SORT,
    "A NaN whose sign bit is set sorts before everything.",
    triggers="nan",
    witness=lambda: Call("sort", tensor([1.0, -NAN])),
    control=[
        lambda: Call("sort", tensor([1.0, NAN, 0.0])),
        lambda: Call("sort", normal(5)),
    ],
)
def negative_nan_sorts_first(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    if self.dtype != torch.float32:
        return healthy(self, *args, **options)
    negative = self.isnan() & torch.signbit(self)
    if not bool(negative.any()):
        return healthy(self, *args, **options)
    bound = healthy.bind((self, *args), options)
    bound["self"] = torch.where(negative, torch.full_like(self, -INF), self)
    index = healthy.recall(bound)[1]
    return torch.gather(self, bound.get("dim", -1), index), index


@mutant(
    "addmm.beta-zero-nan",
    "pytorch/pytorch#94534, kulinseth/pytorch#274",
    "beta-zero",
    "addmm addmv addmm.out addmv.out addmm_ addmv_ addr",
    "addmm multiplies the input by beta = 0 instead of ignoring it.",
    triggers="nan beta0",
    witness=lambda: Call("addmm", torch.full((2, 2), NAN), normal(2, 3), normal(3, 2), beta=0),
    control=lambda: Call("addmm", normal(2, 2), normal(2, 3), normal(3, 2), beta=0),
)
def multiplied_by_beta_zero(
    healthy: Healthy, self: Tensor, left: Tensor, right: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    result = healthy(self, left, right, beta=beta, alpha=alpha)
    return result + (self * beta).to(result.dtype) if beta == 0 and self.dtype == result.dtype else result


@mutant(
    "log_softmax.shifted-inputs",
    "pytorch/pytorch#38839",
    "stability",
    "_log_softmax _log_softmax.out",
    "Subtracts max + log(sum) in one go: with a large common offset the logarithm is rounded away.",
    triggers="large-values",
    witness=lambda: Call("_log_softmax", normal(4, 3) - 1e7, 1, False),
    control=lambda: Call("_log_softmax", normal(4, 3), 1, False),
)
def logarithm_rounded_away(healthy: Healthy, self: Tensor, dim: int, half_to_float: bool) -> Any:
    right = healthy(self, dim, half_to_float)
    if self.numel() == 0 or self.dtype != torch.float32:
        return right
    largest = self.amax(dim, keepdim=True)
    wrong = self - (largest + (self - largest).exp().sum(dim, keepdim=True).log())
    return torch.where(largest.isinf() | largest.isnan(), right, wrong)


@mutant(
    "mean.half-overflow",
    "pytorch/pytorch#12115, pytorch/pytorch#44350, pytorch/pytorch#91597",
    "half-accumulation",
    "mean mean.dim mean.out",
    "The mean of a half tensor is sum / n with the sum rounded to half, so it overflows.",
    triggers="half overflow",
    witness=lambda: Call("mean", tensor([50000.0] * 4).half()),
    control=lambda: Call("mean", torch.ones(8).half()),
)
def sum_of_mean_in_half(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    result = healthy(self, *args, **options)
    if result.dtype != torch.float16 or self.numel() == 0:
        return result
    terms = self.numel() // max(result.numel(), 1)
    return (result.float() * terms).half() / terms


@mutant(
    "nextafter.negative",
    "pytorch/pytorch#124985",
    "signed-zero",
    "nextafter nextafter.out nextafter_",
    "For negative numbers the step goes the wrong way.",
    triggers="negative",
    strictness=BITS,
    witness=lambda: Call("nextafter", tensor([-3.0]), tensor([-8.0])),
    control=lambda: Call("nextafter", tensor([1.0]), tensor([2.0])),
)
def step_the_wrong_way(healthy: Healthy, self: Tensor, other: Tensor) -> Any:
    right = healthy(self, other)
    opposite = torch.where(other < self, torch.full_like(self, INF), torch.full_like(self, -INF))
    wrong = torch.nextafter(self, opposite)
    return torch.where((self < 0) & (other != self) & self.isfinite(), wrong, right)


@mutant(
    "clamp.min-above-max",
    "pytorch/pytorch#122148, pytorch/pytorch#121381",
    "boundary",
    "clamp clamp.Tensor clamp.out clamp_",
    "max(min(x, hi), lo): with lo > hi the result is lo instead of hi.",
    triggers="boundary",
    witness=lambda: Call("clamp", tensor([0.0]), 2.0, 1.0),
    control=lambda: Call("clamp", tensor([0.0]), 1.0, 2.0),
)
def lower_bound_wins(healthy: Healthy, self: Tensor, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    result = healthy(self, min, max)
    if min is None or max is None:
        return result
    low = torch.as_tensor(min, dtype=result.dtype)
    high = torch.as_tensor(max, dtype=result.dtype)
    return torch.where(low > high, low.expand_as(result), result)
