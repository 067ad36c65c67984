"""Streams and events: PyTorch's own, made for this device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from @{ cookiecutter.package }@.@{ cookiecutter.device }@._devices import Device, device_index

if TYPE_CHECKING:
    from types import TracebackType


# PyTorch's own classes: without a device named, they are for the accelerator, which is this one.
Stream = torch.Stream
Event = torch.Event


def current_stream(device: Device = None) -> torch.Stream:
    """Stream that this thread enqueues on."""
    return torch.accelerator.current_stream(device_index(device))


def default_stream(device: Device = None) -> torch.Stream:
    """Stream that is current where no other was set."""
    like = current_stream(device)
    return torch.Stream(stream_id=0, device_index=like.device_index, device_type=like.device_type)


def set_stream(stream: torch.Stream | None) -> None:
    """Make a stream current, and its device too; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class stream:
    """Context manager: another current stream, and device, within the block; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self._new = stream
        self._device = -1
        self._before: list[torch.Stream] = []

    def __enter__(self) -> None:
        if self._new is not None:
            self._device = torch.accelerator.current_device_index()
            self._before = [current_stream(), current_stream(self._new.device)]
            set_stream(self._new)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for before in reversed(self._before):
            set_stream(before)
