"""Device profiles that can be found here: those of the suite and those that installed backends ship."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from conformance.data import specs_dir
from conformance.device.profile import Profile, load_profile
from conformance.errors import OnboardError
from onboard.machine import entrypoints

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listed:
    """A profile with what is installed of its backend. `version` is None where the distribution is not installed.

    `origin` is `suite` or the distribution that ships the profile, `source` the file in it.
    """

    profile: Profile
    origin: str
    source: str
    version: str | None

    @property
    def installed(self) -> bool:
        """A profile without a distribution describes a device that torch itself brings."""
        return self.profile.distribution is None or self.version is not None


@dataclass(frozen=True, slots=True)
class Listing:
    """Profiles by name, and for each one that could not be had the reason."""

    profiles: tuple[Listed, ...]
    problems: tuple[str, ...]


def list_profiles() -> Listing:
    """Profiles of installed backends first, then those of the suite; a bad one is a problem, not the end."""
    found: list[Listed] = []
    problems: list[str] = []
    for entry in entrypoints.installed([entrypoints.PROFILES]):
        origin = entry.distribution or entry.value
        path = entrypoints.profile_path(entry)
        if path is None:
            problems.append(f"the profile {entry.name} of {origin}: {entry.value} names no file")
            continue
        _add(path, origin, path.name, found, problems)
    for path in sorted((specs_dir() / "devices").glob("*.yaml")):
        _add(path, "suite", f"specs/devices/{path.name}", found, problems)
    return Listing(tuple(found), tuple(problems))


def _add(path: Path, origin: str, source: str, found: list[Listed], problems: list[str]) -> None:
    try:
        profile = load_profile(path, source)
    except OnboardError as error:
        problems.append(error.message)
        return
    found.append(Listed(profile, origin, source, _version(profile.distribution)))


def _version(distribution: str | None) -> str | None:
    if distribution is None:
        return None
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
