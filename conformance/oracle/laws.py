"""The laws of the random operators: for each a test of many draws against the distribution that the arguments ask for.

A test gives the worst of its statistics with its critical value. Values that the law excludes are counted against 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from conformance.oracle.compare import Measure
from conformance.oracle.conditioned import nearness
from conformance.oracle.formats import ulp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.inputs.samples import Sample

ALPHA = 1e-6
#: sqrt(n) times the largest distance of the empirical from the expected distribution function (Kolmogorov's limit).
KOLMOGOROV = math.sqrt(-math.log(ALPHA / 2) / 2)
#: Up to this expectation a count is not taken for a normal variable, where its chance is at most a quarter: then its
#: variance is at least so much of its expectation. Nearer to a half the binomial law is nearly symmetric.
SELDOM = 100.0
SMALL_CHANCE = 0.75
#: For a standardised sum, with room for up to a hundred of them in one test: 6 sigma is 2e-9 for one.
SIGMAS = 6.0


def kolmogorov(values: torch.Tensor, cdf: Callable[[torch.Tensor], torch.Tensor]) -> Measure:
    """Kolmogorov's test of one sample against a distribution function; conservative where the law has atoms."""
    ordered = values.flatten().to(torch.float64).sort().values
    count = ordered.numel()
    if count == 0:
        return Measure("random", 0.0, KOLMOGOROV)
    expected = cdf(ordered)
    # Ties are taken together: the empirical function jumps over all of them at once.
    above = torch.searchsorted(ordered, ordered, right=True).to(torch.float64) / count - expected
    below = expected - torch.searchsorted(ordered, ordered).to(torch.float64) / count
    distance = torch.maximum(above, below)
    return _statistic(float(distance.max()) * math.sqrt(count), KOLMOGOROV, "the draws do not follow the distribution")


def frequencies(counts: torch.Tensor, expected: torch.Tensor) -> Measure:
    """Counts of outcomes against their probabilities, each standardised; `expected` sums to 1."""
    total = counts.sum()
    worst = deviations(counts, total * expected, total * expected * (1 - expected)).max()
    return _statistic(float(worst), SIGMAS, "some outcomes are drawn too often or too seldom")


def deviations(counts: torch.Tensor, expected: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    """Each count less its expectation, in standard deviations of a normal variable that is as seldom so far out.

    What is expected seldom, of a small chance, is Poisson's: no sum of independent draws of 0 and 1 is more often at or
    beyond a count that is one or more away from its expectation (Anderson and Samuels, Proc. Fifth Berkeley Symposium
    1, 1967).
    """
    normal = (counts - expected).abs() / variance.sqrt().clamp(min=1e-300)
    above = torch.special.gammainc(counts.clamp(min=1.0), expected)  # P(at least so many)
    below = torch.special.gammaincc(counts + 1, expected)  # P(at most so many)
    tail = torch.where(counts > expected, above, below).clamp(1e-300, 0.5)
    seldom = torch.where((counts - expected).abs() < 1, 0.0, -torch.special.ndtri(tail))
    return torch.where((expected < SELDOM) & (variance >= SMALL_CHANCE * expected), seldom, normal)


def _statistic(value: float, critical: float, problem: str) -> Measure:
    return Measure("random", value, critical, "" if value <= critical else problem)


def excluded(wrong: torch.Tensor, problem: str) -> Measure | None:
    """A failing measure if any value is excluded by the law."""
    count = int(wrong.sum())
    return Measure("random", float(count), 0.0, f"{count} values {problem}") if count else None


def pool(draws: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack([draw.to(torch.float64) for draw in draws])


def argument(sample: Sample, position: int, name: str, default: Any) -> Any:
    return sample.args[position] if len(sample.args) > position else sample.kwargs.get(name, default)


def _uniform(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    low, high = argument(sample, 1, "from", 0.0), argument(sample, 2, "to", 1.0)
    values = pool(draws)
    return excluded((values < low) | (values > high), f"lie outside [{low}, {high}]") or kolmogorov(
        values, lambda x: (x - low) / (high - low)
    )


def _unit(_: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    values = pool(draws)
    return excluded((values < 0) | (values >= 1), "lie outside [0, 1)") or kolmogorov(values, lambda x: x)


def _gauss(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * torch.erfc(-x / math.sqrt(2))


def _standard_normal(_: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    return kolmogorov(pool(draws), _gauss)


def _normal(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    """`normal_(mean, std)` or `normal(mean, std)` with numbers or tensors."""
    mean, std = argument(sample, 0, "mean", 0.0), argument(sample, 1, "std", 1.0)
    return _scaled_normal(mean, std, draws)


def _normal_filled(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    return _scaled_normal(argument(sample, 1, "mean", 0.0), argument(sample, 2, "std", 1.0), draws)


def _normal_of_number(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    """The entry's function takes the standard deviation first."""
    return _scaled_normal(sample.args[1], sample.args[0], draws)


def _scaled_normal(mean: Any, std: Any, draws: Sequence[torch.Tensor]) -> Measure:
    mean, std = torch.as_tensor(mean, dtype=torch.float64), torch.as_tensor(std, dtype=torch.float64)
    values = pool(draws)
    mean, std = mean.expand(values.shape), std.expand(values.shape)
    certain = std == 0
    return excluded(certain & (values != mean), "differ from the mean, with a standard deviation of 0") or kolmogorov(
        ((values - mean) / std)[~certain], _gauss
    )


def _exponential(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    rate = argument(sample, 1, "lambd", 1.0)
    values = pool(draws)
    return excluded(~(values >= 0) | values.isinf(), "are no positive numbers") or kolmogorov(
        values, lambda x: -torch.expm1(-rate * x)
    )


def _cauchy(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    median, sigma = argument(sample, 1, "median", 0.0), argument(sample, 2, "sigma", 1.0)
    return kolmogorov(pool(draws), lambda x: torch.atan((x - median) / sigma) / math.pi + 0.5)


def _log_normal(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    mean, std = argument(sample, 1, "mean", 1.0), argument(sample, 2, "std", 2.0)
    values = pool(draws)
    return excluded(~(values > 0), "are not above 0") or kolmogorov((values.log() - mean) / std, _gauss)


def _geometric(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    p = argument(sample, 1, "p", 0.5)
    values = pool(draws)
    problem = excluded((values < 1) | (values != values.round()), "are no whole numbers from 1 on")
    if problem:
        return problem
    outcomes = torch.arange(1, 7, dtype=torch.float64)
    expected = p * (1 - p) ** (outcomes - 1)
    counts = torch.stack([(values == k).sum() for k in outcomes]).to(torch.float64)
    return frequencies(
        torch.cat([counts, (values.numel() - counts.sum())[None]]), torch.cat([expected, (1 - expected.sum())[None]])
    )


def _bernoulli(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    p = torch.as_tensor(argument(sample, 1, "p", sample.args[0])).to(torch.float64)
    values = pool(draws)
    problem = excluded((values != 0) & (values != 1) | (values == 1) & (p == 0) | (values == 0) & (p == 1),
                       "are impossible")  # fmt: skip
    p = p.expand(values.shape)
    # The rarer of the two outcomes is the one to count.
    hits, chance = (values, p) if bool(p.mean() < 0.5) else (1 - values, 1 - p)
    off = deviations(hits.sum(), chance.sum(), (chance * (1 - chance)).sum())
    return problem or _statistic(float(off), SIGMAS, "ones are drawn too often or too seldom")


def _randint(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    given = sample.args[1:] if isinstance(sample.args[0], torch.Tensor) else sample.args
    bounds = [int(value) for value in given if isinstance(value, (int, torch.Tensor))]
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    values = pool(draws)
    problem = excluded((values < low) | (values >= high) | (values != values.round()),
                       f"are no whole numbers in [{low}, {high})")  # fmt: skip
    if problem or not values.numel():
        return problem or Measure("random", 0.0, SIGMAS)
    counts = torch.bincount((values - low).flatten().long(), minlength=high - low).to(torch.float64)
    return frequencies(counts, torch.full_like(counts, 1 / (high - low)))


def _whole_numbers(_: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    """All whole numbers from 0 that the dtype holds without a gap, each as likely."""
    dtype = draws[0].dtype
    most = 2.0 / torch.finfo(dtype).eps if dtype.is_floating_point else float(torch.iinfo(dtype).max)
    values = pool(draws)
    problem = excluded((values < 0) | (values > most) | (values != values.round()),
                       f"are no whole numbers from 0 to {most:.0f}")  # fmt: skip
    return problem or kolmogorov(values, lambda x: x / most)


def _permutation(_: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    values = pool(draws)
    count = values.shape[-1]
    every = torch.arange(count, dtype=torch.float64)
    problem = excluded((values.sort(-1).values != every).any(-1), "draws are no permutation")
    # Where each draw has its first numbers, and what stands first in it, is as likely to be anything.
    return problem or kolmogorov(torch.cat([values[:, : count // 8], values.argsort(-1)[:, : count // 8]]),
                                 lambda x: (x + 1) / count)  # fmt: skip


def _poisson(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    rates = sample.args[0].to(torch.float64)
    outcomes = torch.arange(8, dtype=torch.float64).view(-1, *(1 for _ in rates.shape))
    chances = torch.exp(outcomes * rates.log() - rates - torch.lgamma(outcomes + 1))
    return _counted(draws, chances)


def _binomial(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    count, p = (value.to(torch.float64) for value in sample.args[:2])
    outcomes = torch.arange(8, dtype=torch.float64).view(-1, *(1 for _ in count.shape))
    ways = torch.lgamma(count + 1) - torch.lgamma(outcomes + 1) - torch.lgamma((count - outcomes).clamp(min=0) + 1)
    chances = torch.exp(ways + torch.xlogy(outcomes, p) + torch.xlogy(count - outcomes, 1 - p))
    above = excluded(pool(draws) > count, "are more than were tried")
    return above or _counted(draws, torch.where(outcomes <= count, chances, 0.0))


def _counted(draws: Sequence[torch.Tensor], chances: torch.Tensor) -> Measure:
    """How often 0, 1, 2 ... are drawn, by the chances of these for each element; all others are taken together.

    Of draws with different chances a count varies less than of draws that all have the mean one: the test is the
    stricter for the suite's claim, not for the device.
    """
    values = pool(draws)
    problem = excluded((values < 0) | (values != values.round()), "are no whole numbers from 0 on")
    if problem:
        return problem
    expected = chances.flatten(1).mean(1)
    counts = torch.stack([(values == k).sum() for k in range(len(chances))]).to(torch.float64)
    rest = (values.numel() - counts.sum())[None], (1 - expected.sum()).clamp(min=0)[None]
    return frequencies(torch.cat([counts, rest[0]]), torch.cat([expected, rest[1]]))


def _gamma(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    values = pool(draws)
    shapes = sample.args[0].to(torch.float64).expand(values.shape)
    return excluded(~(values > 0) | values.isinf(), "are no positive numbers") or kolmogorov(
        torch.special.gammainc(shapes, values), lambda x: x
    )


def _dirichlet(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    """Rows of shares of one; where the first parameter is 1, the first share is above x with (1 - x)^(all others)."""
    values, parameters = pool(draws), sample.args[0].to(torch.float64)
    slack = values.shape[-1] * torch.finfo(draws[0].dtype).eps
    problem = excluded((values < 0) | (values > 1), "lie outside [0, 1]") or excluded(
        (values.sum(-1) - 1).abs() > slack, "rows do not add up to 1"
    )
    first = parameters[..., 0] == 1
    others = (parameters.sum(-1) - 1)[first].expand(values[..., 0][:, first].shape)
    return problem or kolmogorov(1 - (1 - values[..., 0][:, first]) ** others, lambda x: x)


def _multinomial(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    weights = sample.args[0].to(torch.float64)
    drawn = torch.stack(list(draws))
    problem = excluded((drawn < 0) | (drawn >= weights.shape[-1]), "are no index")
    if problem:
        return problem
    chances = (weights / weights.sum(-1, keepdim=True)).expand(drawn.shape[:-1] + weights.shape[-1:])
    problem = excluded(chances.gather(-1, drawn) == 0, "have no weight")
    if not argument(sample, 2, "replacement", False):
        ordered = drawn.sort(-1).values
        problem = problem or excluded(ordered[..., 1:] == ordered[..., :-1], "are drawn twice without replacement")
    if problem:
        return problem
    hits = torch.nn.functional.one_hot(drawn[..., 0], weights.shape[-1]).to(torch.float64)
    off = deviations(hits.sum(0), chances.sum(0), (chances * (1 - chances)).sum(0))
    return _statistic(float(off.max()), SIGMAS, "some indices are drawn too often or too seldom")


_SELU_FLOOR = -1.7580993408473766  # -alpha * scale of SELU: what alpha dropout puts in place of what it drops


def _two_valued(
    draws: Sequence[torch.Tensor], kept: torch.Tensor, dropped: torch.Tensor, p: float, features: bool
) -> Measure:
    """Each element is what it is when kept or when dropped, and it is dropped with probability `p`."""
    values = pool(draws)
    slack = 4 * ulp(torch.maximum(kept.abs(), dropped.abs()), draws[0].dtype)
    is_kept, is_dropped = (values - kept).abs() <= slack, (values - dropped).abs() <= slack
    problem = excluded(~(is_kept | is_dropped), "are neither kept nor dropped")
    if problem:
        return problem
    told = (is_kept != is_dropped).to(torch.float64)  # an input of zero is the same either way
    gone = (is_dropped & ~is_kept).to(torch.float64)
    if features:
        told, gone = told.flatten(3), gone.flatten(3)
        if bool(((gone.sum(-1) != 0) & (gone.sum(-1) != told.sum(-1))).any()):
            return Measure("random", 1.0, 0.0, "a channel is dropped in part")
        told, gone = told.amax(-1), gone.amax(-1)
    count = told.sum()
    rarer, chance = (gone.sum(), p) if p < 0.5 else (count - gone.sum(), 1 - p)
    off = deviations(rarer, count * chance, count * p * (1 - p))
    return _statistic(float(off), SIGMAS, "too many or too few are dropped")


def _dropout(sample: Sample, draws: Sequence[torch.Tensor], *, features: bool = False) -> Measure:
    p, training = float(argument(sample, 1, "p", 0.5)), argument(sample, 2, "training", True)
    value = sample.args[0].to(torch.float64)
    p = p if training else 0.0
    kept = value / (1 - p) if p < 1 else torch.zeros_like(value)
    return _two_valued(draws, kept, torch.zeros_like(value), p, features)


def _feature_dropout(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    return _dropout(sample, draws, features=True)


def _alpha_dropout(sample: Sample, draws: Sequence[torch.Tensor], *, features: bool = False) -> Measure:
    p, training = float(argument(sample, 1, "p", 0.5)), argument(sample, 2, "training", False)
    value = sample.args[0].to(torch.float64)
    if not training or p == 0:
        return _two_valued(draws, value, value, 0.0, features)
    if p == 1:
        return _two_valued(draws, torch.zeros_like(value), torch.zeros_like(value), 1.0, features)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    shift = -scale * _SELU_FLOOR * p
    return _two_valued(draws, scale * value + shift, torch.full_like(value, scale * _SELU_FLOOR + shift), p, features)


def _feature_alpha_dropout(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    return _alpha_dropout(sample, draws, features=True)


def _rrelu(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
    value = sample.args[0].to(torch.float64)
    lower, upper = argument(sample, 1, "lower", 1 / 8), argument(sample, 2, "upper", 1 / 3)
    values, training = pool(draws), argument(sample, 3, "training", False)
    slack = 4 * ulp(value, draws[0].dtype)
    low, high = (lower, upper) if training else ((lower + upper) / 2,) * 2
    below = torch.where(value < 0, value * high, value)
    above = torch.where(value < 0, value * low, value)
    least, most = torch.minimum(below, above), torch.maximum(below, above)
    problem = excluded((values < least - slack) | (values > most + slack), "have a slope that is out of range")
    negative = (value < 0).expand(values.shape)
    if problem or not training or not bool(negative.any()):
        return problem or Measure("random", 0.0, SIGMAS)
    slopes = (values / value)[negative]
    return kolmogorov(slopes, lambda x: ((x - lower) / (upper - lower)).clamp(0, 1))


def _fractional_pool(dims: int) -> Callable[[Sample, Sequence[torch.Tensor]], Measure]:
    """Every output is an element of its own plane of the input: where the windows lie is drawn."""

    def law(sample: Sample, draws: Sequence[torch.Tensor]) -> Measure:
        planes = sample.args[0].flatten(-dims)
        found = torch.stack(list(draws)).flatten(-dims)
        member = (found[..., :, None] == planes[..., None, :]).any(-1)
        return excluded(~member, "are no element of their plane") or Measure("random", 0.0, 0.0)

    return law


def is_certain(law: str, sample: Sample) -> bool:
    """Whether the arguments leave nothing to chance: a probability of 0 or 1, no deviation."""
    if law == "bernoulli":
        p = torch.as_tensor(argument(sample, 1, "p", sample.args[0]))
        return bool(((p == 0) | (p == 1)).all())
    places = {"normal": 1, "normal-filled": 2, "normal-of-number": 0}
    if law in places:
        std = torch.as_tensor(argument(sample, places[law], "std", 1.0))
        return bool((std == 0).all())
    return False


def drops(law: str, sample: Sample) -> bool:
    """Whether a call of an attention operator drops weights at random, so that its law and not its rung judges it."""
    if law == "attention":
        return float(sample.kwargs.get("dropout_p", 0.0)) > 0
    return law == "attention-layer" and float(sample.args[10]) > 0 and bool(sample.kwargs.get("training", True))


def without_drops(law: str, sample: Sample) -> Sample:
    """The same call with nothing dropped."""
    if law == "attention":
        return replace(sample, kwargs={**sample.kwargs, "dropout_p": 0.0})
    return replace(sample, args=(*sample.args[:10], 0.0, *sample.args[11:]))


def unbiased(draws: Sequence[torch.Tensor], centre: torch.Tensor) -> Measure:
    """The mean of the draws against what they vary around, each element by Student's statistic."""
    values = pool(draws)
    spread = values.std(0) / math.sqrt(len(draws))
    # Rounding does not average out, and a small element of a projection carries the rounding of the large ones.
    slack = nearness(centre, draws[0].dtype, whole=True)
    off = ((values.mean(0) - centre).abs() - slack).clamp(min=0) / spread.clamp(min=1e-300)
    return _statistic(float(off.max()) if off.numel() else 0.0, SIGMAS + 2, "the draws vary around another mean")


LAWS: dict[str, Callable[[Sample, Sequence[torch.Tensor]], Measure]] = {
    "uniform": _uniform,
    "unit": _unit,
    "standard-normal": _standard_normal,
    "normal": _normal,
    "normal-filled": _normal_filled,
    "normal-of-number": _normal_of_number,
    "exponential": _exponential,
    "cauchy": _cauchy,
    "log-normal": _log_normal,
    "geometric": _geometric,
    "bernoulli": _bernoulli,
    "randint": _randint,
    "whole-numbers": _whole_numbers,
    "permutation": _permutation,
    "poisson": _poisson,
    "binomial": _binomial,
    "gamma": _gamma,
    "dirichlet": _dirichlet,
    "multinomial": _multinomial,
    "dropout": _dropout,
    "feature-dropout": _feature_dropout,
    "alpha-dropout": _alpha_dropout,
    "feature-alpha-dropout": _feature_alpha_dropout,
    "rrelu": _rrelu,
    "fractional-pool-2d": _fractional_pool(2),
    "fractional-pool-3d": _fractional_pool(3),
}
