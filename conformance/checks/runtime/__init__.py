"""The runtime: what every operator stands on. A device that fails here will fail everywhere, so these run first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.checks.runtime import (
    accelerator,
    autoload,
    copies,
    device,
    errors,
    mandatory,
    rng,
    serialization,
)

if TYPE_CHECKING:
    from conformance.checks.contract import Check

CHECKS: tuple[Check, ...] = (
    device.CHECK,
    mandatory.CHECK,
    copies.CHECK,
    errors.CHECK,
    accelerator.CHECK,
    rng.CHECK,
    serialization.CHECK,
    autoload.CHECK,
)
