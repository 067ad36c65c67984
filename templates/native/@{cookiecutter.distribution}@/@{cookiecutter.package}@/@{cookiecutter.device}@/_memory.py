"""Memory statistics, counted by the device allocator; all in bytes."""

from __future__ import annotations

from typing import Any

import torch

from @{ cookiecutter.package }@.@{ cookiecutter.device }@._devices import Device, device_index


def memory_allocated(device: Device = None) -> int:
    """Held by tensors now."""
    return torch.accelerator.memory_allocated(device_index(device))


def max_memory_allocated(device: Device = None) -> int:
    """Most that tensors have held since the start or the last reset."""
    return torch.accelerator.max_memory_allocated(device_index(device))


def memory_reserved(device: Device = None) -> int:
    """Taken from the driver now."""
    return torch.accelerator.memory_reserved(device_index(device))


def max_memory_reserved(device: Device = None) -> int:
    """Most that was taken from the driver since the start or the last reset."""
    return torch.accelerator.max_memory_reserved(device_index(device))


def memory_stats(device: Device = None) -> dict[str, Any]:
    """Every statistic, by dotted name."""
    return dict(torch.accelerator.memory_stats(device_index(device)))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Let the peaks start from what is held now."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Let the totals of allocations and frees start from zero."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Free and total memory of a device."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return free, total


def empty_cache() -> None:
    """Give cached memory back to the driver; this allocator keeps none."""
    torch.accelerator.empty_cache()
