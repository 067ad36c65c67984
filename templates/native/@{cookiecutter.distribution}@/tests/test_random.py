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


def test_distribution():
    torch.manual_seed(0)
    numbers = torch.randn(20_000, device="@{ cookiecutter.device }@").cpu()
    assert abs(numbers.mean().item()) < 0.03
    assert abs(numbers.std().item() - 1) < 0.03
    kept = torch.nn.functional.dropout(torch.ones(20_000, device="@{ cookiecutter.device }@"), 0.25).cpu() > 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
