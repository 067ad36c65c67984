"""Which aten overloads a group of cases calls: where a fault can be seen at all."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.inputs import catalogue
from conformance.inputs.samples import opinfo_samples
from conformance.inputs.transport import clone

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How many samples of a group are called to learn what it reaches.
ASKED = 4


class _Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: set[OpOverload] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.add(func)
        return func(*args, **(kwargs or {}))


def reached(operator: str, dtype: str, seed: int) -> frozenset[OpOverload]:
    """The overloads that the host calls for the first, the last and some samples between of a group."""
    samples = opinfo_samples(operator, dtype, seed)
    function = catalogue.function_of(operator)
    recording = _Recording()
    step = max(1, len(samples) // ASKED)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for sample in (*samples[::step], *samples[-1:]):
            fresh = clone(sample)
            try:
                with recording:
                    function(*fresh.args, **fresh.kwargs)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                continue  # the host has no answer to this sample, so no case of it can show a fault
    return frozenset(recording.seen)


def index(groups: Iterable[tuple[str, str]], seed: int) -> dict[OpOverload, list[tuple[str, str]]]:
    """For each overload, the groups (operator, dtype) that reach it."""
    found: dict[OpOverload, list[tuple[str, str]]] = {}
    for operator, dtype in groups:
        for overload in reached(operator, dtype, seed):
            found.setdefault(overload, []).append((operator, dtype))
    return found
