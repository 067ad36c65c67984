"""`--device NAME` to a profile, without importing torch or the backend."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

from conformance.device.profile import Profile, default_profile, load_profile
from conformance.errors import EnvironmentFailure, UsageError, did_you_mean

PROFILE_GROUP = "onboard.profiles"

#: Device types that torch itself serves, so that they need no package. The others of its vocabulary need one.
IN_TREE = ("cpu", "cuda", "mps", "xpu")
#: The rest of torch's vocabulary: parsed by `torch.device`, served by a package or by nothing.
KNOWN_TO_TORCH = (
    "mtia", "hpu", "ipu", "maia", "xla", "vulkan", "meta", "lazy", "ve", "fpga", "ideep", "mkldnn", "opengl", "opencl",
    "hip", "privateuseone",
)  # fmt: skip


def resolve_profile(
    device: str, *, suite_root: Path, profile_file: Path | None = None, import_module: str | None = None
) -> Profile:
    """The profile for a device name: a file, an installed backend's, the suite's own, or a device that torch serves.

    A profile that describes the name is preferred to the bare name, since only it knows which package to import. Two
    installed backends that ship different profiles of one name are a UsageError that names both.
    """
    if profile_file is not None:
        return _checked(load_profile(profile_file), import_module)
    shipped = shipped_profiles()
    if device in shipped:
        return _checked(load_profile(shipped[device]), import_module)
    published = suite_root / "devices" / f"{device}.yaml"
    if published.is_file():
        return _checked(load_profile(published, f"specs/devices/{device}.yaml"), import_module)
    if device in IN_TREE or import_module is not None:
        return _checked(default_profile(device), import_module)
    known = {*shipped, *(p.stem for p in (suite_root / "devices").glob("*.yaml")), *IN_TREE}
    if device in KNOWN_TO_TORCH:
        raise EnvironmentFailure(
            f"torch knows the name {device!r}, but no installed backend serves it and no profile describes it",
            hint="name the backend's module with --import MODULE, or its profile with --profile FILE",
        )
    raise UsageError(
        f"unknown device {device!r}",
        hint=did_you_mean(device, known) or f"known devices: {', '.join(sorted(known))}; or --import MODULE",
    )


def shipped_profiles() -> dict[str, Path]:
    """The profiles of installed backends: entry points `NAME = "package:file.yaml"`, read as files, never imported."""
    found: dict[str, Path] = {}
    for entry in entry_points(group=PROFILE_GROUP):
        spec = find_spec(entry.module.split(".")[0])
        folders = list(spec.submodule_search_locations or []) if spec else []
        paths = [Path(folder) / (entry.attr or "onboard.yaml") for folder in folders]
        path = next((p for p in paths if p.is_file()), None)
        if path is None:
            continue
        before = found.get(entry.name)
        if before is not None and before.read_bytes() != path.read_bytes():
            raise UsageError(
                f"two installed backends ship a profile {entry.name!r}: {before.parent.name} and {path.parent.name}",
                hint="uninstall one of them, or choose with --profile FILE",
            )
        found[entry.name] = path
    return found


def _checked(profile: Profile, import_module: str | None) -> Profile:
    """The profile, after making sure that the package it names is installed."""
    module = import_module or profile.import_module
    if module is None:
        return profile
    if find_spec(module.split(".")[0]) is None:
        named = (
            f" (pip name {profile.distribution})" if profile.distribution and module == profile.import_module else ""
        )
        raise EnvironmentFailure(
            f"no device {profile.name!r} on this machine: the package {module!r}{named} is not installed; "
            f"{profile.source} describes it as torch device {profile.device!r} of {profile.vendor}",
            hint=f"without the hardware: `onboard new-backend {profile.name}` gives a simulated one to start from, "
            "and `onboard conform --device cpu` shows what a run looks like",
        )
    return replace(profile, import_module=module)


def distribution_version(profile: Profile) -> tuple[str, str] | None:
    """The installed distribution that provides the profile's package, and its version."""
    if profile.import_module is None:
        return None
    names = packages_distributions().get(profile.import_module.split(".")[0])
    return (names[0], version(names[0])) if names else None
