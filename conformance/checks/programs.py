"""Programs that are compiled: small functions of float32 tensors, without random numbers, each with its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

Tensors: TypeAlias = "tuple[torch.Tensor, ...]"


@dataclass(frozen=True, slots=True)
class Program:
    """A function that gives a tuple of tensors, and the shapes of its arguments.

    `sums` says that results are sums of terms that cancel: an element's error then follows the terms, not the element.
    `gradients` asks for the gradients of all arguments, too. `fused` names the ATen operators of the function that a
    compiler which generates code has no reason to call one by one.
    """

    name: str
    function: Callable[..., Tensors]
    shapes: tuple[tuple[int, ...], ...]
    sums: bool = False
    gradients: bool = False
    fused: frozenset[str] = frozenset()

    def inputs(self, draw: int) -> list[torch.Tensor]:
        """Make the host tensors of one draw; each draw has other values."""
        return [wave(shape, 1 + draw * len(self.shapes) + i) for i, shape in enumerate(self.shapes)]


def wave(shape: tuple[int, ...], number: int) -> torch.Tensor:
    """Fill a float32 host tensor with values in [-1, 1] that show no period; the same on every machine to the bit."""
    count = torch.Size(shape).numel()
    steps = (torch.arange(count, dtype=torch.int64) * (7919 + 2 * number) + 104729 * number) % 65521
    return (steps.to(torch.float32) / 32760.5 - 1).view(shape)


def with_gradients(function: Callable[..., Tensors], *inputs: torch.Tensor) -> Tensors:
    """Give the results of a function and, from fixed cotangents, the gradients of its inputs."""
    with torch.enable_grad():
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        results = function(*leaves)
        seeds = [wave(tuple(result.shape), 50).to(result.device, result.dtype) for result in results]
        gradients = torch.autograd.grad(results, leaves, seeds)
    return (*(result.detach() for result in results), *gradients)


def pointwise(x: torch.Tensor, y: torch.Tensor) -> Tensors:
    return (torch.relu(x * y + 0.5) - x / (y * y + 2.0), torch.exp(-x.abs()))


def matmul_relu(x: torch.Tensor, y: torch.Tensor) -> Tensors:
    return (torch.relu(x @ y),)


def reduction(x: torch.Tensor) -> Tensors:
    return (torch.softmax(x, -1), x.sum(0), x.mean(1, keepdim=True), x.amax(1))


def mlp(x: torch.Tensor, w1: torch.Tensor, b1: torch.Tensor, w2: torch.Tensor, b2: torch.Tensor) -> Tensors:
    hidden = torch.nn.functional.gelu(torch.nn.functional.linear(x, w1, b1))
    return (torch.nn.functional.linear(hidden, w2, b2),)


def views(x: torch.Tensor) -> Tensors:
    turned = x.transpose(0, 2)[1:, ::2].reshape(3, -1)
    return (turned + 1.0, torch.cat([x[:, 1], x[:, 3]], 1) * 2.0, x.permute(2, 0, 1).flatten(1)[:, 3:9].t() - 0.25)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Tensors:
    return (torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias),)


FORWARD: tuple[Program, ...] = (
    Program("matmul-relu", matmul_relu, ((17, 32), (32, 24)), sums=True),
    Program("mlp", mlp, ((9, 32), (48, 32), (48,), (10, 48), (10,)), sums=True),
    Program("pointwise", pointwise, ((33, 65), (33, 65)), fused=frozenset({"relu", "mul", "exp", "abs", "div"})),
    Program("reduction", reduction, ((19, 130),)),
    Program("views", views, ((6, 8, 4),)),
)
BACKWARD: tuple[Program, ...] = (
    Program("layer-norm", layer_norm, ((12, 40), (40,), (40,)), sums=True, gradients=True),
    Program("mlp", mlp, ((9, 32), (48, 32), (48,), (10, 48), (10,)), sums=True, gradients=True),
)
