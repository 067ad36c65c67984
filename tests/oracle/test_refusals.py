"""What no rung may take: NaN for a number, zeros for small values, a result cut short, a factor next to one.

Each operator is judged as the suite says, on outputs of which some or all are about 1e-6.
"""

import functools
import math
from dataclasses import dataclass

import pytest
import torch

from conformance.inputs.catalogue import function_of, planned_dtypes
from conformance.inputs.samples import Sample
from conformance.oracle import judge, laws, ties
from conformance.oracle.trial import Trial
from conformance.spec.suite import load_suite

SMALL = 1e-5
SUITE = load_suite()


def numbers(*shape, scale=1.0):
    """Between a half and one and a half of the scale, of either sign."""
    generator = torch.Generator().manual_seed(17)
    values = torch.rand(shape, generator=generator) + 0.5
    return scale * values * (torch.randint(0, 2, shape, generator=generator) * 2 - 1)


#: Outputs of 1e-6 beside outputs of 1.
MIXED = torch.cat([numbers(12), numbers(12, scale=1e-6)])
TINY = numbers(4, 6, scale=1e-6)

#: By rung: operators and arguments.
CALLS = {
    "exact": {
        "neg": (MIXED,), "cat": ([MIXED, MIXED],), "index_select": (TINY, 0, torch.tensor([2, 0])),
        "where": (MIXED, MIXED > 0, -MIXED), "sort": (MIXED,), "nn.functional.relu": (MIXED.abs(),),
        "amax": (TINY.abs(), 1), "clone": (TINY,),
    },
    "dot": {
        "mm": (numbers(5, 8, scale=1e-3), numbers(8, 6, scale=1e-3)), "sum": (TINY.abs(), 1), "mean": (TINY.abs(), 1),
        "cumsum": (MIXED.flip(0).abs(), 0), "nn.functional.avg_pool2d": (TINY.abs().reshape(1, 4, 6), 2),
        "nn.functional.conv2d": (TINY.reshape(1, 1, 4, 6), numbers(2, 1, 2, 2)),
        "nn.functional.linear": (TINY, numbers(3, 6), numbers(3, scale=1e-6)), "outer": (MIXED, numbers(3)),
    },
    "conditioned": {
        "exp": (torch.linspace(-15, 1, 24),), "mul": (MIXED, numbers(24)), "sqrt": (MIXED.abs() ** 2,),
        "sigmoid": (torch.linspace(-15, 3, 24),), "softmax": (torch.linspace(-14, 0, 24), 0),
        "var": (numbers(6, 8, scale=1e-3), 1), "nn.functional.layer_norm": (numbers(4, 6), (6,), TINY[0], TINY[1]),
        "true_divide": (MIXED, numbers(24)), "sin": (MIXED,), "prod": (numbers(4, 3, scale=1e-2), 1),
    },
    "residual": {"geqrf": (TINY,), "linalg.eigvalsh": (numbers(5, 5, scale=1e-6),)},
    "conditioned, whole": {
        "fft.fft": (TINY[0],), "linalg.inv": (1e6 * torch.eye(3) + numbers(3, 3, scale=1e5),),
        "linalg.vector_norm": (TINY, 2, 1), "linalg.solve": (torch.eye(4) + numbers(4, 4) / 9, numbers(4, scale=1e-6)),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    rung: str
    operator: str
    dtype: str

    def __str__(self):
        return f"{self.rung}-{self.operator}-{self.dtype}".replace(", ", "-")


def calls(*dtypes):
    return [
        Call(rung, operator, dtype)
        for rung, table in CALLS.items()
        for operator in table
        for dtype in planned_dtypes(operator, SUITE.operators[operator].dtypes)
        if dtype in dtypes
    ]


@functools.cache  # reference and bound serve every fault
def trial_of(call):
    def convert(value):
        if isinstance(value, list):
            return [convert(child) for child in value]
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(getattr(torch, call.dtype)) if floating else value

    sample = Sample(tuple(map(convert, CALLS[call.rung][call.operator])), {})
    oracle = SUITE.operators[call.operator].oracle_for(call.dtype)
    return Trial(function_of(call.operator), sample, call.dtype, oracle)


def outcome(call, change):
    """The judgement of the call with its first output changed, and whether anything did change."""
    trial = trial_of(call)
    assert trial.oracle.rung == call.rung.split(",")[0]
    if trial.oracle.rung == "conditioned":
        assert (trial.oracle.scale == "whole") is call.rung.endswith("whole")
    first = trial.host[0].clone(memory_format=torch.contiguous_format)
    changed = change(first.clone())
    assert changed.shape == first.shape
    assert changed.dtype is first.dtype
    found = judge.judge(trial, [changed, *trial.host[1:]], [True] * len(trial.changed))
    return found.outcome, not torch.equal(changed, first)


def at(position, value):
    def change(result):
        result.view(torch.float32 if result.is_complex() else result.dtype).view(-1)[position] = value
        return result

    return change


def zeros_for_small(result):
    return torch.where(result.abs() < SMALL, torch.zeros_like(result), result)


def tail_of_zeros(result):
    """The last quarter is not written."""
    flat = result.view(-1)
    flat[-max(1, flat.numel() // 4) :] = 0
    return result


def cut_to_bfloat16(result):
    """The significand without its last 16 bits."""
    parts = torch.view_as_real(result) if result.is_complex() else result
    parts = (parts.contiguous().view(torch.int32) & ~0xFFFF).view(torch.float32)
    return torch.view_as_complex(parts) if result.is_complex() else parts


def times(factor):
    return lambda result: (result * factor).to(result.dtype)


FAULTS = {
    "NaN first": at(0, math.nan),
    "NaN last": at(-1, math.nan),
    "NaN throughout": lambda result: torch.full_like(result, math.nan),
    "infinity": at(0, math.inf),
    "zeros for small values": zeros_for_small,
    "last element zero": at(-1, 0.0),
    "last quarter zero": tail_of_zeros,
    "zeros throughout": torch.zeros_like,
    "sign": torch.neg,
}
#: What float32 shows and the 8 bits of bfloat16 cannot.
FINE_FAULTS = {"cut to bfloat16": cut_to_bfloat16, "a factor of 1 + 2**-10": times(1 + 2**-10),
               "a factor of 1 - 2**-10": times(1 - 2**-10)}  # fmt: skip


@pytest.mark.parametrize("call", calls("float32", "bfloat16"), ids=str)
def test_the_host_passes(call):
    assert outcome(call, lambda result: result) == ("pass", False)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", calls("float32", "bfloat16"), ids=str)
def test_no_rung_takes_it(call, fault):
    assert outcome(call, FAULTS[fault]) == ("wrong", True)


@pytest.mark.parametrize("fault", FINE_FAULTS)
@pytest.mark.parametrize("call", calls("float32"), ids=str)
def test_no_rung_takes_half_the_bits_or_a_factor_next_to_one(call, fault):
    assert outcome(call, FINE_FAULTS[fault]) == ("wrong", True)


def test_every_rung_that_measures_is_here():
    measuring = {spec.oracle.rung for spec in SUITE.operators.values()} - {"random", "unjudged"}
    assert {rung.split(",")[0] for rung in CALLS} == measuring


# --- indices of values that tie: no NaN, but places that do not exist or hold something else

KEYS = torch.tensor([[3.0, math.nan, 3.0, 1.0], [2.0, 2.0, 1e-6, 0.0]])
DUE = KEYS.sort(1).indices  # 3 0 2 1, and 3 2 0 1


@pytest.mark.parametrize(
    ("line", "place", "index"),
    [(0, 1, 1), (0, 3, 0), (1, 1, 3), (1, 3, 3), (0, 0, -1), (1, 0, 4), (0, 2, 0)],
    ids=["NaN for a number", "a number for NaN", "zero for a small value", "a tail of zeros", "before the line",
         "behind the line", "one of a tie twice"],
)  # fmt: skip
def test_ties_take_no_other_value(line, place, index):
    got = DUE.clone()
    assert ties.along(got, DUE, KEYS, 1).passed
    got[line, place] = index
    assert not ties.along(got, DUE, KEYS, 1).passed


# --- random: a law sees what many draws have in common

X = torch.linspace(0.5, 2, 1000)
LAWS = {
    "uniform": (Sample((X, 0.0, 1e-6), {}), lambda: torch.empty(1000).uniform_(0, 1e-6)),
    "unit": (Sample((), {}), lambda: torch.rand(1000)),
    "standard-normal": (Sample((), {}), lambda: torch.randn(1000)),
    "normal": (Sample((torch.zeros(1000), 1e-6), {}), lambda: torch.randn(1000) * 1e-6),
    "exponential": (Sample((X, 1e6), {}), lambda: torch.empty(1000).exponential_(1e6)),
    "cauchy": (Sample((X, 0.0, 1e-6), {}), lambda: torch.empty(1000).cauchy_(0, 1e-6)),
    "log-normal": (Sample((X, -14.0, 0.5), {}), lambda: torch.empty(1000).log_normal_(-14, 0.5)),
    "geometric": (Sample((X, 0.5), {}), lambda: torch.empty(1000).geometric_(0.5)),
    "bernoulli": (Sample((torch.full((1000,), 0.5),), {}), lambda: torch.empty(1000).bernoulli_(0.5)),
    "dropout": (Sample((1e-6 * X,), {"p": 0.3}), lambda: torch.nn.functional.dropout(1e-6 * X, 0.3)),
    "alpha-dropout": (Sample((X,), {"p": 0.3, "training": True}),
                      lambda: torch.nn.functional.alpha_dropout(X, 0.3, training=True)),
    "rrelu": (Sample((-1e-6 * X, 0.1, 0.4), {"training": True}),
              lambda: torch.nn.functional.rrelu(-1e-6 * X, 0.1, 0.4, training=True)),
}  # fmt: skip


#: Those that draw values of 1e-6.
SMALL_LAWS = ("uniform", "normal", "exponential", "cauchy", "log-normal", "dropout", "rrelu")
DRAWN_FAULTS = {"NaN first": at(0, math.nan), "NaN last": at(-1, math.nan), "zeros throughout": torch.zeros_like,
                "half zero": at(slice(500, None), 0.0)}  # fmt: skip


def refused(law, change):
    arguments, draw = LAWS[law]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(23)
        draws = [draw(), draw()]
    assert laws.LAWS[law](arguments, draws).passed
    broken = [change(drawn.clone()) for drawn in draws]
    assert not any(torch.equal(a, b) for a, b in zip(draws, broken, strict=True))
    return not laws.LAWS[law](arguments, broken).passed


@pytest.mark.parametrize("fault", DRAWN_FAULTS)
@pytest.mark.parametrize("law", LAWS)
def test_no_law_takes_it(law, fault):
    assert refused(law, DRAWN_FAULTS[fault])


@pytest.mark.parametrize("law", SMALL_LAWS)
def test_no_law_takes_zeros_for_small_values(law):
    assert refused(law, zeros_for_small)


@pytest.mark.parametrize("value", [math.nan, 0.0], ids=["NaN for a number", "zero for a small value"])
def test_draws_around_a_centre_take_it_nowhere(value):
    generator = torch.Generator().manual_seed(29)
    centre = torch.full((8,), 1e-6, dtype=torch.float64)
    draws = [(centre * (1 + 0.1 * torch.randn(8, generator=generator))).float() for _ in range(32)]
    assert laws.unbiased(draws, centre).passed
    for drawn in draws:
        drawn[5] = value
    assert not laws.unbiased(draws, centre).passed
