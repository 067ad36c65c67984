"""A sample of the plan that takes seconds: a case of every kind, for a look before the full run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.spec.plan import Group
    from conformance.spec.suite import Suite

#: Whose cases take seconds each: a program is compiled, or a process started.
_SLOW = ("compile.", "runtime.autoload", "runtime.mandatory")


def smoke(suite: Suite, groups: Sequence[Group]) -> tuple[Group, ...]:
    """A case for each family, rung and dtype, for each further check and rung, and a group of each quick other check.

    Of a group of operators it is the second plain case: OpInfo's first sample is often a single number.
    """
    chosen: dict[tuple[str, ...], Group] = {}
    for group in groups:
        kind = _kind(suite, group)
        if kind is not None:
            chosen.setdefault(kind, _narrowed(group) if group.check.startswith("operators.") else group)
    return tuple(chosen.values())


def _kind(suite: Suite, group: Group) -> tuple[str, ...] | None:
    if group.check.startswith(_SLOW):
        return None
    spec = suite.operators.get(group.operator) if group.check.startswith("operators.") else None
    if spec is None:
        return (group.check,)
    oracle = spec.oracle_of(group.check, group.dtype)
    if oracle is None or group.dtype == "any":
        return None
    return (group.check, oracle.rung, *((spec.family, group.dtype) if group.check == "operators.forward" else ()))


def _narrowed(group: Group) -> Group:
    plain = [name for name in group.names if "/plain/" in name] or list(group.names)
    return replace(group, names=(plain[min(1, len(plain) - 1)],))
