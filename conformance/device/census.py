"""What the dispatcher resolves a device's key to, overload by overload, and the denominators that go with it.

A census says what is registered, not what runs: an explicit per-operator fallback registers as a kernel. What runs is
seen by `conformance.device.execution`; neither is enough alone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch
from torch._C import (
    _dispatch_dump_table,
    _dispatch_get_all_op_names,
    _dispatch_has_kernel,
    _dispatch_key_for_device,
    _get_operation_overload,
    _get_privateuse1_backend_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How a dispatch key is served: by a kernel registered for that very key, by the backend's catch-all, by PyTorch's
#: code for any backend (CompositeExplicitAutograd), by PyTorch's differentiable composite code
#: (CompositeImplicitAutograd), or not at all.
Resolution: TypeAlias = Literal["kernel", "fallback", "default", "math", "missing"]
RESOLUTIONS: tuple[Resolution, ...] = ("kernel", "fallback", "default", "math", "missing")

# What profilers and compilers mark with text of their own has no such name, and the dispatcher chokes on it.
_OVERLOAD = re.compile(r"\w+::\w+(\.\w+)?")

_LABELS: dict[str, Resolution] = {
    "kernel": "kernel",
    "backend fallback": "fallback",
    "default backend kernel": "default",
    "math kernel": "math",
}

#: A backend key that nothing is registered for: what resolves to "missing" here needs a kernel from every backend.
_VACANT_KEY = "PrivateUse3"


@dataclass(frozen=True, slots=True)
class Census:
    """The state of one dispatch key over all `aten::` overloads.

    `counts` has an entry for every resolution and sums to `total`. `needs_kernel` are the overloads that no code of
    PyTorch serves for a backend without kernels, `registered` those with a kernel of the key's own, `core` those with
    the core tag. On torch 2.13: total 3,110, needs_kernel 866, core 193.
    """

    key: str
    torch_version: str
    total: int
    counts: dict[str, int]
    needs_kernel: tuple[str, ...]
    registered: tuple[str, ...]
    core: tuple[str, ...]

    @property
    def covered(self) -> int:
        """How many of `needs_kernel` have a kernel of the key's own."""
        return len(set(self.needs_kernel) & set(self.registered))


def dispatch_key(device_type: str) -> str:
    """Name the dispatch key of a device type by its present name: a backend may have renamed PrivateUse1."""
    if device_type == _get_privateuse1_backend_name():
        return "PrivateUse1"
    return str(_dispatch_key_for_device(device_type))


def resolve(overload: str, key: str) -> Resolution:
    """Say what `key` resolves to for an overload such as `aten::add.out`; an unknown overload raises LookupError."""
    return _resolutions(overload, (key,))[0]


def is_overload(name: str) -> bool:
    """Whether the dispatcher knows an overload of that name."""
    return _OVERLOAD.fullmatch(name) is not None and bool(_dispatch_has_kernel(name))


def census(key: str) -> Census:
    """Take the census of a dispatch key, such as "PrivateUse1"; takes about 0.2 s."""
    names = sorted(n for n in _dispatch_get_all_op_names() if n.startswith("aten::"))
    own: dict[str, Resolution] = {}
    needs_kernel = []
    for name in names:
        own[name], vacant = _resolutions(name, (key, _VACANT_KEY))
        if vacant == "missing":
            needs_kernel.append(name)
    counts = Counter(own.values())
    return Census(
        key=key,
        torch_version=torch.__version__,
        total=len(names),
        counts={r: counts[r] for r in RESOLUTIONS},
        needs_kernel=tuple(needs_kernel),
        registered=tuple(n for n in names if own[n] == "kernel"),
        core=tuple(_core(names)),
    )


def _resolutions(overload: str, keys: tuple[str, ...]) -> tuple[Resolution, ...]:
    found: dict[str, Resolution] = {}
    table = _dispatch_dump_table(overload)
    if not table:
        raise LookupError(f"torch {torch.__version__} has no overload {overload}")
    for line in table.splitlines():
        key, separator, rest = line.partition(": ")
        if separator and key in keys:
            label = rest.rpartition("[")[2].rstrip("]")
            if label not in _LABELS:
                raise RuntimeError(f"torch {torch.__version__} describes a registration in words not known: {line!r}")
            found[key] = _LABELS[label]
    return tuple(found.get(key, "missing") for key in keys)


def _core(names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        base, _, overload = name.partition(".")
        tags = _get_operation_overload(base, overload)[2]
        if torch.Tag.core in tags:
            found.append(name)
    return found
