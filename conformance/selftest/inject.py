"""Putting a fault into the device's side of a case, and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.errors import UsageError
from conformance.faults.overloads import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torch._ops import OpOverload


class Fault(Protocol):
    """A defect of some overloads; `make` gives the faulty kernel of one, which is called with the healthy one first."""

    @property
    def id(self) -> str: ...
    @property
    def ops(self) -> tuple[str, ...]: ...
    @property
    def make(self) -> Callable[[Any], Callable[..., Any]]: ...


def load_faults(path: Path) -> dict[str, Fault]:
    """The `REGISTRY` of a module that a user names; raises UsageError for a file that has none."""
    hint = "a module of faults has a dictionary REGISTRY: id -> object with id, ops and make"
    spec = importlib.util.spec_from_file_location(f"onboard_faults_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path} is no Python file", hint=hint)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {error}", hint=hint) from error
    registry = getattr(module, "REGISTRY", None)
    if not isinstance(registry, dict) or not all(hasattr(f, "ops") and hasattr(f, "make") for f in registry.values()):
        raise UsageError(f"{path} has no REGISTRY of faults", hint=hint)
    return registry


def overloads(fault: Fault) -> list[OpOverload]:
    """The overloads of a fault; raises UsageError where the installed torch does not have one of them."""
    found = []
    for name in fault.ops:
        try:
            found.append(resolve(name))
        except AttributeError:
            raise UsageError(f"the fault {fault.id} names {name}, which torch {torch.__version__} has not") from None
    return found


@dataclass(slots=True)
class Hits:
    """How often a call reached one of the overloads in question."""

    count: int = 0


class Injection(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it lasts, calls of some overloads go to other kernels; `hits` counts them.

    Composite operators are taken apart before a mode sees them, as they are on a device that has no kernel for them.
    """

    def __init__(self, kernels: Mapping[OpOverload, Callable[..., Any]], hits: Hits) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._kernels = kernels
        self._hits = hits

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kernel = self._kernels.get(func)
        if kernel is None:
            return func(*args, **(kwargs or {}))
        self._hits.count += 1
        return kernel(func, *args, **(kwargs or {}))


def faulty_kernels(fault: Fault) -> dict[OpOverload, Callable[..., Any]]:
    """The faulty kernels, with whatever state they keep between calls fresh."""
    return {overload: fault.make(overload) for overload in overloads(fault)}


def healthy_kernels(fault: Fault) -> dict[OpOverload, Callable[..., Any]]:
    """The null fault: the same overloads, intercepted in the same way and served right."""
    return dict.fromkeys(overloads(fault), _healthy)


def _healthy(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return original(*args, **kwargs)
