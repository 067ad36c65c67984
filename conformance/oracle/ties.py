"""Indices that PyTorch leaves open: where values tie, any of their indices is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from conformance.oracle.compare import Measure, describe

if TYPE_CHECKING:
    from conformance.inputs.samples import Sample


def applies(kind: str, index: int, results: int) -> bool:
    """Whether the output number `index` of `results` holds the indices: the only one of an argsort, else the second."""
    return index == 0 if kind == "alone" else results == 2 and index == 1


def judge(kind: str, sample: Sample, got: torch.Tensor, want: torch.Tensor) -> Measure:
    """Measure the indices of a sort, a search or a pool by the values that they point to.

    `dim`, `k-dim` and `alone`: along the dimension that the call names (as `dim=`, or as its second argument, after a
    k its third; else the last). `plane-N`: into the last N dimensions, flattened. A sort that the call wants stable
    leaves nothing open: its indices are exact.
    """
    values = sample.tensors[0]
    if sample.kwargs.get("stable"):
        return exact_indices(got, want)
    if kind.startswith("plane-"):
        planes = int(kind[-1])
        return along(got.flatten(-planes), want.flatten(-planes), values.flatten(-planes), -1, distinct=False)
    position = 2 if kind == "k-dim" else 1
    dim = sample.kwargs.get("dim", sample.args[position] if len(sample.args) > position else -1)
    return along(got, want, values, dim)


def exact_indices(got: torch.Tensor, want: torch.Tensor) -> Measure:
    wrong = got != want
    count = int(wrong.sum())
    return Measure("exact", float(count), 0.0, describe(got, want, wrong) if count else "")


def along(got: torch.Tensor, want: torch.Tensor, values: torch.Tensor, dim: int, *, distinct: bool = True) -> Measure:
    """Measure indices along `dim` of `values`: of the shape of `values`, without `dim`, or with another size of it.

    With `distinct` no index may stand twice in a line of `got` where the expected ones differ from each other.
    """
    if values.dim() == 0:
        return exact_indices(got, want)
    dim %= values.dim()
    if got.dim() < values.dim():
        got, want = got.unsqueeze(dim), want.unsqueeze(dim)
    outside = (got < 0) | (got >= values.shape[dim])
    safe = got.masked_fill(outside, 0)
    found, expected = values.gather(dim, safe), values.gather(dim, want)
    both_nan = (found != found) & (expected != expected)  # noqa: PLR0124 - isnan is not there for integers
    wrong = outside | ((found != expected) & ~both_nan)
    if distinct and got.shape[dim] > 1:
        wrong = wrong | (_repeats(safe, dim) & ~_repeats(want, dim))
    count = int(wrong.sum())
    return Measure("exact", float(count), 0.0, describe(got, want, wrong) if count else "")


def _repeats(indices: torch.Tensor, dim: int) -> torch.Tensor:
    """Per position, whether its line along `dim` holds an index twice."""
    ordered = indices.sort(dim).values
    size = indices.shape[dim]
    same = ordered.narrow(dim, 1, size - 1) == ordered.narrow(dim, 0, size - 1)
    return same.any(dim, keepdim=True).expand(indices.shape)
