"""Every check of the suite, by id."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.checks.contract import Check


@cache
def all_checks() -> dict[str, Check]:
    """All checks; importing them imports torch."""
    from conformance.checks import compile as compiled
    from conformance.checks import operators, runtime

    checks: list[Check] = [*runtime.CHECKS, *compiled.CHECKS, *operators.CHECKS]
    return {check.id: check for check in checks}
