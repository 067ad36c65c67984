"""Every check of the suite, by id."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from conformance.spec.plan import Group, Plan, make_plan

if TYPE_CHECKING:
    from conformance.checks.contract import Check
    from conformance.spec.suite import Suite


@cache
def all_checks() -> dict[str, Check]:
    """All checks; importing them imports torch."""
    from conformance.checks import compile as compiled
    from conformance.checks import operators, runtime

    checks: list[Check] = [*runtime.CHECKS, *compiled.CHECKS, operators.Forward()]
    return {check.id: check for check in checks}


def enumerate_plan(suite: Suite, *, frozen: bool = False) -> Plan:
    """Ask every check for its groups and names, on the host alone."""
    import torch

    groups = [
        Group(check.id, operator, dtype, tuple(sorted(check.names(suite, operator, dtype))))
        for check in all_checks().values()
        for operator, dtype in check.groups(suite)
    ]
    return make_plan(torch.__version__, groups, frozen=frozen)
