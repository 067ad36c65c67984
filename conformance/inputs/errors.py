"""Calls that have to be refused: those that torch's catalogue names, and some that it does not."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.catalogue import entries
from conformance.inputs.samples import PLAN_SEED, Sample, seed_all, seed_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def error_samples(operator: str) -> list[Sample]:
    """What PyTorch's own tests expect every device to refuse, then what this suite adds; the same whatever the seed."""
    info = entries()[operator]
    found: list[Sample] = []
    if info.error_inputs_func is not None:
        seed_all(seed_of(operator, "any", "errors", PLAN_SEED))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn = [error.sample_input for error in info.error_inputs("cpu")]
        found = [Sample((sample.input, *sample.args), dict(sample.kwargs)) for sample in drawn]
    return [*found, *_added(operator)]


def _added(operator: str) -> Iterator[Sample]:
    """A transposed convolution whose output would reach beyond what any input reaches."""
    name, dimensions = operator[:-2], operator[-2:]
    if name == "nn.functional.conv_transpose" and dimensions in ("1d", "2d", "3d"):
        spatial = int(dimensions[0])
        x, weight = torch.ones(1, 1, *[4] * spatial), torch.ones(1, 1, *[3] * spatial)
        options: tuple[dict[str, Any], ...] = (
            {"output_padding": 1},
            {"output_padding": 2, "stride": 2},
            {"output_padding": 3, "stride": 2, "dilation": 3},
        )
        yield from (Sample((x, weight), option) for option in options)
