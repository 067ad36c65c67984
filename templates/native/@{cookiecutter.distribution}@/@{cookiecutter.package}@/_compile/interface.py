"""What Dynamo asks of a device: `torch._dynamo.device_interface.DeviceInterface` for @{ cookiecutter.device }@."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from @{ cookiecutter.package }@ import @{ cookiecutter.device }@
from @{ cookiecutter.package }@.@{ cookiecutter.device }@._devices import Device, device_index


@dataclass(frozen=True, slots=True)
class CompileProperties:
    """What Inductor's heuristics want to know of a device: `multi_processor_count` decides how reductions are split."""

    name: str
    multi_processor_count: int


@functools.cache
def _all_properties() -> tuple[CompileProperties, ...]:
    """Properties of every device, asked once: Inductor forks its compile workers after it has called this."""
    # A kernel for the simulated driver runs on the host's threads. Say how many cores your device has.
    names = (@{ cookiecutter.device }@.get_device_name(index) for index in range(@{ cookiecutter.device }@.device_count()))
    return tuple(CompileProperties(name, multi_processor_count=torch.get_num_threads()) for name in names)


class @{ cookiecutter.class_name }@Interface(DeviceInterface):
    """Devices, streams and properties by the names that Dynamo and Inductor use."""

    device = @{ cookiecutter.device }@.device
    Event = @{ cookiecutter.device }@.Event
    Stream = @{ cookiecutter.device }@.Stream

    class Worker:
        """The same for a compile worker, a process that must not touch the driver."""

        _current: int | None = None

        @classmethod
        def set_device(cls, device: int) -> None:
            """Say which device is compiled for."""
            cls._current = device

        @classmethod
        def current_device(cls) -> int:
            """Return the device that is compiled for."""
            return @{ cookiecutter.device }@.current_device() if cls._current is None else cls._current

        @classmethod
        def get_device_properties(cls, device: Device = None) -> CompileProperties:
            """Return the properties of a device, without a call to the driver once they are known."""
            return _all_properties()[cls.current_device() if device is None else device_index(device)]

    current_device = staticmethod(@{ cookiecutter.device }@.current_device)
    set_device = staticmethod(@{ cookiecutter.device }@.set_device)
    device_count = staticmethod(@{ cookiecutter.device }@.device_count)
    is_available = staticmethod(@{ cookiecutter.device }@.is_available)
    stream = staticmethod(@{ cookiecutter.device }@.stream)
    current_stream = staticmethod(@{ cookiecutter.device }@.current_stream)
    set_stream = staticmethod(@{ cookiecutter.device }@.set_stream)
    synchronize = staticmethod(@{ cookiecutter.device }@.synchronize)
    memory_allocated = staticmethod(@{ cookiecutter.device }@.memory_allocated)
    is_bf16_supported = staticmethod(@{ cookiecutter.device }@.is_bf16_supported)

    @staticmethod
    def exchange_device(device: int) -> int:
        """Make a device current and return the one that was; a negative index changes nothing."""
        before = @{ cookiecutter.device }@.current_device()
        if device >= 0:
            @{ cookiecutter.device }@.set_device(device)
        return before

    # The driver has no per-device context that it would cost anything to create.
    maybe_exchange_device = exchange_device

    @staticmethod
    def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
        @{ cookiecutter.device }@.set_stream(torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """Return the driver's handle of a device's current stream."""
        return @{ cookiecutter.device }@.current_stream(device_idx).native_handle

    @staticmethod
    def get_compute_capability(device: Device = None) -> str:
        """Return what tells one generation of the device from another in the keys of Inductor's caches."""
        return @{ cookiecutter.device }@.get_device_name(device)

    @staticmethod
    def is_triton_capable(_device: Device = None) -> bool:
        """Return whether Triton has a backend for the device."""
        return False


def register() -> None:
    """Register the interface for the device, with an index and without."""
    register_interface_for_device("@{ cookiecutter.device }@", @{ cookiecutter.class_name }@Interface)
    for index in range(@{ cookiecutter.device }@.device_count()):
        register_interface_for_device(f"@{ cookiecutter.device }@:{index}", @{ cookiecutter.class_name }@Interface)


def get_raw_stream(device_idx: int) -> int:
    """Return the driver's handle of a device's current stream; generated code imports this."""
    return @{ cookiecutter.class_name }@Interface.get_raw_stream(device_idx)
