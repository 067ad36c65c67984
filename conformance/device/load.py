"""Bringing a device up in the current process. Imports torch and, through it, the vendor's code."""

from __future__ import annotations

import importlib
import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import torch

from conformance.errors import EnvironmentFailure

if TYPE_CHECKING:
    from conformance.device.profile import Profile


def load_device(profile: Profile, import_module: str | None = None) -> torch.device:
    """Import the backend that serves the profile and return its device after a first allocation.

    Only the named module or the entry point of the profile's own package is loaded: another backend that happens to
    be installed would take the one PrivateUse1 slot of the process. Raises EnvironmentFailure, or whatever the import
    raises.
    """
    os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    for module in (import_module, profile.import_module):
        if module:
            importlib.import_module(module)
            _call_autoload(module)
    try:
        device = torch.device(profile.device)
        torch.empty(1, device=device)
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        renamed = torch._C._get_privateuse1_backend_name()  # noqa: SLF001 - torch offers no public way
        hint = f"the backend that was loaded calls its device {renamed!r}" if renamed != "privateuseone" else None
        message = f"torch has no device {profile.device!r}: {str(error).splitlines()[0]}"
        raise EnvironmentFailure(message, hint=hint) from error
    return device


def _call_autoload(module: str) -> None:
    """Call the module's `torch.backends` entry point, as `import torch` does; a module may do without one."""
    for entry in entry_points(group="torch.backends"):
        if entry.module.split(".")[0] == module.split(".", maxsplit=1)[0]:
            entry.load()()


def describe_device(device: torch.device) -> dict[str, Any]:
    """Type, count and properties that the backend states; a backend that states nothing gives nothing."""
    module = getattr(torch, device.type, None)
    found: dict[str, Any] = {"type": device.type}
    count = getattr(module, "device_count", None)
    if callable(count):
        found["count"] = int(count())
    name = getattr(module, "get_device_name", None)
    if callable(name) and device.type != "cpu":
        try:
            found["name"] = str(name())
        except Exception as error:  # noqa: BLE001 - a property that cannot be read is itself worth recording
            found["name_error"] = type(error).__name__
    simulated = getattr(module, "is_simulated", None)
    if callable(simulated):
        found["simulated"] = bool(simulated())
    return found
