"""Fused optimizers: one step over lists of tensors in one call, and the textbook step that it has to equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.testing import make_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Fused:
    """An overload that steps in place, with the step in plain calls as `functional`.

    With `found_inf` nothing is stepped; with `grad_scale` the gradients are divided by it, and stay so.
    """

    function: Callable[..., Any]
    step: Callable[..., None]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def functional(self, *lists: Sequence[Tensor], **options: Any) -> None:
        scale, found_inf = options.pop("grad_scale", None), options.pop("found_inf", None)
        if found_inf is not None and found_inf.item() == 1:
            return
        for number in range(len(lists[0])):
            tensors: list[Any] = [one[number] if one else None for one in lists]
            if scale is not None:
                tensors[1].div_(scale)
            gradient = -tensors[1] if options["maximize"] else tensors[1]
            self.step(tensors[0], gradient, *tensors[2:], **{k: v for k, v in options.items() if k != "maximize"})


def adam(
    weight: Tensor, gradient: Tensor, average: Tensor, square: Tensor, largest: Tensor | None, count: Tensor, *,
    lr: float, beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool,
) -> None:  # fmt: skip
    """Adam with the decay in the gradient (Kingma and Ba, 2015)."""
    gradient = gradient + weight_decay * weight
    _moments(weight, gradient, average, square, largest, count, lr, beta1, beta2, eps, amsgrad=amsgrad)


def adamw(
    weight: Tensor, gradient: Tensor, average: Tensor, square: Tensor, largest: Tensor | None, count: Tensor, *,
    lr: float, beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool,
) -> None:  # fmt: skip
    """Adam with the decay beside the gradient (Loshchilov and Hutter, 2019)."""
    weight.mul_(1 - lr * weight_decay)
    _moments(weight, gradient, average, square, largest, count, lr, beta1, beta2, eps, amsgrad=amsgrad)


def _moments(
    weight: Tensor, gradient: Tensor, average: Tensor, square: Tensor, largest: Tensor | None, count: Tensor,
    lr: float, beta1: float, beta2: float, eps: float, *, amsgrad: bool,
) -> None:  # fmt: skip
    average.mul_(beta1).add_((1 - beta1) * gradient)
    square.mul_(beta2).add_((1 - beta2) * gradient * gradient)
    second = square
    if amsgrad and largest is not None:
        largest.copy_(torch.maximum(largest, square))
        second = largest
    denominator = second.sqrt() / (1 - beta2**count).sqrt() + eps
    weight.sub_(lr / (1 - beta1**count) * average / denominator)


def sgd(
    weight: Tensor, gradient: Tensor, buffer: Tensor | None, *,
    weight_decay: float, momentum: float, lr: float, dampening: float, nesterov: bool, is_first_step: bool,
) -> None:  # fmt: skip
    """Gradient descent, with a momentum that begins as the first gradient."""
    gradient = gradient + weight_decay * weight
    if buffer is not None and momentum:
        buffer.copy_(gradient if is_first_step else momentum * buffer + (1 - dampening) * gradient)
        gradient = gradient + momentum * buffer if nesterov else buffer
    weight.sub_(lr * gradient)


def adagrad(
    weight: Tensor, gradient: Tensor, total: Tensor, count: Tensor, *,
    lr: float, lr_decay: float, weight_decay: float, eps: float,
) -> None:  # fmt: skip
    """Steps divided by the root of the sum of squares (Duchi, Hazan and Singer, 2011)."""
    gradient = gradient + weight_decay * weight
    total.add_(gradient * gradient)
    weight.sub_(lr / (1 + (count - 1) * lr_decay) * gradient / (total.sqrt() + eps))


#: Scales and flags as automatic mixed precision gives them: none, a scale, and an overflow that was found.
_MIXED: tuple[dict[str, float], ...] = (
    {},
    {"grad_scale": 4.0, "found_inf": 0.0},
    {"grad_scale": 4.0, "found_inf": 1.0},
)


def adam_steps(device: str, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for amsgrad in (False, True):
        for maximize in (False, True):
            for mixed in _MIXED:
                lists = _lists(4, device, dtype)
                largest = [value.abs() for value in _lists(1, device, dtype)[0]] if amsgrad else []
                options = {
                    "lr": 0.1,
                    "beta1": 0.9,
                    "beta2": 0.99,
                    "weight_decay": 0.25,
                    "eps": 1e-8,
                    "amsgrad": amsgrad,
                }
                squares = [value.abs() for value in lists[3]]
                args = (*lists[:3], squares, largest, _counts(3.0, device))
                yield args, {**options, "maximize": maximize, **_mixed(mixed, device)}


def sgd_steps(device: str, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for momentum, nesterov, first in ((0.0, False, False), (0.9, False, True), (0.9, True, False)):
        for maximize in (False, True):
            for mixed in _MIXED:
                lists = _lists(3, device, dtype)
                options = {"weight_decay": 0.25, "momentum": momentum, "lr": 0.1, "dampening": 0.0 if nesterov else 0.5}
                flags = {"nesterov": nesterov, "maximize": maximize, "is_first_step": first}
                yield (*lists[:2], lists[2] if momentum else []), {**options, **flags, **_mixed(mixed, device)}


def adagrad_steps(device: str, dtype: torch.dtype) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for maximize in (False, True):
        for mixed in _MIXED:
            weights, gradients, totals = _lists(3, device, dtype)
            options = {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.25, "eps": 1e-8, "maximize": maximize}
            args = (weights, gradients, [value.abs() for value in totals], _counts(3.0, device))
            yield args, {**options, **_mixed(mixed, device)}


def _lists(count: int, device: str, dtype: torch.dtype) -> list[list[Tensor]]:
    shapes = ((5, 7), (3,), (2, 3, 2))
    return [[make_tensor(shape, dtype=dtype, device=device, low=-2, high=2) for shape in shapes] for _ in range(count)]


def _counts(value: float, device: str) -> list[Tensor]:
    return [torch.tensor(value, device=device) for _ in range(3)]


def _mixed(values: dict[str, float], device: str) -> dict[str, Tensor]:
    return {name: torch.tensor(value, device=device) for name, value in values.items()}
