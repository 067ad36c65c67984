"""Comparing what a healthy and a faulty implementation make of the same calls."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from conformance.faults.memory import storage_key, whole_storage
from conformance.faults.overloads import Healthy, resolve
from conformance.inputs.tree import tensors, tree_map

#: Gives the faulty implementation of an overload, which is called with the healthy one first.
Make = Callable[[OpOverload | str], Callable[..., Any]]


class Call:
    """One call of an operator, as a witness or a control makes it."""

    def __init__(self, op: str, *args: Any, **kwargs: Any) -> None:
        self.op = resolve(op)
        self.args = args
        self.kwargs = kwargs


@dataclass(frozen=True)
class Strictness:
    """What counts as a difference beyond the values: their last bit and sign of zero, and the strides."""

    bits: bool = False
    strides: bool = False


VALUES = Strictness()
BITS = Strictness(bits=True)
STRIDES = Strictness(strides=True)


@dataclass(frozen=True)
class _Step:
    """What one call did: its result or its error, and the tensors that it was given."""

    result: Any
    error: str | None
    arguments: list[Tensor]


def contrast(make: Make, calls: Sequence[Call], strictness: Strictness) -> str | None:
    """The first difference between the healthy and the faulty run of some calls, or None."""
    right = _run(calls, Healthy)
    made = {call.op: make(call.op) for call in calls}
    wrong = _run(calls, lambda op, original: lambda *args, **kwargs: made[op](original, *args, **kwargs))
    for number, (good, bad) in enumerate(zip(right, wrong, strict=True), 1):
        found = _step_difference(good, bad, strictness)
        if found:
            return f"call {number}: {found}" if len(calls) > 1 else found
    return None


def _run(calls: Sequence[Call], serve: Callable[[OpOverload, OpOverload], Callable[..., Any]]) -> list[_Step]:
    bundle = _twin([(call.args, call.kwargs) for call in calls])
    steps = []
    with torch.random.fork_rng(devices=[]), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        for call, (args, kwargs) in zip(calls, bundle, strict=True):
            result = error = None
            try:
                result = tree_map(_snapshot, serve(call.op, call.op)(*args, **kwargs))
            except Exception as caught:  # noqa: BLE001 - an error is a result too
                error = f"{type(caught).__name__}: {str(caught).partition(chr(10))[0][:80]}"
            steps.append(_Step(result, error, tensors((args, kwargs))))
    return steps


def _snapshot(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _twin(tree: Any) -> Any:
    """A deep copy that keeps the strides, the offsets and who shares a storage with whom."""
    copies: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, Tensor) or value.layout != torch.strided:
            return value
        if value.is_conj():
            return copy(value.conj()).conj()
        key = storage_key(value)
        if key not in copies:
            copies[key] = value.untyped_storage().clone()  # type: ignore[no-untyped-call]
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(copies[key], value.storage_offset(), value.size(), value.stride())

    return tree_map(copy, tree)


def _step_difference(good: _Step, bad: _Step, strictness: Strictness) -> str | None:
    if good.error and bad.error:
        return None
    if good.error:
        return f"no error, expected {good.error}"
    if bad.error:
        return f"spurious {bad.error}"
    found = difference(good.result, bad.result, strictness)
    if found:
        return found
    for right, wrong in zip(good.arguments, bad.arguments, strict=True):
        found = difference(whole_storage(right), whole_storage(wrong), strictness)
        if found:
            return f"argument memory: {found}"
    return None


def difference(right: Any, wrong: Any, strictness: Strictness) -> str | None:
    """Why two results are not alike, in short, or None where they are."""
    if isinstance(right, (list, tuple)) and isinstance(wrong, (list, tuple)):
        return _sequence_difference(right, wrong, strictness)
    if isinstance(right, Tensor) and isinstance(wrong, Tensor):
        if right.layout != torch.strided or wrong.layout != torch.strided:
            right, wrong = right.to_dense(), wrong.to_dense()
        return _form_difference(right, wrong, strictness) or _value_difference(right, wrong, strictness)
    if isinstance(right, Tensor) or isinstance(wrong, Tensor):
        return "tensor against non-tensor"
    if isinstance(right, float) and isinstance(wrong, float) and math.isnan(right) and math.isnan(wrong):
        return None
    return None if right == wrong else f"{wrong!r}, not {right!r}"


def _sequence_difference(right: Sequence[Any], wrong: Sequence[Any], strictness: Strictness) -> str | None:
    if len(right) != len(wrong):
        return f"{len(right)} results, not {len(wrong)}"
    for index, (one, other) in enumerate(zip(right, wrong, strict=True)):
        found = difference(one, other, strictness)
        if found:
            return f"[{index}] {found}" if len(right) > 1 else found
    return None


def _form_difference(right: Tensor, wrong: Tensor, strictness: Strictness) -> str | None:
    if right.dtype != wrong.dtype:
        return f"dtype {wrong.dtype}, not {right.dtype}"
    if right.shape != wrong.shape:
        return f"shape {tuple(wrong.shape)}, not {tuple(right.shape)}"
    if strictness.strides and right.stride() != wrong.stride():
        return f"strides {wrong.stride()}, not {right.stride()}"
    return None


def _value_difference(right: Tensor, wrong: Tensor, strictness: Strictness) -> str | None:
    right = right.resolve_conj().resolve_neg()
    wrong = wrong.resolve_conj().resolve_neg()
    if right.is_complex():
        right, wrong = torch.view_as_real(right), torch.view_as_real(wrong)
    alike = _alike(right, wrong, strictness)
    differing = int((~alike).sum())
    if not differing:
        return None
    first = int((~alike).flatten().nonzero()[0])
    example = f"{wrong.flatten()[first].item()} not {right.flatten()[first].item()}"
    return f"{differing}/{alike.numel()} values, e.g. {example}"


def _alike(right: Tensor, wrong: Tensor, strictness: Strictness) -> Tensor:
    if not right.is_floating_point():
        return right == wrong
    if strictness.bits:
        same = (right == wrong) & (torch.signbit(right) == torch.signbit(wrong))
        return same | (right.isnan() & wrong.isnan())
    tolerance = 1e-4 if right.dtype in (torch.float32, torch.float64) else 2e-2
    return torch.isclose(right.double(), wrong.double(), rtol=tolerance, atol=1e-6, equal_nan=True)
