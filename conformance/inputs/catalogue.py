"""The operators that the installed torch describes: its OpInfo entries by full name."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from conformance.errors import EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Callable

#: In this order an entry without any of the usual dtypes takes what it has.
FALLBACK_DTYPES = ("complex64", "float64", "float16", "int32", "float8_e4m3fn")


@functools.cache
def entries() -> dict[str, Any]:
    """Every entry by its full name (variant included): torch's own, and the additions that torch does not describe."""
    found = described()
    from conformance.inputs.additions import additions

    return {**{info.full_name: info for info in additions()}, **found}


@functools.cache
def described() -> dict[str, Any]:
    """Every OpInfo entry by its full name (variant included); raises EnvironmentFailure when torch cannot give them.

    Importing the catalogue freezes torch's backend flags (cudnn.enabled, mkldnn.allow_tf32 ...), which a vendor's
    import may have to set: the freeze is undone.
    """
    frozen_before = torch.backends.__allow_nonbracketed_mutation_flag  # noqa: SLF001
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.testing._internal import common_methods_invocations
    except ImportError as error:
        raise EnvironmentFailure(
            f"the operator catalogue of torch {torch.__version__} cannot be imported: {error}",
            hint="it needs numpy and expecttest: pip install numpy expecttest",
        ) from None
    finally:
        torch.backends.__allow_nonbracketed_mutation_flag = frozen_before  # noqa: SLF001
    common_methods_invocations.wrapper_set_seed = _unseeded
    return {info.full_name: info for info in common_methods_invocations.op_db}


def _unseeded(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a random operator as it is: OpInfo's wrapper seeds every call with 42, which would make all draws equal."""
    return function(*args, **kwargs)


@functools.cache
def host_dtypes(operator: str) -> frozenset[str]:
    """The dtypes, as in `float32`, for which the CPU has the operator."""
    return frozenset(str(dtype).removeprefix("torch.") for dtype in entries()[operator].supported_dtypes("cpu"))


def planned_dtypes(operator: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The wanted dtypes that the CPU has, else the first of the fallbacks that it has; none where none is wanted."""
    if not wanted:
        return ()
    available = host_dtypes(operator)
    found = tuple(dtype for dtype in wanted if dtype in available)
    return found or tuple(dtype for dtype in FALLBACK_DTYPES if dtype in available)[:1]


def public_name(operator: str) -> str | None:
    """The path under which a person calls the entry's function (`torch.nn.functional.relu`), or None for a wrapper."""
    info = entries()[operator]
    if isinstance(info.op, torch._ops.OpOverload):  # noqa: SLF001
        return f"torch.ops.{info.op}"
    for path in (info.name, f"Tensor.{info.name}", f"_C._nn.{info.name}"):
        target: Any = torch
        for part in path.split("."):
            target = getattr(target, part, None)
            if target is None:
                break
        if target is not None and target is info.op:
            return f"torch.{path}"
    return None


def called_name(operator: str, function: Callable[..., Any]) -> str:
    """What a script calls: the public name of the entry's function or of its in-place variant, or the entry's own."""
    function = getattr(function, "written", function)
    function = getattr(function, "function", function)
    if isinstance(function, torch._ops.OpOverload):  # noqa: SLF001
        return f"torch.ops.{function}"
    if function is entries()[operator].op:
        return public_name(operator) or "entry.op"
    name = getattr(function, "__name__", "")
    for place, path in ((torch.Tensor, "torch.Tensor"), (torch, "torch")):
        if getattr(place, name, None) is function:
            return f"{path}.{name}"
    return "entry.get_inplace()"


_ATTENTION = "nn.functional.scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention, which is defined by its formula and not by the fused kernel that the host has, at float64 too."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def functional(self, *args: Any, **kwargs: Any) -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return self.function(*args, **kwargs)


def function_of(operator: str) -> Callable[..., Any]:
    """The callable of the entry: takes the sample's input, arguments and keywords."""
    function: Callable[..., Any] = entries()[operator].op
    return Attention(function) if operator == _ATTENTION else function
