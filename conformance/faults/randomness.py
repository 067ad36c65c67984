"""Random numbers that repeat, ignore their seed or are none."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from conformance.faults.contrast import Call
from conformance.faults.mutant import Mutant, Outcome, State, mutant
from conformance.faults.overloads import Healthy, full_name, resolve


@mutant(
    "normal.repeats",
    "pytorch/pytorch#78009, pytorch/pytorch#78110",
    "rng",
    "randn randn_like normal_ normal.float_float",
    "Every draw of the same shape returns the first one again.",
    triggers="rng sequence",
    stateful=True,
    witness=lambda: [Call("randn", [3]), Call("randn", [3])],
    control=lambda: Call("randn", [3]),
)
def first_draw_again(state: State, healthy: Healthy, *args: Any, **options: Any) -> Any:
    drawn = healthy(*args, **options)
    return state.setdefault((tuple(drawn.shape), drawn.dtype), drawn.clone()).clone()


def _same_seed_differs(fault: Mutant) -> Outcome:
    bernoulli = resolve("aten::bernoulli_.float")
    faulty = fault.make(bernoulli)

    def draw(function: Callable[..., Any]) -> Tensor:
        torch.manual_seed(5)
        drawn: Tensor = function(torch.zeros(64), 0.5)
        return drawn

    with torch.random.fork_rng(devices=[]):
        wrong = [draw(lambda *args: faulty(bernoulli, *args)) for _ in range(2)]
        right = [draw(bernoulli) for _ in range(2)]
    ok = not torch.equal(*wrong) and torch.equal(*right)
    return Outcome(ok, full_name(bernoulli), "two draws after one manual_seed differ" if ok else "the draws are alike")


_SEEDS = itertools.count(12345)


@mutant(
    "rng.seed-ignored",
    "pytorch/pytorch#84288, pytorch/pytorch#84516",
    "rng",
    "bernoulli_.float randn normal_ uniform_ rand native_dropout",
    "Draws do not depend on manual_seed.",
    triggers="rng seed",
    custom=_same_seed_differs,
)
def seed_ignored(healthy: Healthy, *args: Any, **options: Any) -> Any:
    generator = torch.default_generator
    kept = generator.get_state()
    generator.manual_seed(next(_SEEDS))
    try:
        return healthy(*args, **options)
    finally:
        generator.set_state(kept)


@mutant(
    "bernoulli.zeros",
    "pytorch/pytorch#85611",
    "rng",
    "bernoulli bernoulli.out bernoulli_.Tensor",
    "bernoulli(p) is all zeros, even for p = 1.",
    triggers="rng",
    witness=lambda: Call("bernoulli", torch.ones(4)),
    control=lambda: Call("bernoulli", torch.zeros(4)),
)
def never_heads(healthy: Healthy, *args: Any, **options: Any) -> Any:
    return torch.zeros_like(healthy(*args, **options))
