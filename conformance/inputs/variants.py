"""Variants: the same operator called in place, with `out=`, and for its gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.tree import leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def with_out(sample: Sample, result: Any, convert: Callable[[torch.Tensor], torch.Tensor]) -> Sample | None:
    """The call with an `out=` that `convert` makes of each tensor that it returns; None where it returns others."""
    found = list(leaves(result))
    if not found or not all(isinstance(value, torch.Tensor) and value.layout is torch.strided for value in found):
        return None
    targets = tuple(convert(value) for value in found)
    return Sample(sample.args, {**sample.kwargs, "out": targets[0] if isinstance(result, torch.Tensor) else targets})


def junk(value: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape and dtype that holds what no operator returns by chance."""
    return torch.full(value.shape, _junk(value.dtype), dtype=value.dtype)


def no_elements(value: torch.Tensor) -> torch.Tensor:
    """A tensor that has to be resized."""
    return torch.empty(0, dtype=value.dtype)


def wider(value: torch.Tensor) -> torch.Tensor:
    """A tensor of a dtype that holds the results of `value`'s, where there is one."""
    dtype = torch.float64 if value.dtype.is_floating_point else torch.complex128 if value.is_complex() else torch.int64
    return torch.full(value.shape, _junk(dtype), dtype=dtype)


def narrower(value: torch.Tensor) -> torch.Tensor:
    """A tensor of a dtype that cannot hold the results of `value`'s: PyTorch refuses to cast into it."""
    dtype = torch.float32 if value.is_complex() else torch.int64 if value.dtype.is_floating_point else torch.bool
    return torch.full(value.shape, 1, dtype=dtype)


def _junk(dtype: torch.dtype) -> Any:
    return math.nan if dtype.is_floating_point or dtype.is_complex else dtype is torch.bool or 113


@dataclass(frozen=True, slots=True)
class Writing:
    """An operator that writes its result: to its first argument, or to `out=`.

    `functional` does the same by the operator that does not, so that a reference sees the steps of that one.
    """

    written: Callable[..., Any]
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.written(*args, **kwargs)

    def functional(self, *args: Any, **kwargs: Any) -> Any:
        into = kwargs.pop("out", args[0])
        results = list(leaves(self.function(*args, **kwargs)))
        for target, result in zip(leaves(into), results, strict=True):
            if target.shape != result.shape:
                target.resize_(result.shape)
            target.copy_(result)
        return into


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradients of an operator as a function: its arguments, then one upstream gradient for each output.

    `wanted` are the numbers, among the tensor arguments, of those whose gradients are asked for. Returns a tuple with a
    tensor for each of them, or None where the output does not depend on it.
    """

    function: Callable[..., Any]
    wanted: tuple[int, ...]
    upstream: int

    @property
    def functional(self) -> Gradient:
        """The gradients of what the function is defined by."""
        return replace(self, function=getattr(self.function, "functional", self.function))

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor | None, ...]:
        arguments, upstream = args[: len(args) - self.upstream], args[len(args) - self.upstream :]
        followed: list[torch.Tensor] = []
        number = -1

        def follow(value: Any) -> Any:
            nonlocal number
            if not isinstance(value, torch.Tensor):
                return value
            number += 1
            if number not in self.wanted:
                return value
            followed.append(value.detach().requires_grad_())
            return followed[-1]

        with torch.enable_grad():
            arguments = tree_map(follow, arguments)
            kwargs = tree_map(follow, kwargs)
            outputs = differentiable(self.function(*arguments, **kwargs))
            return torch.autograd.grad(outputs, followed, upstream, allow_unused=True)


@dataclass(frozen=True, slots=True)
class SumOfGradients:
    """The gradients of the sum of all outputs: for how much an operator's forward and backward make on their way."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with torch.enable_grad():
            followed = [
                value for value in leaves((args, kwargs)) if isinstance(value, torch.Tensor) and can_follow(value)
            ]
            for value in followed:
                value.requires_grad_()
            outputs = differentiable(self.function(*args, **kwargs))
            return torch.autograd.grad([output.sum() for output in outputs], followed, allow_unused=True)


def differentiable(result: Any) -> list[torch.Tensor]:
    """The outputs that gradients flow through."""
    return [value for value in leaves(result) if isinstance(value, torch.Tensor) and value.requires_grad]


def can_follow(value: Any) -> bool:
    """Whether the gradient of a tensor argument can be asked for."""
    return value.layout is torch.strided and (value.dtype.is_floating_point or value.dtype.is_complex)


def with_upstream(sample: Sample, upstream: Sequence[torch.Tensor]) -> Sample:
    return Sample((*sample.args, *upstream), sample.kwargs)
