"""Dimensions that are counted, reduced or broadcast wrongly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import mutant, normal, with_first
from conformance.faults.overloads import ARITHMETIC, Healthy


@mutant(
    "std.negative-dim",
    "pytorch/pytorch#107116",
    "dim-handling",
    "std.correction var.correction std.correction_out var.correction_out",
    "Every negative dim reduces the last dimension.",
    triggers="negative-dim",
    witness=lambda: Call("std.correction", normal(2, 3, 4), [-2]),
    control=lambda: Call("std.correction", normal(2, 3, 4), [1]),
)
def negative_dim_is_last(healthy: Healthy, self: Tensor, dim: Sequence[int] | None = None, **options: Any) -> Any:
    return healthy(self, [-1] if dim and any(d < 0 for d in dim) else dim, **options)


@mutant(
    "sum.negative-dim-5d",
    "pytorch/pytorch#132732",
    "dim-handling",
    "sum.dim_IntList sum.IntList_out",
    "A negative dim of a tensor with five or more dims is wrapped as if it had four.",
    triggers="negative-dim high-rank",
    witness=lambda: Call("sum.dim_IntList", normal(1, 3, 1, 1, 2), [-3]),
    control=[
        lambda: Call("sum.dim_IntList", normal(1, 2, 1, 1, 1), [2]),
        lambda: Call("sum.dim_IntList", normal(2, 3, 4), [-1]),
    ],
)
def negative_dim_wrapped_at_four(
    healthy: Healthy, self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, **options: Any
) -> Any:
    right = healthy(self, dim, keepdim, **options)
    if not dim or self.dim() < 5 or all(d >= 0 for d in dim):
        return right
    wrapped = sorted({(d + 4) % self.dim() if d < 0 else d for d in dim})
    wrong = healthy(self, wrapped, keepdim, **options)
    result = torch.zeros_like(right)
    stored = min(result.numel(), wrong.numel())
    result.view(-1)[:stored] = wrong.reshape(-1)[:stored]
    return result


@mutant(
    "cumsum.negative-dim",
    "pytorch/pytorch#92329, pytorch/pytorch#94530",
    "dim-handling",
    "cumsum cumprod cumsum.out cumprod.out cumsum_ cumprod_",
    "A negative dim is not wrapped and scans the first dimension.",
    triggers="negative-dim",
    fidelity="modelled",
    witness=lambda: Call("cumsum", normal(2, 3), -1),
    control=lambda: Call("cumsum", normal(2, 3), 1),
)
def negative_dim_is_first(healthy: Healthy, self: Tensor, dim: int, **options: Any) -> Any:
    return healthy(self, 0 if dim < 0 and self.dim() > 1 else dim, **options)


@mutant(
    "reduce.zero-dim-input",
    "pytorch/pytorch#160738",
    "dim-handling",
    "var.correction std.correction",
    "dim=0 on a 0-dim tensor is refused.",
    triggers="zero-dim spurious-error",
    witness=lambda: Call("var.correction", tensor(3.0), [0]),
    control=lambda: Call("var.correction", normal(3), [0]),
)
def dim_of_scalar_refused(healthy: Healthy, self: Tensor, dim: Sequence[int] | None = None, **options: Any) -> Any:
    if self.dim() == 0 and dim:
        raise RuntimeError("no such dim")
    return healthy(self, dim, **options)


@mutant(
    "binary.two-way-broadcast",
    "tenstorrent/pytorch2.0_ttnn#64, tenstorrent/tt-metal#14710",
    "broadcast",
    ARITHMETIC + " maximum minimum pow.Tensor_Tensor",
    "When both operands must be broadcast, (n, 1) with (1, n), only the first row is right.",
    triggers="broadcast",
    fidelity="modelled",
    witness=lambda: Call("add.Tensor", normal(4, 1), normal(1, 4)),
    control=[
        lambda: Call("add.Tensor", normal(4, 4), normal(1, 4)),
        lambda: Call("add.Tensor", normal(4, 1), normal(4, 4)),
    ],
)
def only_first_row_of_broadcast(healthy: Healthy, self: Tensor, other: Tensor, **options: Any) -> Any:
    result = healthy(self, other, **options)
    both_grow = result.shape not in (self.shape, other.shape)
    if self.dim() > 1 and other.dim() > 1 and both_grow and result.shape[-2] > 1:
        result = result.clone()
        result[..., 1:, :] = 0
    return result


@mutant(
    "solve.broadcast-rhs",
    "pytorch/pytorch#189134",
    "linalg",
    "_linalg_solve_ex",
    "A right-hand side that is broadcast over the batch is solved for the first matrix only.",
    triggers="broadcast",
    witness=lambda: Call("_linalg_solve_ex", torch.eye(3).expand(2, 3, 3) * 2, normal(3, 1)),
    control=lambda: Call("_linalg_solve_ex", torch.eye(3).expand(2, 3, 3) * 2, normal(2, 3, 1)),
)
def only_first_system_solved(healthy: Healthy, A: Tensor, B: Tensor, **options: Any) -> Any:  # noqa: N803 - the schema's
    results = healthy(A, B, **options)
    solution = results[0]
    if A.dim() > 2 and B.dim() < A.dim() and solution.numel():
        rows = solution.clone().contiguous().view(math.prod(A.shape[:-2]), -1)
        rows[1:] = 0
        solution = rows.view(solution.shape)
    return with_first(results, solution)


@mutant(
    "dot.elementwise",
    "tenstorrent/tt-xla#2672",
    "result-shape",
    "dot vdot",
    "dot gives the elementwise products, not their sum.",
    witness=lambda: Call("dot", tensor([1.0, 2.0, 3.0]), tensor([4.0, 5.0, 6.0])),
)
def dot_without_sum(_healthy: Healthy, self: Tensor, other: Tensor) -> Any:
    return self * other
