"""Random operators: what can be asked of a result that nobody can predict.

The same seed gives the same result, successive calls differ, and many draws follow the law at alpha = 1e-6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from conformance.oracle.compare import Measure, differing
from conformance.oracle.laws import LAWS, is_certain, unbiased

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.inputs.samples import Sample

#: Draws are repeated until the law is tested on about this many values, and never more often than the second number.
WANTED_VALUES = 1000
MOST_DRAWS = 64
#: How often an operator without a law of its own draws around its centre: each draw is a whole call.
CENTRED_DRAWS = 32
#: Two draws of fewer values than this may coincide by chance.
_COMPARABLE = 16


def draws_for(size: int) -> int:
    """How many successive draws of `size` elements the law is tested on."""
    return max(2, min(MOST_DRAWS, math.ceil(WANTED_VALUES / size))) if size else 1


def judge(
    law: str,
    sample: Sample,
    draw: Callable[[], torch.Tensor],
    reseed: Callable[[], None],
    centre: torch.Tensor | None = None,
) -> Measure:
    """Measure a random operator. `draw` calls the device on fresh inputs and fetches the first output.

    Without a law of its own an operator is asked to vary around `centre`, float64.
    """
    reseed()
    first = draw()
    count = draws_for(first.numel()) if centre is None else CENTRED_DRAWS
    draws = [first, *(draw() for _ in range(count - 1))]
    reseed()
    again = draw()
    changed = int(differing(again, first).sum())
    if changed:
        return Measure("random", float(changed), 0.0, f"the same seed gave {changed} other elements")
    if _must_vary(law, sample, first) and all(not bool(differing(first, other).any()) for other in draws[1:]):
        return Measure("random", 1.0, 0.0, f"{len(draws)} successive draws were the same")
    return LAWS[law](sample, draws) if centre is None else unbiased(draws, centre)


def _must_vary(law: str, sample: Sample, first: torch.Tensor) -> bool:
    """Whether two draws can't be the same but by a chance that nobody has to reckon with."""
    if first.numel() < _COMPARABLE or law.startswith("fractional-pool") or is_certain(law, sample):
        return False
    if law.endswith("dropout"):
        return 0 < sample.kwargs.get("p", 0.5) < 1 and bool(sample.kwargs.get("training", "alpha" not in law))
    return law != "rrelu" or bool(sample.kwargs.get("training", False))
