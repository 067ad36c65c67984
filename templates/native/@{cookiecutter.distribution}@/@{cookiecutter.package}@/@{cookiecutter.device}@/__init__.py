"""`torch.@{ cookiecutter.device }@`: the device module, in the shape that `torch.cuda` has given to device modules.

Whatever `torch.accelerator` can do for every device is passed on to it.
"""

from __future__ import annotations

from @{ cookiecutter.package }@ import _C
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._devices import (
    current_device,
    device,
    device_count,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    set_device,
    synchronize,
)
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._streams import Event, Stream, current_stream, default_stream, set_stream, stream
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._support import get_amp_supported_dtype, is_bf16_supported

__all__ = [
    "Event",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


def _is_in_bad_fork() -> bool:
    """Whether this process is a fork of one that was using the device already."""
    return _C.is_forked()


def _driver_counters() -> dict[str, int]:
    """What the driver has done so far: kernel launches, and copies between memories with their bytes."""
    return _C.driver_counters()


def _fallback_counts() -> dict[str, int]:
    """Calls that the CPU served because the device has no kernel, by operator overload."""
    return _C.fallback_counts()


def _reset_fallback_counts() -> None:
    """Start counting fallbacks anew."""
    _C.reset_fallback_counts()


def _is_fallback_enabled() -> bool:
    """Whether operators without a kernel run on the CPU; TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK=0 turns that off."""
    return _C.is_fallback_enabled()
