"""Every law accepts torch's own draws and refuses those of another parameter."""

import math

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.oracle import laws, randomness

F = torch.nn.functional
X = torch.linspace(-2, 2, 1000)
PLANES = torch.linspace(0.5, 2, 2000).reshape(10, 40, 5)
CHANNELS = torch.linspace(0.5, 2, 4000).reshape(10, 100, 4)
NAN = math.nan


def sample(*args, **kwargs):
    return Sample(args, kwargs)


def filled(name, *args):
    return lambda: getattr(torch.empty(1000), name)(*args)


RATES = torch.linspace(0.25, 4, 1000)
TRIES, CHANCES = torch.arange(1000.0) % 6 + 1, torch.linspace(0.2, 0.6, 1000)
SHARES = torch.tensor([1.0, 2.0, 0.5]).repeat(500, 1)

#: Per law: a sample, draws that follow it, and draws that do not.
CASES = {
    "uniform": (sample(X, -1.0, 3.0), filled("uniform_", -1, 3),
                [filled("uniform_", -1, 3.2), filled("uniform_", -1, 2), filled("uniform_", 0, 3)]),
    "unit": (sample(), lambda: torch.rand(1000),
             [lambda: torch.rand(1000) * 0.8, lambda: torch.rand(1000) ** 2, lambda: 1 - torch.rand(1000).floor()]),
    "standard-normal": (sample(), lambda: torch.randn(1000),
                        [lambda: torch.randn(1000) * 1.6, lambda: torch.randn(1000) + 0.3, lambda: torch.rand(1000)]),
    "normal": (sample(torch.full((1000,), 2.0), 3.0), filled("normal_", 2, 3),
               [filled("normal_", 3, 3), filled("normal_", 2, 5), filled("normal_", 3, 2), filled("uniform_", -4, 8)]),
    "normal-filled": (sample(X, 2.0, 3.0), filled("normal_", 2, 3),
                      [filled("normal_", 3, 3), filled("normal_", 2, 5), filled("normal_", 3, 2)]),
    "normal-of-number": (sample(3.0, 2.0), filled("normal_", 2, 3), [filled("normal_", 3, 2), filled("normal_", 2, 5)]),
    "exponential": (sample(X, 2.0), filled("exponential_", 2),
                    [filled("exponential_", 3), filled("exponential_", 0.5), lambda: -X.clone().exponential_(2)]),
    "cauchy": (sample(X, 1.0, 2.0), filled("cauchy_", 1, 2),
               [filled("cauchy_", 2, 2), filled("cauchy_", 1, 4), filled("normal_", 1, 2)]),
    "log-normal": (sample(X, 1.0, 0.5), filled("log_normal_", 1, 0.5),
                   [filled("log_normal_", 1.2, 0.5), filled("log_normal_", 1, 1), lambda: torch.zeros(1000)]),
    "geometric": (sample(X, 0.3), filled("geometric_", 0.3),
                  [filled("geometric_", 0.4), lambda: X.clone().geometric_(0.3) - 1,
                   lambda: X.clone().geometric_(0.3) + 0.5]),
    "bernoulli": (sample(torch.full((1000,), 0.3)), filled("bernoulli_", 0.3),
                  [filled("bernoulli_", 0.4), lambda: torch.full((1000,), 0.3), lambda: torch.zeros(1000)]),
    "randint": (sample(2, 9, (1000,)), lambda: torch.randint(2, 9, (1000,)),
                [lambda: torch.randint(2, 10, (1000,)), lambda: torch.randint(1, 9, (1000,)),
                 lambda: torch.randint(2, 8, (1000,)), lambda: torch.rand(1000) * 7 + 2]),
    "multinomial": (sample(torch.tensor([1.0, 0.0, 3.0, 4.0]).repeat(2, 1), 2),
                    lambda: torch.multinomial(torch.tensor([1.0, 0.0, 3.0, 4.0]).repeat(2, 1), 2),
                    [lambda: torch.multinomial(torch.tensor([1.0, 0.0, 3.0, 4.0]).repeat(2, 1), 2, True),
                     lambda: torch.multinomial(torch.tensor([3.0, 0.0, 1.0, 4.0]).repeat(2, 1), 2),
                     lambda: torch.multinomial(torch.tensor([1.0, 1.0, 3.0, 4.0]).repeat(2, 1), 2)]),
    "dropout": (sample(X, p=0.3), lambda: F.dropout(X, 0.3),
                [lambda: F.dropout(X, 0.5), lambda: F.dropout(X, 0.3) * 0.7, lambda: X / 0.7, lambda: X]),
    "feature-dropout": (sample(CHANNELS, p=0.3), lambda: F.dropout1d(CHANNELS, 0.3),
                        [lambda: F.dropout1d(CHANNELS, 0.5), lambda: F.dropout(CHANNELS, 0.3)]),
    "alpha-dropout": (sample(X, p=0.3, training=True), lambda: F.alpha_dropout(X, 0.3, training=True),
                      [lambda: F.alpha_dropout(X, 0.4, training=True), lambda: F.dropout(X, 0.3), lambda: X]),
    "feature-alpha-dropout": (sample(CHANNELS, p=0.3, training=True),
                              lambda: F.feature_alpha_dropout(CHANNELS, 0.3, training=True),
                              [lambda: F.alpha_dropout(CHANNELS, 0.3, training=True)]),
    "rrelu": (sample(X, 0.1, 0.4, training=True), lambda: F.rrelu(X, 0.1, 0.4, training=True),
              [lambda: F.rrelu(X, 0.1, 0.5, training=True), lambda: F.rrelu(X, 0.2, 0.3, training=True),
               lambda: F.leaky_relu(X, 0.25), lambda: F.rrelu(X, 0.1, 0.4, training=True).abs()]),
    "whole-numbers": (sample(X), filled("random_"),
                      [filled("random_", 1000), lambda: X.clone().random_() + 0.5, lambda: X.clone().random_() * 2]),
    "permutation": (sample(500), lambda: torch.randperm(500),
                    [lambda: torch.arange(500), lambda: torch.randint(500, (500,)), lambda: torch.randperm(500) + 1,
                     lambda: torch.cat([torch.randperm(250), 250 + torch.randperm(250)])]),
    "poisson": (sample(RATES), lambda: torch.poisson(RATES),
                [lambda: torch.poisson(RATES + 0.5), lambda: torch.poisson(RATES) + 1, lambda: RATES,
                 RATES.round, lambda: torch.poisson(RATES.mean().expand(1000))]),
    "binomial": (sample(TRIES, CHANCES), lambda: torch.binomial(TRIES, CHANCES),
                 [lambda: torch.binomial(TRIES, 1 - CHANCES), lambda: torch.binomial(TRIES + 1, CHANCES),
                  lambda: TRIES * CHANCES, (TRIES * CHANCES).round]),
    "gamma": (sample(RATES), lambda: torch._standard_gamma(RATES),
              [lambda: torch._standard_gamma(RATES + 0.5), lambda: torch._standard_gamma(RATES) * 1.3, lambda: RATES]),
    "dirichlet": (sample(SHARES), lambda: torch._sample_dirichlet(SHARES),
                  [lambda: torch._sample_dirichlet(SHARES + 1), lambda: torch._sample_dirichlet(SHARES) * 0.9,
                   lambda: torch._sample_dirichlet(SHARES).roll(1, -1), lambda: SHARES / SHARES.sum(-1, True)]),
    "fractional-pool-2d": (sample(PLANES, 2), lambda: F.fractional_max_pool2d(PLANES, 2, (9, 2)),
                           [lambda: F.fractional_max_pool2d(PLANES, 2, (9, 2)) + 1,
                            lambda: F.fractional_max_pool2d(PLANES, 2, (9, 2)).roll(1, 0)]),
    "fractional-pool-3d": (sample(PLANES[None], 2), lambda: F.fractional_max_pool3d(PLANES[None], 2, (3, 9, 2)),
                           [lambda: F.fractional_max_pool3d(PLANES[None], 2, (3, 9, 2)) * 1.01]),
}  # fmt: skip


def draws_of(law):
    return 400 if law == "multinomial" else 2  # its samples are small, and each row is tested by itself


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(11)
        yield


def test_every_law_is_here():
    assert set(CASES) == set(laws.LAWS)


@pytest.mark.parametrize("law", CASES)
def test_draws_of_torch_follow_the_law(law):
    arguments, draw, _ = CASES[law]
    for _ in range(5):
        found = laws.LAWS[law](arguments, [draw() for _ in range(draws_of(law))])
        assert found.passed, found
        assert found.rung == "random"


@pytest.mark.parametrize(("law", "number"), [(law, n) for law, case in CASES.items() for n in range(len(case[2]))])
def test_draws_of_another_law_do_not(law, number):
    arguments, _, wrong = CASES[law]
    found = laws.LAWS[law](arguments, [wrong[number]() for _ in range(draws_of(law))])
    assert not found.passed
    assert found.message


@pytest.mark.parametrize("law", [law for law in CASES if law not in {"multinomial", "randint", "permutation"}])
def test_nan_follows_no_law(law):
    arguments, draw, _ = CASES[law]
    drawn = draw()
    drawn.view(-1)[::2] = NAN
    assert not laws.LAWS[law](arguments, [drawn, drawn]).passed


@pytest.mark.parametrize("mean", [2.0, torch.full((40,), 2.0)], ids=["number", "tensor"])
def test_a_standard_deviation_of_zero_leaves_the_mean_alone(mean):
    arguments = sample(mean, 0.0)
    assert laws.LAWS["normal"](arguments, [torch.full((40,), 2.0)] * 2).passed
    assert not laws.LAWS["normal"](arguments, [torch.full((40,), 2.5)] * 2).passed
    assert not laws.LAWS["normal"](arguments, [torch.full((40,), NAN)] * 2).passed


def test_some_standard_deviations_of_zero():
    std = torch.tensor([0.0, 1.0]).repeat(500)
    arguments = sample(0.0, std)
    assert laws.LAWS["normal"](arguments, [torch.randn(1000) * std]).passed
    assert not laws.LAWS["normal"](arguments, [torch.randn(1000)]).passed
    assert not laws.LAWS["normal"](arguments, [torch.zeros(1000)]).passed


@pytest.mark.parametrize("p", [0.002, 0.01, 0.3, 0.5])
def test_a_count_is_no_further_out_than_its_probability_says(p):
    """Against the exact tails of 1,000 draws: never more often beyond 6 than a normal variable is."""
    draws = torch.arange(1001, dtype=torch.float64)
    tries = torch.tensor(1000.0, dtype=torch.float64)
    ways = torch.lgamma(tries + 1) - torch.lgamma(draws + 1) - torch.lgamma(tries - draws + 1)
    chance = torch.exp(ways + draws * math.log(p) + (tries - draws) * math.log(1 - p))
    off = laws.deviations(draws, tries * p, tries * p * (1 - p))
    beyond = off > laws.SIGMAS
    assert bool(beyond.any())
    seldom = 1000 * p < laws.SELDOM and p <= 1 - laws.SMALL_CHANCE
    assert float(chance[beyond].sum()) < (2e-9 if seldom else 4e-9)


def test_what_nothing_is_left_to_is_certain():
    ones, half = torch.ones(20), torch.full((20,), 0.5)
    assert laws.is_certain("bernoulli", sample(ones))
    assert not laws.is_certain("bernoulli", sample(half))
    assert laws.is_certain("bernoulli", sample(half, 1.0))
    assert laws.is_certain("normal", sample(ones, torch.zeros(20)))
    assert not laws.is_certain("normal", sample(ones, half))
    assert laws.is_certain("normal-filled", sample(ones, 2.0, 0.0))
    assert not laws.is_certain("uniform", sample(ones, 0.0, 1.0))
    assert randomness.judge(
        "bernoulli", sample(ones), lambda: torch.bernoulli(ones), lambda: torch.manual_seed(0)
    ).passed


@pytest.mark.parametrize(("p", "value"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_certain_outcome(p, value):
    arguments = sample(torch.full((50,), p))
    assert laws.LAWS["bernoulli"](arguments, [torch.full((50,), value)]).passed
    assert not laws.LAWS["bernoulli"](arguments, [torch.full((50,), 1 - value)]).passed


@pytest.mark.parametrize("law", ["dropout", "alpha-dropout"])
def test_nothing_is_dropped_without_training(law):
    arguments = sample(X, p=0.3, training=False)
    assert laws.LAWS[law](arguments, [X, X]).passed
    assert not laws.LAWS[law](arguments, [F.dropout(X, 0.3), X]).passed


def test_the_evaluated_slope_of_rrelu_is_the_middle():
    arguments = sample(X, 0.1, 0.3, training=False)
    assert laws.LAWS["rrelu"](arguments, [F.rrelu(X, 0.1, 0.3)]).passed
    assert not laws.LAWS["rrelu"](arguments, [F.leaky_relu(X, 0.1)]).passed


def test_draws_around_a_centre():
    centre = torch.linspace(1, 2, 50, dtype=torch.float64)
    near = [(centre + torch.randn(50) * 0.1).float() for _ in range(64)]
    assert laws.unbiased(near, centre).passed
    assert not laws.unbiased([d * 1.1 for d in near], centre).passed
    assert laws.unbiased([centre.float()] * 64, centre).passed
    assert not laws.unbiased([centre.float() + 0.01] * 64, centre).passed


def test_dropping_calls_are_told():
    dropping = sample(X, dropout_p=0.2)
    assert laws.drops("attention", dropping)
    assert not laws.drops("attention", laws.without_drops("attention", dropping))
    assert not laws.drops("attention", sample(X))
    assert not laws.drops("dropout", dropping)
    layer = sample(*[X] * 10, 0.5, X)
    assert laws.drops("attention-layer", layer)
    assert not laws.drops("attention-layer", laws.without_drops("attention-layer", layer))
    assert laws.without_drops("attention-layer", layer).args[11] is X


# --- what is asked of every random operator, whatever its law


def judged(draw, law="standard-normal", arguments=None, reseed=lambda: torch.default_generator.manual_seed(5)):
    return randomness.judge(law, arguments or sample(), draw, reseed)


def test_draws_of_one_generator_pass():
    assert judged(lambda: torch.randn(100)).passed


def test_the_same_seed_has_to_give_the_same():
    found = judged(lambda: torch.randn(100), reseed=lambda: None)
    assert not found.passed
    assert found.message == "the same seed gave 100 other elements"


def test_successive_draws_have_to_differ():
    kept = torch.randn(1000)
    found = judged(lambda: kept)
    assert not found.passed
    assert found.message == "2 successive draws were the same"


def test_few_values_may_coincide_and_certain_ones_have_to():
    assert randomness._must_vary("unit", sample(), torch.zeros(16))
    assert not randomness._must_vary("unit", sample(), torch.zeros(15))
    assert not randomness._must_vary("dropout", sample(X, p=1.0), X)
    assert not randomness._must_vary("dropout", sample(X, training=False), X)
    assert judged(lambda: X, "dropout", sample(X, p=0.0)).passed


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1, 64), (100, 10), (1000, 2), (10**6, 2)])
def test_small_draws_are_repeated(size, count):
    assert randomness.draws_for(size) == count
