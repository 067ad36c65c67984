"""The random number generators: one for each device, each with a state of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from @{ cookiecutter.package }@ import _C
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._devices import Device, current_device, device_count, device_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch


def _generator(device: Device = None) -> torch.Generator:
    return _C.default_generator(device_index(device))


def manual_seed(value: int) -> None:
    """Seed the current device."""
    _generator(current_device()).manual_seed(int(value))


def manual_seed_all(value: int) -> None:
    """Seed every device; torch.manual_seed calls this."""
    for index in range(device_count()):
        _generator(index).manual_seed(int(value))


def seed() -> None:
    """Seed the current device with a random number."""
    _generator(current_device()).seed()


def seed_all() -> None:
    """Seed every device with the same random number."""
    manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """Seed of the current device."""
    return _generator(current_device()).initial_seed()


def get_rng_state(device: Device = "@{ cookiecutter.device }@") -> torch.Tensor:
    """State of a device's generator: a CPU tensor of 16 bytes."""
    return _generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Device = "@{ cookiecutter.device }@") -> None:
    """Put back a state that get_rng_state returned."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Put back what get_rng_state_all returned."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
