"""Snippets of source code that Inductor puts where generated code deals with devices and streams."""

from __future__ import annotations

from torch._inductor.codegen.common import DeviceOpOverrides


class @{ cookiecutter.class_name }@OpOverrides(DeviceOpOverrides):
    """For generated Python. Those for C++ are left out: only Triton and ahead-of-time compilation ask for them."""

    def import_get_raw_stream_as(self, name: str) -> str:
        """Import a function from device index to the driver's stream handle."""
        return f"from @{ cookiecutter.package }@._compile.interface import get_raw_stream as {name}"

    def set_device(self, device_idx: int) -> str:
        """Make a device current."""
        return f"torch.@{ cookiecutter.device }@.set_device({device_idx})"

    def synchronize(self) -> str:
        """Wait for the device."""
        return "torch.@{ cookiecutter.device }@.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        """Make a device current within a block."""
        return f"torch.@{ cookiecutter.device }@.device({device_idx})"

    def current_stream(self) -> str:
        """Return the current stream."""
        return "torch.@{ cookiecutter.device }@.current_stream()"
