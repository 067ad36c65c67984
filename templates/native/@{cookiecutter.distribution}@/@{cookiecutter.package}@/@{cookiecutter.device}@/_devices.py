"""Which devices there are and which one is current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from @{ cookiecutter.package }@ import _C

if TYPE_CHECKING:
    from types import TracebackType

Device: TypeAlias = "torch.device | int | str | None"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """What the driver says of a device; memory in bytes."""

    name: str
    simulated: bool
    total_memory: int


def device_index(device: Device = None) -> int:
    """Index of a device: 1, "@{ cookiecutter.device }@:1" and torch.device("@{ cookiecutter.device }@", 1) are the same; None and "@{ cookiecutter.device }@" are the current one.

    Raises ValueError for a device of another type.
    """
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    found = torch.device(device)
    if found.type != "@{ cookiecutter.device }@":
        msg = f"expected a @{ cookiecutter.device }@ device, got {found}"
        raise ValueError(msg)
    return current_device() if found.index is None else found.index


def is_available() -> bool:
    """Whether there is a device to use."""
    return device_count() > 0


def device_count() -> int:
    """Number of devices."""
    return _C.device_count()


def init() -> None:
    """Start the driver now instead of with the first tensor."""
    _C.init()


def is_initialized() -> bool:
    """Whether the driver has been started."""
    return _C.is_initialized()


def current_device() -> int:
    """Index of this thread's current device."""
    return torch.accelerator.current_device_index()


def set_device(device: Device) -> None:
    """Make a device the current one of this thread."""
    torch.accelerator.set_device_index(device_index(device))


def synchronize(device: Device = None) -> None:
    """Wait for everything that has been enqueued on a device."""
    torch.accelerator.synchronize(device_index(device))


def get_device_properties(device: Device = None) -> DeviceProperties:
    """What the driver says of a device."""
    return DeviceProperties(**_C.properties(device_index(device)))


def get_device_name(device: Device = None) -> str:
    """Name of a device."""
    return get_device_properties(device).name


class device:
    """Context manager: another current device within the block. A negative index changes nothing."""

    def __init__(self, device: Device) -> None:
        self._index = device_index(device)
        self._before = -1

    def __enter__(self) -> None:
        self._before = current_device()
        if self._index >= 0:
            set_device(self._index)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_device(self._before)
