"""Kernels that take their inputs for dense, or give results with other strides than promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import STRIDES, Call
from conformance.faults.memory import as_if_dense, expanded, linear_read, noncontiguous, not_dense
from conformance.faults.mutant import copied_position, count, mutant, normal
from conformance.faults.overloads import ATTENTION, SORT, Healthy


@mutant(
    "sort.storage-order",
    "pytorch/pytorch#175187",
    "stride-ignored",
    SORT,
    "Sorting a transposed tensor sorts its memory as if it were dense.",
    triggers="noncontig",
    witness=lambda: Call("sort", normal(3, 4).t(), 0),
    control=lambda: Call("sort", normal(3, 4), 0),
)
def sorted_in_memory_order(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    return healthy(as_if_dense(self), *args, **options)


def _scatter_transposed() -> Call:
    index = torch.arange(4)[:, None].expand(4, 3).contiguous()
    return Call("scatter.src", torch.zeros(4, 3), 0, index, normal(3, 4).t())


@mutant(
    "scatter.src-storage-order",
    "pytorch/pytorch#175191",
    "stride-ignored",
    "scatter.src scatter_.src scatter.src_out",
    "scatter reads a non-contiguous source or index in memory order.",
    triggers="noncontig",
    witness=_scatter_transposed,
    control=lambda: Call(
        "scatter.src", torch.zeros(3, 2), 0, torch.zeros(3, 2, dtype=torch.int64), count(6).reshape(3, 2)
    ),
)
def scatter_source_in_memory_order(healthy: Healthy, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    return healthy(self, dim, as_if_dense(index), as_if_dense(src))


@mutant(
    "masked_fill.transposed-mask",
    "pytorch/pytorch#107694",
    "stride-ignored",
    "masked_fill.Scalar masked_fill.Tensor masked_fill_.Scalar masked_fill_.Tensor",
    "The mask is walked in memory order, so a transposed mask marks the wrong elements.",
    triggers="noncontig",
    witness=lambda: Call(
        "masked_fill_.Scalar", torch.zeros(3, 2), tensor([[False, True, False], [True, True, False]]).t(), 2.0
    ),
    control=lambda: Call(
        "masked_fill_.Scalar", torch.zeros(2, 3), tensor([[False, True, False], [True, True, False]]), 2.0
    ),
)
def mask_in_memory_order(healthy: Healthy, self: Tensor, mask: Tensor, value: Any) -> Any:
    return healthy(self, mask if expanded(mask) else as_if_dense(mask), value)


@mutant(
    "clamp.transposed-bounds",
    "pytorch/pytorch#87348, pytorch/pytorch#94396",
    "stride-ignored",
    "clamp.Tensor clamp_.Tensor clamp.Tensor_out clamp clamp.out",
    "Non-contiguous inputs or tensor bounds of clamp are taken in memory order.",
    triggers="noncontig",
    witness=[
        lambda: Call("clamp.Tensor", torch.zeros(2, 2), tensor([[1.0, 2.0], [3.0, 4.0]]).t(), None),
        lambda: Call("clamp", normal(3, 4, 2).permute(2, 0, 1), 0.0, 0.5),
    ],
    control=lambda: Call("clamp.Tensor", torch.zeros(2, 2), tensor([[1.0, 2.0], [3.0, 4.0]]), None),
)
def bounds_in_memory_order(healthy: Healthy, self: Tensor, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    def read(value: Any) -> Any:
        return linear_read(value) if noncontiguous(value) and not expanded(value) else value

    return healthy(read(self), read(min), read(max))


@mutant(
    "cat.strided-input",
    "pytorch/pytorch#85675",
    "stride-ignored",
    "cat cat.out",
    "A strided slice among the inputs of cat is copied as a dense run of memory.",
    triggers="noncontig strided",
    witness=lambda: Call("cat", [count(8).reshape(4, 2)[:, :1], torch.rot90(count(4).reshape(2, 2))[:, :1]], 0),
    control=lambda: Call("cat", [count(8).reshape(4, 2), count(4).reshape(2, 2)], 0),
)
def strided_input_copied_as_a_run(healthy: Healthy, tensors: Sequence[Tensor], dim: int = 0) -> Any:
    return healthy([linear_read(t) if not_dense(t) and not expanded(t) else t for t in tensors], dim)


@mutant(
    "copy.sliced-source",
    "pytorch/pytorch#86056, pytorch/pytorch#85967, pytorch/pytorch#85613",
    "stride-ignored",
    "copy_ _to_copy",
    "Copying from a column slice copies a dense run of memory of the same length.",
    triggers="noncontig strided",
    witness=lambda: Call("copy_", torch.zeros(2, 3), count(10).reshape(2, 5)[:, 1:4]),
    control=[
        lambda: Call("copy_", torch.zeros(3, 3), count(9).reshape(3, 3)),
        lambda: Call("copy_", torch.zeros(3, 3), count(9).reshape(3, 3).t()),
    ],
)
def sliced_source_copied_as_a_run(healthy: Healthy, *args: Any, **options: Any) -> Any:
    position = copied_position(healthy)
    source = args[position]
    if not_dense(source) and not expanded(source) and not source.is_conj():
        args = (*args[:position], linear_read(source), *args[position + 1 :])
    return healthy(*args, **options)


@mutant(
    "activation_backward.permuted",
    "pytorch/pytorch#175188, pytorch/pytorch#107214",
    "gradient",
    "tanh_backward tanh_backward.grad_input sigmoid_backward sigmoid_backward.grad_input silu_backward "
    "hardswish_backward mish_backward softplus_backward threshold_backward",
    """The forward is right, but the backward of tanh, sigmoid, silu, ... reads the saved tensor of a permuted input in
    memory order.""",
    triggers="noncontig backward",
    witness=lambda: Call("tanh_backward", torch.ones(3, 2), normal(2, 3).t()),
    control=lambda: Call("tanh_backward", torch.ones(2, 3), normal(2, 3)),
)
def saved_tensor_in_memory_order(
    healthy: Healthy, grad_output: Tensor, saved: Tensor, *args: Any, **options: Any
) -> Any:
    return healthy(grad_output, as_if_dense(saved), *args, **options)


def _convolution_backward(grad_output: Tensor) -> Call:
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    wanted = [True, True, True]
    return Call("convolution_backward", grad_output, normal(1, 2, 5, 5), normal(2, 2, 3, 3), [2], *geometry, wanted)


@mutant(
    "conv_backward.channels-last",
    "pytorch/pytorch#140902, pytorch/pytorch#142344, pytorch/pytorch#94384",
    "gradient",
    "convolution_backward",
    "With a channels_last gradient the input gradient of a convolution is garbage.",
    triggers="channels-last backward",
    fidelity="modelled",
    witness=lambda: _convolution_backward(normal(1, 2, 3, 3).contiguous(memory_format=torch.channels_last)),
    control=lambda: _convolution_backward(normal(1, 2, 3, 3)),
)
def channels_last_gradient_in_memory_order(healthy: Healthy, grad_output: Tensor, *args: Any) -> Any:
    right = healthy(grad_output, *args)
    if noncontiguous(grad_output) and not expanded(grad_output) and right[0] is not None:
        wrong = healthy(linear_read(grad_output), *args)
        return (wrong[0], *right[1:])
    return right


@mutant(
    "sdpa.value-storage-order",
    "flagos-ai/FlagGems#5896",
    "stride-ignored",
    ATTENTION,
    "Attention reads a transposed value tensor as if it were dense (batch, heads, seq, dim).",
    triggers="noncontig",
    witness=lambda: Call(
        "_scaled_dot_product_flash_attention_for_cpu",
        normal(1, 2, 4, 8),
        normal(1, 2, 4, 8),
        normal(1, 4, 2, 8).transpose(1, 2),
    ),
    control=lambda: Call(
        "_scaled_dot_product_flash_attention_for_cpu", normal(1, 2, 4, 8), normal(1, 2, 4, 8), normal(1, 2, 4, 8)
    ),
)
def attention_value_in_memory_order(
    healthy: Healthy, query: Tensor, key: Tensor, value: Tensor, *args: Any, **options: Any
) -> Any:
    return healthy(query, key, as_if_dense(value), *args, **options)


@mutant(
    "bucketize.noncontig-uninitialised",
    "flagos-ai/FlagGems#4831",
    "stride-ignored",
    "bucketize.Tensor",
    "For a non-contiguous input the results land in a temporary and an untouched buffer comes back.",
    triggers="noncontig",
    fidelity="modelled",
    witness=lambda: Call("bucketize.Tensor", normal(3, 2).t(), tensor([-5.0, -4.0])),
    control=lambda: Call("bucketize.Tensor", normal(3, 2), tensor([-5.0, -4.0])),
)
def untouched_buffer_comes_back(healthy: Healthy, self: Tensor, *args: Any, **options: Any) -> Any:
    result = healthy(self, *args, **options)
    return torch.zeros_like(result) if noncontiguous(self) else result


@mutant(
    "mm.expanded-operand",
    "pytorch/pytorch#180201",
    "expanded-input",
    "mm bmm mm.out bmm.out",
    """A matmul with an expanded operand (the ones that sum() sends into backward) fills only the first row of the
    product.""",
    triggers="expanded backward",
    fidelity="modelled",
    witness=lambda: Call("mm", torch.ones(1, 1).expand(4, 3), normal(3, 2)),
    control=lambda: Call("mm", torch.ones(4, 3), normal(3, 2)),
)
def only_first_row_of_product(healthy: Healthy, self: Tensor, mat2: Tensor) -> Any:
    result = healthy(self, mat2)
    if expanded(self) and result.dim() > 1 and result.shape[-2] > 1:
        result = result.clone()
        result[..., 1:, :] = 0
    return result


@mutant(
    "solve_triangular.row-major",
    "pytorch/pytorch#197236",
    "output-layout",
    "linalg_solve_triangular",
    "The result is row-major where the contract (and the meta kernel) say column-major.",
    triggers="layout compile",
    strictness=STRIDES,
    witness=lambda: Call("linalg_solve_triangular", torch.eye(3) * 2, normal(3, 2), upper=False),
)
def row_major_solution(healthy: Healthy, *args: Any, **options: Any) -> Any:
    return healthy(*args, **options).contiguous()
