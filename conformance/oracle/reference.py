"""The reference: the operator on the host, in float64 or complex128, on the same rounded inputs."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.transport import rebuild, sparse_parts
from conformance.inputs.tree import leaves
from conformance.oracle.formats import is_inexact, wide_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def evaluate(function: Callable[..., Any], sample: Sample) -> list[Any]:
    """Run the operator on the sample and give its outputs: the leaves of the result, then its tensor arguments.

    The arguments are among the outputs because an operator may write to them; sparse tensors appear as their parts.
    """
    with torch.no_grad():
        return outputs(function(*sample.args, **sample.kwargs), sample)


def outputs(result: Any, sample: Sample) -> list[Any]:
    """The leaves of a result, then the tensor arguments of the call, sparse tensors as their parts."""
    return [*_parts(result), *_parts(sample.tensors)]


def _parts(tree: Any) -> Iterator[Any]:
    for leaf in leaves(tree):
        if isinstance(leaf, torch.Tensor) and leaf.layout is not torch.strided:
            yield from sparse_parts(leaf)
        else:
            yield leaf


def promote(sample: Sample) -> Sample:
    """The sample with inexact tensors and dtype arguments widened; all other arguments as they are."""
    return rebuild(sample, _widen, widen_leaf)


def _widen(flat: torch.Tensor) -> torch.Tensor:
    return flat.to(wide_dtype(flat.dtype), copy=True)


def widen_leaf(value: Any) -> Any:
    """A dtype argument widened, and so those inside a record of options; anything else as it is."""
    if isinstance(value, torch.dtype):
        return wide_dtype(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        dtypes = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return dataclasses.replace(
            value, **{name: wide_dtype(dtype) for name, dtype in dtypes.items() if isinstance(dtype, torch.dtype)}
        )
    return value


@contextlib.contextmanager
def wide_defaults() -> Iterator[None]:
    """While it lasts, integers divide into float64 and new tensors are float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def wide_reference(function: Callable[..., Any], sample: Sample) -> list[Any]:
    """The outputs in float64 or complex128; the sample is not touched."""
    with wide_defaults():
        return evaluate(function, promote(sample))


def with_floats(sample: Sample, change: Callable[[torch.Tensor], torch.Tensor]) -> Sample:
    """The widened sample with `change` applied to each of its inexact storages."""

    def move(flat: torch.Tensor) -> torch.Tensor:
        wide = _widen(flat)
        return change(wide) if is_inexact(wide.dtype) else wide

    return rebuild(sample, move, widen_leaf)
