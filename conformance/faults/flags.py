"""Arguments that have no effect."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import mutant, normal
from conformance.faults.overloads import Healthy


def _gradient_of_embedding(padding_idx: int, *, scale_by_frequency: bool) -> Call:
    indices = tensor([0, 1, 1])
    return Call("embedding_dense_backward", torch.ones(3, 2), indices, 3, padding_idx, scale_by_frequency)


@mutant(
    "embedding.padding-idx-gradient",
    "pytorch/pytorch#103023, pytorch/pytorch#185119",
    "embedding",
    "embedding_dense_backward",
    "The padding row receives a gradient.",
    triggers="flag backward",
    witness=lambda: _gradient_of_embedding(0, scale_by_frequency=False),
    control=lambda: _gradient_of_embedding(-1, scale_by_frequency=False),
)
def padding_idx_ignored(
    healthy: Healthy, grad_output: Tensor, indices: Tensor, num_weights: int, _padding_idx: int, scale: bool
) -> Any:
    return healthy(grad_output, indices, num_weights, -1, scale)


@mutant(
    "embedding.scale-grad-by-freq",
    "pytorch/pytorch#185119",
    "embedding",
    "embedding_dense_backward",
    "scale_grad_by_freq has no effect.",
    triggers="flag backward",
    witness=lambda: _gradient_of_embedding(-1, scale_by_frequency=True),
    control=lambda: _gradient_of_embedding(-1, scale_by_frequency=False),
)
def frequency_ignored(
    healthy: Healthy, grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, _scale: bool
) -> Any:
    return healthy(grad_output, indices, num_weights, padding_idx, False)


@mutant(
    "loss_backward.grad-output-ignored",
    "pytorch/pytorch#94226",
    "gradient",
    "nll_loss_backward smooth_l1_loss_backward huber_loss_backward",
    "The loss's backward ignores the upstream gradient.",
    triggers="backward grad-scale",
    witness=lambda: Call("smooth_l1_loss_backward", tensor(3.0), normal(4), torch.zeros(4), 1, 1.0),
    control=lambda: Call("smooth_l1_loss_backward", tensor(1.0), normal(4), torch.zeros(4), 1, 1.0),
)
def upstream_gradient_ignored(healthy: Healthy, grad_output: Tensor, *args: Any) -> Any:
    return healthy(torch.ones_like(grad_output), *args)


@mutant(
    "dropout.train-none",
    "pytorch/pytorch#197846",
    "rng",
    "native_dropout",
    "train=None means evaluation instead of training.",
    triggers="optional-none",
    witness=lambda: Call("native_dropout", torch.ones(8), 1.0, None),
    control=lambda: Call("native_dropout", torch.ones(8), 1.0, True),
)
def dropout_evaluates_by_default(healthy: Healthy, input: Tensor, p: float, train: bool | None) -> Any:  # noqa: A002
    if train is None:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    return healthy(input, p, train)


def _step_of_adam(found_inf: Tensor | None) -> Call:
    parameters, gradients, averages, squares = ([torch.full((4,), value)] for value in (1.0, 1.0, 0.0, 0.0))
    return Call(
        "_fused_adam_",
        parameters,
        gradients,
        averages,
        squares,
        [],
        [tensor(1.0)],
        lr=0.1,
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.0,
        eps=1e-8,
        amsgrad=False,
        maximize=False,
        grad_scale=None,
        found_inf=found_inf,
    )


@mutant(
    "fused_adam.found-inf-ignored",
    "pytorch/pytorch#186360",
    "amp",
    "_fused_adam_ _fused_adamw_ _fused_sgd_",
    "The fused optimizers ignore found_inf and grad_scale.",
    triggers="flag amp",
    raw=True,
    witness=lambda: _step_of_adam(tensor(1.0)),
    control=lambda: _step_of_adam(None),
)
def gradient_scaler_ignored(healthy: Healthy, *args: Any, **options: Any) -> Any:
    return healthy(*args, **{**options, "found_inf": None, "grad_scale": None})
