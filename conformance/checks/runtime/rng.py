"""`runtime.rng`: random numbers are reproducible from a seed, and their state can be taken and put back."""

from __future__ import annotations

import torch

from conformance.checks.runtime.kit import Area, Probe, expect, expect_bits


def seeded(device: torch.device) -> None:
    torch.manual_seed(1234)
    first, second = torch.rand(256, device=device), torch.rand(256, device=device)
    torch.manual_seed(1234)
    again = torch.rand(256, device=device)
    expect_bits(again, first.cpu(), "torch.rand after the same torch.manual_seed")
    expect(not torch.equal(first.cpu(), second.cpu()), "two draws after one seed are the same")


def seeds_differ(device: torch.device) -> None:
    torch.manual_seed(1234)
    first = torch.rand(256, device=device).cpu()
    torch.manual_seed(1235)
    second = torch.rand(256, device=device).cpu()
    same = int((first == second).sum())
    expect(same < 8, f"after another seed {same} of 256 draws are the same")


def in_range(device: torch.device) -> None:
    torch.manual_seed(5)
    found = torch.rand(4096, device=device).cpu()
    low, high, mean = found.min().item(), found.max().item(), found.mean().item()
    expect(low >= 0 and high < 1, f"torch.rand draws from {low} to {high} where [0, 1) is due")
    # The mean of 4,096 uniform draws has the standard deviation 0.0045; six of them are 0.027.
    expect(abs(mean - 0.5) < 0.027, f"the mean of 4096 uniform draws is {mean}")


def state(device: torch.device) -> None:
    module = torch if device.type == "cpu" else torch.get_device_module(device)
    torch.manual_seed(9)
    torch.rand(5, device=device)
    kept = module.get_rng_state()
    expect(kept.dtype is torch.uint8 and kept.device.type == "cpu", f"the state is {kept.dtype} on {kept.device}")
    first = torch.rand(256, device=device).cpu()
    torch.rand(3, device=device)
    module.set_rng_state(kept)
    expect_bits(torch.rand(256, device=device), first, "torch.rand after set_rng_state")


def state_is_copy(device: torch.device) -> None:
    module = torch if device.type == "cpu" else torch.get_device_module(device)
    torch.manual_seed(9)
    kept = module.get_rng_state()
    before = kept.clone()
    torch.rand(256, device=device)
    expect_bits(kept, before, "a state that was taken before a draw")


def generator(device: torch.device) -> None:
    own = torch.Generator(device=device)
    own.manual_seed(77)
    expect(own.initial_seed() == 77, f"initial_seed() is {own.initial_seed()} after manual_seed(77)")
    first = torch.rand(256, device=device, generator=own).cpu()
    own.manual_seed(77)
    expect_bits(torch.rand(256, device=device, generator=own), first, "torch.rand with a generator seeded again")
    kept = own.get_state()
    first = torch.rand(256, device=device, generator=own).cpu()
    own.set_state(kept)
    expect_bits(torch.rand(256, device=device, generator=own), first, "torch.rand with a generator put back")


def generator_apart(device: torch.device) -> None:
    """Drawing from a generator of one's own does not move the default one."""
    torch.manual_seed(3)
    due = torch.rand(64, device=device).cpu()
    own = torch.Generator(device=device)
    own.manual_seed(4)
    torch.manual_seed(3)
    torch.rand(16, device=device, generator=own)
    expect_bits(torch.rand(64, device=device), due, "torch.rand after a draw from another generator")


CHECK = Area(
    "runtime.rng",
    {
        "seed": (
            Probe("another", seeds_differ),
            Probe("range", in_range),
            Probe("same", seeded),
        ),
        "state": (
            Probe("copy", state_is_copy),
            Probe("round-trip", state),
        ),
        "generator": (
            Probe("apart", generator_apart),
            Probe("own", generator),
        ),
    },
)
