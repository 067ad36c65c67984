"""Random numbers belong to the device's generator."""

from __future__ import annotations

import pytest
import torch


def draw(**options):
    return torch.randn(100, device="@{ cookiecutter.device }@", **options).cpu()


def test_a_seed_gives_the_same_numbers_again():
    torch.manual_seed(5)
    first, second = draw(), draw()
    torch.manual_seed(5)
    assert torch.equal(draw(), first)
    assert torch.equal(draw(), second)
    assert not torch.equal(first, second)
    torch.manual_seed(6)
    assert not torch.equal(draw(), first)


def test_the_state_goes_round_trip():
    draw()
    state = torch.@{ cookiecutter.device }@.get_rng_state()
    first = draw()
    torch.@{ cookiecutter.device }@.set_rng_state(state)
    assert torch.equal(draw(), first)
    with pytest.raises(RuntimeError, match="wrong size"):
        torch.@{ cookiecutter.device }@.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_devices_have_generators_of_their_own():
    torch.manual_seed(1)
    state = torch.@{ cookiecutter.device }@.get_rng_state("@{ cookiecutter.device }@:1")
    draw()
    assert torch.equal(torch.@{ cookiecutter.device }@.get_rng_state("@{ cookiecutter.device }@:1"), state)


def test_a_generator_of_your_own():
    generator = torch.Generator(device="@{ cookiecutter.device }@").manual_seed(3)
    assert generator.device.type == "@{ cookiecutter.device }@"
    first = draw(generator=generator)
    assert torch.equal(draw(generator=generator.manual_seed(3)), first)
    copy = generator.clone_state()
    assert torch.equal(draw(generator=copy), draw(generator=generator))
    with pytest.raises(RuntimeError, match="Expected a '@{ cookiecutter.device }@' device type for generator"):
        draw(generator=torch.Generator())


def test_the_host_generator_is_left_alone():
    torch.manual_seed(2)
    expected = torch.rand(3)
    torch.manual_seed(2)
    torch.nn.functional.dropout(torch.ones(50, device="@{ cookiecutter.device }@"))
    draw()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_distributions(dtype):
    torch.manual_seed(0)
    there = torch.empty(20_000, dtype=dtype, device="@{ cookiecutter.device }@")
    normal = there.normal_(2, 3).cpu().double()
    assert abs(normal.mean().item() - 2) < 0.1
    assert abs(normal.std().item() - 3) < 0.1
    assert abs((normal > 5).double().mean().item() - 0.1587) < 0.02
    uniform = there.uniform_(-1, 3).cpu().double()
    assert uniform.min().item() >= -1
    assert uniform.max().item() < 3
    assert abs(uniform.mean().item() - 1) < 0.05
    assert abs((uniform < 0).double().mean().item() - 0.25) < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_coins(dtype):
    torch.manual_seed(0)
    coins = torch.empty(20_000, dtype=dtype, device="@{ cookiecutter.device }@").bernoulli_(0.3).cpu().double()
    assert set(coins.unique().tolist()) == {0.0, 1.0}
    assert abs(coins.mean().item() - 0.3) < 0.02


def test_dropout():
    kept = torch.nn.functional.dropout(torch.ones(20_000, device="@{ cookiecutter.device }@"), 0.25).cpu() > 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02


def test_operators_that_fall_back_draw_from_the_device_too():
    def shuffle() -> torch.Tensor:
        return torch.randperm(100, device="@{ cookiecutter.device }@").cpu()

    torch.manual_seed(4)
    torch.@{ cookiecutter.device }@._reset_fallback_counts()
    first, second = shuffle(), shuffle()
    assert torch.@{ cookiecutter.device }@._fallback_counts() == {"aten::randperm.generator_out": 2}
    assert not torch.equal(first, second)
    torch.manual_seed(4)
    assert torch.equal(shuffle(), first)


def test_impossible_parameters():
    there = torch.empty(3, device="@{ cookiecutter.device }@")
    with pytest.raises(RuntimeError, match="std >= 0"):
        there.normal_(0, -1)
    with pytest.raises(RuntimeError, match="from=2 > to=1"):
        there.uniform_(2, 1)
    with pytest.raises(RuntimeError, match="p to be in"):
        there.bernoulli_(2)
