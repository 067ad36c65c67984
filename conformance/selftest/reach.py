"""Which aten overloads a group of cases calls: where a fault can be seen at all."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode

from conformance.checks.operators import Run
from conformance.checks.registry import all_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch._ops import OpOverload

    from conformance.checks.contract import Context
    from conformance.spec.plan import Group

#: How many cases of each kind (source, layout and variant) in a group are called to learn what it reaches.
ASKED = 2


class _Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, seen: set[OpOverload]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._seen.add(func)
        return func(*args, **(kwargs or {}))


def asked(names: Iterable[str]) -> list[str]:
    """The first and the last case of each kind: `special-0000/plain/function` is of another one than `sample-...`."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        stem, _, rest = name.partition("/")
        kinds.setdefault(f"{stem.partition('-')[0]}/{rest}", []).append(name)
    chosen = {name for found in kinds.values() for name in (*found[: ASKED - 1], found[-1])}
    return [name for name in names if name in chosen]


def reached(context: Context, group: Group) -> set[OpOverload]:
    """The overloads that some cases of a group call."""
    seen: set[OpOverload] = set()
    watching = replace(context, around=lambda: _Recording(seen))
    wanted = set(names := asked(group.names))
    for case in all_checks()[group.check].cases(watching, group.operator, group.dtype, names):
        run = getattr(case.run, "__self__", None)
        # Such a case may be refused, or fail: what it called until then it did call.
        if case.name in wanted and isinstance(run, Run):
            with contextlib.suppress(Exception):
                run.call()
    return seen


def index(groups: Mapping[Group, Iterable[str]]) -> dict[str, list[Group]]:
    """For each overload, by name, the groups that reach it."""
    found: dict[str, list[Group]] = {}
    for group, overloads in groups.items():
        for overload in overloads:
            found.setdefault(overload, []).append(group)
    return found
