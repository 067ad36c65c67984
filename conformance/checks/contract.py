"""The seam between the runner and the checks: what a check is given, and what it gives back."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    import torch

    from conformance.device.profile import Profile
    from conformance.spec.suite import Suite


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one case amounts to.

    `error` and `bound` are those of the worst element, in the unit of the rung. A judgement with a rung passes exactly
    when error <= bound. `execution`, `kernels` and `fell_back` come from the case that observed how its operator was
    served.
    """

    outcome: str
    error: float | None = None
    bound: float | None = None
    rung: str | None = None
    message: str = ""
    overload: str | None = None
    execution: str | None = None
    kernels: tuple[str, ...] = ()
    fell_back: tuple[str, ...] = ()
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One execution. `name` is what follows the group in the case id, `size` the elements of its inputs.

    `run` calls the device, synchronizes it and judges; an exception that leaves it is the outcome `error`. `repro`
    writes a short script that shows a failure with torch alone.
    """

    name: str
    layout: str | None
    variant: str | None
    size: int
    run: Callable[[], Judgement]
    repro: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Context:
    """What every case of a worker shares. `device` is live: the backend is loaded and initialised.

    `around` makes what surrounds each call on the device, and no call on the host: where the self-test puts its faults.
    """

    device: torch.device
    profile: Profile
    suite: Suite
    seed: int
    around: Callable[[], AbstractContextManager[Any]] = nullcontext


class Check(Protocol):
    """One kind of verification, e.g. `operators.forward`."""

    @property
    def id(self) -> str: ...

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:
        """All (operator, dtype) pairs that this check plans; dtype is "any" where none applies. Imports no backend."""
        ...

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:
        """The case names of one group, from the host alone: never asks a device."""
        ...

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None
    ) -> Iterator[Case]:
        """The cases of one group; `names` are those of the plan, where there is one: it decides what is a case."""
        ...
