"""Sliding windows: pooling, interpolation, folding and convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import count, mutant, normal
from conformance.faults.overloads import CONVOLUTION, Healthy


@mutant(
    "avg_pool.ceil-window",
    "pytorch/pytorch#160743, pytorch/pytorch#161011, pytorch/pytorch#94348",
    "pooling",
    "avg_pool2d avg_pool2d.out",
    "With ceil_mode the windows that hang over the edge are divided by the whole kernel area.",
    triggers="flag boundary",
    witness=lambda: Call("avg_pool2d", normal(1, 1, 5, 5), [2, 2], [2, 2], [0, 0], True),
    control=[
        lambda: Call("avg_pool2d", normal(1, 1, 5, 5), [2, 2], [2, 2]),
        lambda: Call("avg_pool2d", count(16).reshape(1, 1, 4, 4), [2, 2], [2, 2], [0, 0], True),
    ],
)
def divided_by_whole_window(healthy: Healthy, *args: Any, **options: Any) -> Any:
    bound = healthy.bind(args, options)
    if bound.get("ceil_mode") and bound.get("count_include_pad", True) and bound.get("divisor_override") is None:
        size = bound["kernel_size"]
        sides = list(size) if isinstance(size, (list, tuple)) else [size]
        area = math.prod(sides) if len(sides) > 1 else sides[0] ** 2
        defaults = {"stride": [], "padding": [0, 0], "count_include_pad": True}
        bound = {**defaults, **bound, "divisor_override": area}
    return healthy.recall(bound)


@mutant(
    "adaptive_max_pool.non-divisible",
    "pytorch/pytorch#190064",
    "pooling",
    "adaptive_max_pool2d",
    "One fixed kernel and stride for every output cell, whether or not the sizes divide.",
    triggers="non-divisible",
    witness=lambda: Call("adaptive_max_pool2d", normal(1, 1, 8, 8), [3, 3]),
    control=lambda: Call("adaptive_max_pool2d", normal(1, 1, 6, 6), [3, 3]),
)
def same_window_for_every_cell(healthy: Healthy, self: Tensor, output_size: Sequence[int]) -> Any:
    sizes = self.shape[-2:]
    cells = output_size if len(output_size) == 2 else [*output_size, *output_size]
    pairs = list(zip(sizes, cells, strict=False))
    if all(size % cell == 0 for size, cell in pairs) or any(cell > size for size, cell in pairs):
        return healthy(self, output_size)
    strides = [size // cell for size, cell in pairs]
    window = [size - (cell - 1) * stride for (size, cell), stride in zip(pairs, strides, strict=True)]
    return torch.ops.aten.max_pool2d_with_indices(self, window, strides)


@mutant(
    "interpolate.align-corners-single",
    "pytorch/pytorch#144245",
    "interpolation",
    "upsample_linear1d upsample_linear1d.out",
    "Upsampling a single sample with align_corners gives NaN (0/0 in the scale).",
    triggers="flag boundary nan",
    witness=lambda: Call("upsample_linear1d", tensor([[[5.0]]]), [4], True),
    control=[
        lambda: Call("upsample_linear1d", normal(1, 1, 4), [7], True),
        lambda: Call("upsample_linear1d", tensor([[[1.0]]]), [3], False),
    ],
)
def scale_of_single_sample_is_nan(
    healthy: Healthy, self: Tensor, output_size: Sequence[int], align_corners: bool, *args: Any, **options: Any
) -> Any:
    result = healthy(self, output_size, align_corners, *args, **options)
    return torch.full_like(result, float("nan")) if align_corners and self.shape[-1] == 1 and result.numel() else result


@mutant(
    "fold.block-count",
    "pytorch/pytorch#170639",
    "index-validation",
    "col2im col2im.out",
    "fold accepts a number of blocks that does not fit the geometry.",
    triggers="missing-error",
    witness=lambda: Call("col2im", normal(1, 4, 7), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
    control=lambda: Call("col2im", normal(1, 4, 6), [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
)
def surplus_blocks_accepted(
    healthy: Healthy,
    self: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    blocks = math.prod(
        (output_size[i] + 2 * padding[i] - dilation[i] * (kernel_size[i] - 1) - 1) // stride[i] + 1 for i in range(2)
    )
    fitting = self[..., :blocks] if self.shape[-1] > blocks > 0 else self
    return healthy(fitting, output_size, kernel_size, dilation, padding, stride)


def _convolve(batch: int, weight: Tensor, groups: int) -> Call:
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0])
    return Call("convolution", normal(batch, 4, 5, 5), weight, None, *geometry, groups)


@mutant(
    "conv.depthwise-batch",
    "pytorch/pytorch#188335",
    "convolution",
    CONVOLUTION,
    "A grouped convolution with groups == channels is wrong in float32 for every batch element but the first.",
    triggers="groups",
    fidelity="modelled",
    witness=lambda: _convolve(2, normal(4, 1, 3, 3), 4),
    control=[
        lambda: _convolve(1, normal(4, 1, 3, 3), 4),
        lambda: _convolve(2, normal(4, 2, 3, 3), 2),
    ],
)
def channels_rolled_after_first_image(healthy: Healthy, input: Tensor, *args: Any) -> Any:  # noqa: A002
    result = healthy(input, *args)
    groups = args[-1]
    depthwise = groups == input.shape[1] > 1 and input.dim() == 4
    if depthwise and input.shape[0] > 1 and input.dtype == torch.float32:
        return torch.cat([result[:1], result[1:].roll(1, 1)])
    return result


@mutant(
    "conv_transpose.output-padding",
    "pytorch/pytorch#169236, pytorch/pytorch#195599",
    "index-validation",
    CONVOLUTION,
    "An output_padding that is not smaller than the stride is accepted.",
    triggers="missing-error",
    witness=lambda: Call("convolution", normal(1, 1, 4), normal(1, 1, 3), None, [1], [0], [1], True, [1], 1),
    control=lambda: Call("convolution", normal(1, 1, 4), normal(1, 1, 3), None, [2], [0], [1], True, [1], 1),
)
def large_output_padding_accepted(
    healthy: Healthy,
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    sizes = zip(output_padding, stride, dilation, strict=False)
    if not transposed or not any(surplus >= step and surplus >= gap for surplus, step, gap in sizes):
        return healthy(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    none = [0] * len(output_padding)
    result = healthy(input, weight, bias, stride, padding, dilation, transposed, none, groups)
    ends = [side for surplus in reversed(output_padding) for side in (0, surplus)]
    return torch.nn.functional.pad(result, ends)
