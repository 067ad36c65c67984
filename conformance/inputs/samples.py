"""Samples: the arguments of one call, drawn from OpInfo on the host under a seed of their own."""

from __future__ import annotations

import functools
import hashlib
import random
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from conformance.inputs.catalogue import entries
from conformance.inputs.tree import tensors, tree_map

#: Where a sample may come from; part of the seed, so that a second source leaves the first as it was.
OPINFO = "opinfo"
#: What OpInfo's floating-point numbers are multiplied by. From -9 to 9 they saturate a softmax over products of them:
#: of a bfloat16 gradient nothing is left but roundings.
SCALES = {
    "nn.functional.scaled_dot_product_attention": 0.125,
    "nn.functional.multi_head_attention_forward": 0.125,
}
#: The seed that plans are made with.
PLAN_SEED = 0


@dataclass(frozen=True)
class Sample:
    """The arguments of one call: the input first."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @functools.cached_property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The tensors among the arguments, in order, those in lists included."""
        return tuple(tensors((self.args, self.kwargs)))

    @property
    def size(self) -> int:
        """The number of elements of all tensor arguments."""
        return sum(tensor.numel() for tensor in self.tensors)


def seed_of(operator: str, dtype: str, source: str, seed: int) -> int:
    """A seed below 2**32 that depends on all four and on nothing else."""
    text = f"{operator}\0{dtype}\0{source}\0{seed}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "little")


def seed_all(seed: int) -> None:
    """Seed every generator of the host that OpInfo draws from: torch's, random's and numpy's old global one.

    No device is asked; torch.manual_seed would ask them all, and format a traceback each time.
    """
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - OpInfo draws from the global state


def opinfo_samples(operator: str, dtype: str, seed: int) -> tuple[Sample, ...]:
    """The OpInfo samples of a group, in OpInfo's order; number and shapes are those of the plan whatever the seed."""
    return _draw(operator, dtype, planned_seed(operator, dtype, seed))


def planned_seed(operator: str, dtype: str, seed: int) -> int:
    """The seed itself, or the plan's where the samples of this one have other shapes.

    A few entries drop samples by their values (masked.std, max_unpool2d.grad); planned cases would go missing.
    """
    if seed == PLAN_SEED or _shapes(_draw(operator, dtype, seed)) == _shapes(_draw(operator, dtype, PLAN_SEED)):
        return seed
    return PLAN_SEED


def _shapes(samples: tuple[Sample, ...]) -> list[list[torch.Size]]:
    return [[tensor.shape for tensor in sample.tensors] for sample in samples]


@functools.lru_cache(maxsize=4)
def _draw(operator: str, dtype: str, seed: int) -> tuple[Sample, ...]:
    """Draw the samples of a group.

    The values depend on the vector instructions of the CPU; their number, order and shapes do not. Treat them as
    read-only: they are shared, and whatever runs gets a copy. The entry's own function is called: OpInfo.sample_inputs
    around it searches the stack for a test, and seeds everything with 1234 before each sample, so that all samples of
    all operators would begin with the same numbers, whatever the seed of the run.
    """
    info = entries()[operator]
    seed_all(seed_of(operator, dtype, OPINFO, seed))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        drawn = list(info.sample_inputs_func(info, "cpu", getattr(torch, dtype), requires_grad=False))
    found = (Sample((sample.input, *sample.args), dict(sample.kwargs)) for sample in drawn)
    return tuple(_scaled(sample, SCALES.get(operator, 1.0)) for sample in found)


def _scaled(sample: Sample, factor: float) -> Sample:
    def convert(value: Any) -> Any:
        return value * factor if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    return sample if factor == 1 else Sample(tree_map(convert, sample.args), tree_map(convert, sample.kwargs))
