"""The arguments of a written case as a sample: literal tensors, and tensors drawn by the seed of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample, seed_of
from conformance.spec.cases import SAME, Drawn, Dtype, Literal

if TYPE_CHECKING:
    from torch._ops import OpOverload

    from conformance.spec.cases import Argument, WrittenCase


def overload_of(case: WrittenCase) -> OpOverload | None:
    """The overload that a case calls, or None where the installed torch has none of that name."""
    name, _, overload = case.overload.partition(".")
    packet = getattr(torch.ops.aten, name, None)
    found: OpOverload | None = getattr(packet, overload or "default", None)
    return found


def sample_of(case: WrittenCase, dtype: str, seed: int) -> Sample:
    """The arguments at a dtype; the same seed draws the same."""
    random = torch.Generator().manual_seed(seed_of(case.operator, dtype, f"case-{case.overload}", seed))
    return Sample(
        tuple(argument(value, dtype, random) for value in case.args),
        {name: argument(value, dtype, random) for name, value in case.kwargs},
    )


def argument(value: Argument, dtype: str, random: torch.Generator) -> Any:
    """One argument: a list for a written list, a tensor for one that is drawn or given."""
    if isinstance(value, tuple):
        return [argument(child, dtype, random) for child in value]
    if isinstance(value, Dtype):
        return _dtype(value.name, dtype)
    if isinstance(value, Literal):
        return torch.tensor(value.values, dtype=_dtype(value.dtype, dtype))
    if isinstance(value, Drawn):
        made = _drawn(value, _dtype(value.dtype, dtype), random)
        return made.t().contiguous().t() if value.transposed else made
    return value


def _drawn(value: Drawn, dtype: torch.dtype, random: torch.Generator) -> torch.Tensor:
    if value.kind == "integers":
        return torch.randint(int(value.low), int(value.high), value.shape, generator=random).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    if value.kind == "normal":
        return torch.randn(value.shape, generator=random, dtype=wide).to(dtype)
    return (value.low + (value.high - value.low) * torch.rand(value.shape, generator=random, dtype=wide)).to(dtype)


def _dtype(name: str, same: str) -> torch.dtype:
    found: torch.dtype = getattr(torch, same if name == SAME else name)
    return found
