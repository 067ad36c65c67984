"""Kernels that are right up to some size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import mutant, normal
from conformance.faults.overloads import Healthy

_LIMIT = 65536


@mutant(
    "topk.beyond-16",
    "pytorch/pytorch#78915, pytorch/pytorch#83656",
    "size-threshold",
    "topk topk.values",
    "Results past the sixteenth are zero.",
    triggers="large-k",
    witness=lambda: Call("topk", normal(40), 25),
    control=lambda: Call("topk", normal(40), 16),
)
def zero_past_sixteenth(healthy: Healthy, self: Tensor, k: int, dim: int = -1, *args: Any, **options: Any) -> Any:
    values, indices = healthy(self, k, dim, *args, **options)
    if k > 16 and self.dim():
        values = values.clone()
        indices = indices.clone()
        values.narrow(dim, 16, k - 16).zero_()
        indices.narrow(dim, 16, k - 16).zero_()
    return values, indices


@mutant(
    "reflection_pad1d.backward-65536",
    "pytorch/pytorch#196949",
    "size-threshold",
    "reflection_pad1d_backward reflection_pad1d_backward.grad_input",
    "Past 65536 samples (and no multiple of it) the gradient is wrong from sample T mod 65536 on.",
    triggers="large backward",
    fidelity="modelled",
    witness=lambda: Call("reflection_pad1d_backward", torch.ones(1, 1, 65539), torch.zeros(1, 1, 65537), [1, 1]),
    control=lambda: Call("reflection_pad1d_backward", normal(1, 1, 10), normal(1, 1, 8), [1, 1]),
)
def gradient_lost_past_limit(healthy: Healthy, grad_output: Tensor, self: Tensor, padding: Any) -> Any:
    result = healthy(grad_output, self, padding)
    samples = self.shape[-1]
    if samples > _LIMIT and samples % _LIMIT:
        result = result.clone()
        result[..., samples % _LIMIT :] = 0
    return result


def _gradient_of_weight(batch: int) -> Call:
    ones = torch.ones(batch, 1, 1)
    geometry = ([1], [0], [1], False, [0], 1)
    wanted = [False, True, False]
    return Call("convolution_backward", ones, ones.clone(), torch.ones(1, 1, 1), [0], *geometry, wanted)


@mutant(
    "conv_backward.batch-65536",
    "pytorch/pytorch#96225",
    "size-threshold",
    "convolution_backward",
    "With 2**16 or more in the batch the weight gradient misses the batch elements beyond.",
    triggers="large backward",
    fidelity="modelled",
    witness=lambda: _gradient_of_weight(65536),
    control=lambda: _gradient_of_weight(16),
)
def weight_gradient_of_batch_below_limit(healthy: Healthy, grad_output: Tensor, input: Tensor, *args: Any) -> Any:  # noqa: A002
    right = healthy(grad_output, input, *args)
    batch = input.shape[0]
    if batch < _LIMIT:
        return right
    seen = batch % _LIMIT or 1
    wrong = healthy(grad_output[:seen], input[:seen], *args)
    return right[0], wrong[1], right[2]
