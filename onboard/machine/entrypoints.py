"""Entry points that make a backend known: listed without importing, then each loaded in a process of its own.

A profile is no code: its entry point `NAME = "package:file.yaml"` is read as a file and nothing of it is imported.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onboard.machine.child import Answer, ask

if TYPE_CHECKING:
    from collections.abc import Iterable

BACKENDS = "torch.backends"
DYNAMO = "torch_dynamo_backends"
PROFILES = "onboard.profiles"
GROUPS = (BACKENDS, DYNAMO, PROFILES)


@dataclass(frozen=True, slots=True)
class Entry:
    """One declared entry point and the distribution that declares it."""

    group: str
    name: str
    value: str
    distribution: str | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """An entry point after it was loaded on its own."""

    entry: Entry
    answer: Answer

    @property
    def privateuse1(self) -> str | None:
        """The name that the backend gave to PrivateUse1, or None."""
        name = self.answer.data.get("privateuse1")
        return None if name is None else str(name)


def installed(groups: Iterable[str] = GROUPS) -> list[Entry]:
    """Every entry point of the groups, sorted; nothing is imported."""
    found = {
        Entry(group, entry.name, entry.value, entry.dist.name if entry.dist is not None else None)
        for group in groups
        for entry in metadata.entry_points(group=group)
    }
    return sorted(found, key=lambda e: (e.group, e.name, e.value, e.distribution or ""))


def profile_path(entry: Entry) -> Path | None:
    """Find the file that an entry point of `onboard.profiles` names, without importing the package."""
    package, _, name = entry.value.partition(":")
    spec = find_spec(package.split(".")[0])
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    candidates = (Path(folder, name or "onboard.yaml") for folder in folders)
    return next((path for path in candidates if path.is_file()), None)


def load_each(entries: Iterable[Entry]) -> list[Loaded]:
    """Load each entry point in a process of its own, two at a time, in the given order."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_load, entries))


def _load(entry: Entry) -> Loaded:
    return Loaded(entry, ask("entry-point", json.dumps([entry.group, entry.name, entry.value])))
