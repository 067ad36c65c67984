"""`runtime.errors`: what is wrong raises a Python exception that says so, and the device works afterwards."""

from __future__ import annotations

import torch

from conformance.checks.runtime.kit import Area, Probe, expect, expect_bits, expect_raises, not_on_cpu


def alive(device: torch.device) -> None:
    due = torch.tensor([1.0, 2.0, 3.0])
    expect_bits(due.to(device).clone(), due, "a clone after the error")


def bad_index(device: torch.device) -> None:
    not_on_cpu(device, "further index")
    beyond = torch.device(device.type, torch.get_device_module(device).device_count())
    expect_raises(lambda: torch.empty(1, device=beyond), f"a tensor on {beyond}, which does not exist")
    alive(device)


def bad_current(device: torch.device) -> None:
    not_on_cpu(device, "current device")
    module = torch.get_device_module(device)
    before, beyond = module.current_device(), module.device_count()
    try:
        expect_raises(lambda: module.set_device(beyond), f"set_device({beyond})")
        found = module.current_device()
        expect(found == before, f"after a refused set_device the current device is {found}, it was {before}")
    finally:
        module.set_device(before)
    alive(device)


def negative_size(device: torch.device) -> None:
    expect_raises(lambda: torch.empty(-1, device=device), "torch.empty(-1)")
    alive(device)


def too_large(device: torch.device) -> None:
    expect_raises(lambda: torch.empty(1 << 60, dtype=torch.uint8, device=device), "a tensor of 2**60 bytes")
    alive(device)


def copy_shape(device: torch.device) -> None:
    target = torch.zeros(3).to(device)
    expect_raises(lambda: target.copy_(torch.zeros(2)), "copying 2 elements into 3")
    expect_bits(target, torch.zeros(3), "the target of a refused copy")
    alive(device)


def scalar_of_many(device: torch.device) -> None:
    expect_raises(lambda: torch.zeros(2).to(device).item(), "item() of two elements")
    expect_raises(lambda: torch.zeros(0).to(device).item(), "item() of no element")
    alive(device)


def index_beyond(device: torch.device) -> None:
    tensor = torch.zeros(2, 3).to(device)
    expect_raises(lambda: tensor[2], "row 2 of 2")
    expect_raises(lambda: tensor.select(1, -4), "column -4 of 3")
    alive(device)


def window_beyond(device: torch.device) -> None:
    tensor = torch.zeros(4).to(device)
    expect_raises(lambda: tensor.as_strided((-1,), (1,)), "as_strided with a negative size")
    expect_raises(lambda: tensor.set_(tensor.untyped_storage(), -1, (2,), (1,)), "set_ with a negative offset")
    alive(device)


def bad_view(device: torch.device) -> None:
    tensor = torch.zeros(2, 3).to(device)
    expect_raises(lambda: tensor.view(4), "view(4) of 6 elements")
    expect_raises(lambda: tensor.view(-1, 4), "view(-1, 4) of 6 elements")
    alive(device)


def no_such_device(device: torch.device) -> None:
    expect_raises(lambda: torch.zeros(2).to(f"{device.type}:x"), f"the device {device.type}:x")
    expect_raises(lambda: torch.zeros(2).to(f"{device.type}:-2"), f"the device {device.type}:-2")
    alive(device)


def mixed_devices(device: torch.device) -> None:
    not_on_cpu(device, "other device to mix with")
    there, here = torch.ones(2, 2).to(device), torch.ones(2, 2)
    expect_raises(lambda: torch.mm(there, here), f"mm of a tensor on {device.type} with one on the host")
    expect_raises(lambda: torch.cat([there, here]), f"cat of a tensor on {device.type} with one on the host")
    alive(device)


def mixed_dtypes(device: torch.device) -> None:
    floats, integers = torch.ones(2, 2).to(device), torch.ones(2, 2, dtype=torch.int64).to(device)
    expect_raises(lambda: torch.mm(floats, integers), "mm of float32 with int64")
    alive(device)


CHECK = Area(
    "runtime.errors",
    {
        "device": (
            Probe("current-beyond", bad_current),
            Probe("index-beyond", bad_index),
            Probe("no-such-index", no_such_device),
        ),
        "memory": (
            Probe("negative-size", negative_size),
            Probe("too-large", too_large),
        ),
        "tensor": (
            Probe("bad-view", bad_view),
            Probe("copy-shape", copy_shape),
            Probe("index-beyond", index_beyond),
            Probe("mixed-devices", mixed_devices),
            Probe("mixed-dtypes", mixed_dtypes, (), "int64"),
            Probe("scalar-of-many", scalar_of_many),
            Probe("window-beyond", window_beyond),
        ),
    },
)
