"""Injected faults, each with the semantics of a public defect report of a real accelerator.

`REGISTRY` holds them by id; each can show that it is wrong under its trigger and right away from it.
"""

from __future__ import annotations

from conformance.faults import (  # noqa: F401 - each registers its faults
    attention,
    caches,
    conversions,
    dimensions,
    empty,
    flags,
    integers,
    offsets,
    randomness,
    sizes,
    special_values,
    strides,
    windows,
    writes,
)
from conformance.faults.mutant import REGISTRY, Mutant

__all__ = ["REGISTRY", "Mutant"]
