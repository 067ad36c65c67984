"""`runtime.device`: the device's module, its current device, guards, default devices and further devices."""

from __future__ import annotations

import torch

from conformance.checks.runtime.kit import Area, Probe, expect, expect_bits, not_on_cpu, several


def available(device: torch.device) -> None:
    found = torch.get_device_module(device).is_available()
    expect(found is True, f"is_available() returns {found!r} where True is due")


def count(device: torch.device) -> None:
    found = torch.get_device_module(device).device_count()
    expect(type(found) is int and found >= 1, f"device_count() returns {found!r} where an int of at least 1 is due")


def current(device: torch.device) -> None:
    not_on_cpu(device, "current device")
    module = torch.get_device_module(device)
    found, total = module.current_device(), module.device_count()
    expect(type(found) is int, f"current_device() returns {found!r} where an int is due")
    expect(0 <= found < total, f"current_device() returns {found} where there are {total} devices")


def select(device: torch.device) -> None:
    not_on_cpu(device, "current device")
    module = torch.get_device_module(device)
    before = module.current_device()
    try:
        for index in range(module.device_count()):
            module.set_device(index)
            found = module.current_device()
            expect(found == index, f"after set_device({index}) the current device is {found}")
            found = torch.empty(1, device=device.type).device
            expect(found.index == index, f"after set_device({index}) a new tensor lies on {found}")
    finally:
        module.set_device(before)


def registered(device: torch.device) -> None:
    tensor = torch.empty(2, device=device)
    expect(tensor.device.type == device.type, f"the tensor says {tensor.device.type!r}, not {device.type!r}")
    expect(torch.device(str(tensor.device)) == tensor.device, f"torch.device cannot read {tensor.device} back")
    found = getattr(tensor, f"is_{device.type}", None)
    expect(found is True, f"tensor.is_{device.type} is {found!r} where True is due")
    found = getattr(torch.empty(2), f"is_{device.type}", None)
    due = device.type == "cpu"
    expect(found is due, f"is_{device.type} of a host tensor is {found!r} where {due} is due")


def guard_restores(device: torch.device) -> None:
    not_on_cpu(device, "guard")
    module = torch.get_device_module(device)
    before = module.current_device()
    other = module.device_count() - 1
    with torch.accelerator.device_index(other):
        found = module.current_device()
        expect(found == other, f"inside the guard of {other} the current device is {found}")
    found = module.current_device()
    expect(found == before, f"after the guard the current device is {found}, it was {before}")


def guard_restores_after_error(device: torch.device) -> None:
    not_on_cpu(device, "guard")
    module = torch.get_device_module(device)
    before = module.current_device()
    try:
        with torch.accelerator.device_index(module.device_count() - 1):
            raise KeyError
    except KeyError:
        found = module.current_device()
    expect(found == before, f"after an exception inside the guard the current device is {found}, it was {before}")


def operators_leave_current(device: torch.device) -> None:
    other = several(device) - 1
    module = torch.get_device_module(device)
    before = module.current_device()
    there = torch.device(device.type, other if before != other else 0)
    tensor = torch.tensor([1.0, 2.0]).to(there)
    copied = tensor.clone()
    expect(copied.device == there, f"the copy of a tensor on {there} lies on {copied.device}")
    expect_bits(copied, torch.tensor([1.0, 2.0]), "a copy on a device that is not the current one")
    found = module.current_device()
    expect(found == before, f"work on {there} left {found} as the current device, it was {before}")


def default_context(device: torch.device) -> None:
    with torch.device(device):
        inside = torch.empty(2).device.type
        explicit = torch.empty(2, device="cpu").device.type
    after = torch.empty(2).device.type
    expect(inside == device.type, f"inside `with torch.device` a new tensor lies on {inside}")
    expect(explicit == "cpu", f"inside `with torch.device` an explicit device is ignored: {explicit}")
    expect(after == "cpu", f"after `with torch.device` a new tensor lies on {after}")


def default_device(device: torch.device) -> None:
    torch.set_default_device(device)
    try:
        inside = torch.empty(2).device.type
        made = torch.tensor([3.0, -0.0]).device.type
    finally:
        torch.set_default_device(None)
    after = torch.empty(2).device.type
    expect(inside == device.type, f"with set_default_device a new tensor lies on {inside}")
    expect(made == device.type, f"with set_default_device torch.tensor lies on {made}")
    expect(after == "cpu", f"after set_default_device(None) a new tensor lies on {after}")


def further_device(device: torch.device) -> None:
    last = torch.device(device.type, several(device) - 1)
    first = torch.device(device.type, 0)
    there = torch.tensor([1.0, -2.0, 3.5]).to(last)
    here = torch.tensor([4.0, 5.0, 6.0]).to(first)
    expect(there.device == last, f"a tensor made on {last} says {there.device}")
    expect_bits(there, torch.tensor([1.0, -2.0, 3.5]), f"a tensor on {last}, after another was made on {first}")
    expect_bits(here, torch.tensor([4.0, 5.0, 6.0]), f"a tensor on {first}")


def between_devices(device: torch.device) -> None:
    last = torch.device(device.type, several(device) - 1)
    values = torch.tensor([1.0, -2.0, 3.5])
    moved = values.to(torch.device(device.type, 0)).to(last)
    expect(moved.device == last, f"a tensor moved to {last} says {moved.device}")
    expect_bits(moved, values, f"a tensor moved from index 0 to {last}")


CHECK = Area(
    "runtime.device",
    {
        "module": (
            Probe("available", available),
            Probe("count", count),
            Probe("current", current),
            Probe("registered", registered),
            Probe("select", select),
        ),
        "guard": (
            Probe("operators-leave-current", operators_leave_current),
            Probe("restores", guard_restores),
            Probe("restores-after-error", guard_restores_after_error),
        ),
        "default": (
            Probe("context", default_context),
            Probe("set-default", default_device),
        ),
        "several": (
            Probe("between", between_devices),
            Probe("further", further_device),
        ),
    },
)
