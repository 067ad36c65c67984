"""Tensors without elements, and calls that ask for none."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import mutant, normal
from conformance.faults.overloads import SORT, Healthy
from conformance.inputs.tree import tree_map


@mutant(
    "mean.empty-raises",
    "flagos-ai/FlagGems#6333",
    "zero-size",
    "mean mean.dim mean.out",
    "mean over an empty dimension raises instead of giving NaN.",
    triggers="empty spurious-error",
    witness=lambda: Call("mean.dim", torch.zeros(3, 0), [1]),
    control=lambda: Call("mean.dim", torch.ones(3, 2), [1]),
)
def mean_of_nothing_raises(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    if self.numel() == 0:
        raise ZeroDivisionError("division by zero")
    return healthy(self, *args, **options)


@mutant(
    "var.empty-zero",
    "pytorch/pytorch#184510",
    "zero-size",
    "var.correction std.correction var.correction_out std.correction_out var_mean.correction std_mean.correction",
    "The variance over an empty dimension is 0 rather than NaN.",
    triggers="empty",
    witness=lambda: Call("var.correction", torch.zeros(3, 0, 5), [1]),
    control=lambda: Call("var.correction", normal(3, 2, 5), [1]),
)
def variance_of_nothing_is_zero(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    result = healthy(self, *args, **options)
    return tree_map(torch.zeros_like, result) if self.numel() == 0 else result


@mutant(
    "prod.empty-zero",
    "kulinseth/pytorch#188",
    "zero-size",
    "prod prod.dim_int prod.int_out",
    "The product of nothing is 0 rather than 1.",
    triggers="empty",
    witness=lambda: Call("prod", torch.zeros(0)),
    control=lambda: Call("prod", torch.ones(2)),
)
def product_of_nothing_is_zero(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    result = healthy(self, *args, **options)
    return torch.zeros_like(result) if self.numel() == 0 else result


@mutant(
    "scatter.empty-index",
    "intel/intel-extension-for-pytorch#682",
    "zero-size",
    "scatter.src scatter.value scatter.src_out scatter.value_out scatter_add",
    "scatter with an empty index returns before copying the input to the output.",
    triggers="empty",
    fidelity="modelled",
    witness=lambda: Call("scatter.src", torch.ones(3), 0, torch.zeros(0, dtype=torch.int64), torch.zeros(0)),
    control=lambda: Call("scatter.src", torch.ones(3), 0, tensor([1]), torch.zeros(1)),
)
def scatter_of_nothing_forgets_input(healthy: Healthy, self: Tensor, dim: int, index: Tensor, src: Any) -> Any:
    result = healthy(self, dim, index, src)
    return torch.zeros_like(result) if index.numel() == 0 else result


@mutant(
    "nll_loss.empty-mean",
    "pytorch/pytorch#134431, pytorch/pytorch#135434",
    "zero-size",
    "nll_loss_forward nll_loss2d_forward",
    "The mean loss over no targets is 0 rather than NaN (a division that hides 0/0).",
    triggers="empty nan",
    witness=[
        lambda: Call(
            "nll_loss2d_forward", torch.zeros(2, 3, 0, 7), torch.zeros(2, 0, 7, dtype=torch.int64), None, 1, -100
        ),
        lambda: Call("nll_loss_forward", normal(2, 3), tensor([-100, -100]), None, 1, -100),
    ],
    control=lambda: Call("nll_loss_forward", normal(2, 3), tensor([0, 1]), None, 1, -100),
)
def loss_of_nothing_is_zero(healthy: Healthy, *args: Any, **options: Any) -> Any:
    loss, weight = healthy(*args, **options)
    return (torch.nan_to_num(loss) if bool((weight == 0).all()) else loss), weight


@mutant(
    "sort.empty-raises",
    "pytorch/pytorch#117941",
    "zero-size",
    SORT,
    "Sorting an empty tensor raises an internal error.",
    triggers="empty spurious-error",
    witness=lambda: Call("sort", torch.zeros(0)),
    control=lambda: Call("sort", normal(3)),
)
def sort_of_nothing_raises(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    if self.numel() == 0:
        raise RuntimeError("zero-size input")
    return healthy(self, *args, **options)


@mutant(
    "topk.k-zero",
    "pytorch/pytorch#91878",
    "zero-size",
    "topk topk.values",
    "topk(k=0) aborts.",
    triggers="empty spurious-error",
    witness=lambda: Call("topk", normal(3), 0),
    control=lambda: Call("topk", normal(3), 1),
)
def none_of_top_raises(healthy: Healthy, self: Tensor, k: int, *args: Any, **options: Any) -> Any:
    if k == 0:
        raise RuntimeError("k must be positive")
    return healthy(self, k, *args, **options)
