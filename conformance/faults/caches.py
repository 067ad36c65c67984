"""What a call leaves behind for the next: compiled kernels found under too short a key, stale buffers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.faults.contrast import Call
from conformance.faults.memory import base_read, whole_storage
from conformance.faults.mutant import State, count, mutant, normal
from conformance.faults.overloads import Healthy


@mutant(
    "gelu.stale-approximation",
    "pytorch/pytorch#94529",
    "stale-cache",
    "gelu gelu_backward",
    "The approximation mode is not part of the cache key.",
    triggers="sequence flag",
    stateful=True,
    witness=lambda: [Call("gelu", normal(5) * 3), Call("gelu", normal(5) * 3, approximate="tanh")],
    control=lambda: [Call("gelu", normal(5)), Call("gelu", normal(6), approximate="tanh")],
)
def approximation_of_first_call(state: State, healthy: Healthy, *args: Any, approximate: str = "none") -> Any:
    return healthy(*args, approximate=state.setdefault(tuple(args[0].shape), approximate))


def _clone_rows(*rows: int) -> list[Call]:
    return [Call("clone", count(8).reshape(4, 2)[row : row + 1]) for row in rows]


@mutant(
    "clone.stale-slice",
    "torch-spyre/torch-spyre#3237, torch-spyre/torch-spyre#3018",
    "stale-cache",
    "clone",
    "Copying another slice of the same shape returns the data at the first slice's offset.",
    triggers="sequence offset",
    stateful=True,
    witness=lambda: _clone_rows(0, 2),
    control=lambda: _clone_rows(1, 1),
)
def offset_of_first_slice(state: State, healthy: Healthy, self: Tensor, **options: Any) -> Any:
    key = (tuple(self.shape), self.stride(), self.dtype)
    offset = state.setdefault(key, self.storage_offset())
    span = sum((size - 1) * stride for size, stride in zip(self.shape, self.stride(), strict=True)) + 1
    stale = offset != self.storage_offset()
    if stale and self.numel() and offset + span <= whole_storage(self).numel():
        self = base_read(self, offset)
    return healthy(self, **options)


@mutant(
    "linear.second-call",
    "pytorch/pytorch#180776",
    "stale-cache",
    "linear mm",
    "In half precision the second identical call adds to what is left of the first.",
    triggers="sequence half",
    stateful=True,
    fidelity="modelled",
    witness=lambda: [Call("mm", normal(2, 4).bfloat16(), normal(4, 3).bfloat16()) for _ in range(2)],
    control=lambda: [Call("mm", normal(2, 4), normal(4, 3)) for _ in range(2)],
)
def added_to_first_result(state: State, healthy: Healthy, *args: Any, **options: Any) -> Any:
    result = healthy(*args, **options)
    if result.dtype not in (torch.float16, torch.bfloat16):
        return result
    key = tuple(operand.shape for operand in args if isinstance(operand, Tensor))
    left = state.get(key)
    state[key] = result.clone()
    return result if left is None else result + left
