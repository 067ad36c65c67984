"""What was tested: the backend's distribution, named and hashed without importing it."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Written by installers and interpreters, different on every machine.
_OUTSIDE = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})


@dataclass(frozen=True, slots=True)
class Subject:
    """A named digest (lowercase hex sha256); `name` says what was hashed."""

    name: str
    sha256: str


def wheel_subject(wheel: Path) -> Subject:
    """Hash a wheel file; raises EnvironmentFailure when it can't be read."""
    try:
        return Subject(wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest())
    except OSError as error:
        raise EnvironmentFailure(f"{wheel} can't be read: {error.strerror}") from None


def distribution_subject(distribution: str) -> Subject:
    """Hash the installed files of a distribution: those its RECORD lists, bytecode and installer notes left out.

    An editable installation lists a pointer to the sources and not the sources: then the package folders are hashed as
    well, so that an edit changes the digest. Raises EnvironmentFailure when the distribution is not installed, lists a
    file that is not there, or is editable and its package can't be found.
    """
    found = _find(distribution)
    files = [(entry, Path(str(found.locate_file(entry)))) for entry, _ in _record(found)]
    if not _editable(found):
        return Subject(f"{distribution} {found.version} (installed files)", _digest(files))
    folders = [(name, folder) for name in _modules(found) if (folder := _folder(name)) is not None]
    if not folders:
        raise EnvironmentFailure(
            f"{distribution} is installed as editable, and its package can't be found",
            hint="install it from a wheel before signing",
        )
    for name, folder in folders:
        files += [(f"{name}/{path.relative_to(folder).as_posix()}", path) for path in _tree(folder)]
    return Subject(f"{distribution} {found.version} (editable installation and package folder)", _digest(files))


def record_digest(distribution: str) -> str:
    """Hash the RECORD of an installed distribution, which lists the digest of each of its files.

    Far cheaper than hashing the files; it says which build was installed, not that nobody edited it since.
    """
    rows = sorted(f"{entry}\0{digest}\n" for entry, digest in _record(_find(distribution)))
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def _find(distribution: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise EnvironmentFailure(f"{distribution} is not installed", hint=f"pip install {distribution}") from None


def _record(found: importlib.metadata.Distribution) -> list[tuple[str, str]]:
    """List the files of a distribution with their recorded digests.

    The file itself is read: since Python 3.12 `Distribution.files` leaves out what was deleted.
    """
    rows = [row for row in csv.reader((found.read_text("RECORD") or "").splitlines()) if len(row) == 3]
    kept = [(name, digest) for name, digest, _ in rows if not _outside(Path(name))]
    if not kept:
        raise EnvironmentFailure(f"{found.name} records no files", hint=f"install {found.name} from a wheel")
    return kept


def _outside(entry: Path) -> bool:
    # Launchers in bin/ are written by the installer and name its interpreter.
    launcher = entry.parts[:1] == ("..",) and entry.parent.name in ("bin", "Scripts")
    return launcher or entry.suffix == ".pyc" or "__pycache__" in entry.parts or entry.name in _OUTSIDE


def _editable(found: importlib.metadata.Distribution) -> bool:
    note = found.read_text("direct_url.json")
    return note is not None and json.loads(note).get("dir_info", {}).get("editable") is True


def _modules(found: importlib.metadata.Distribution) -> list[str]:
    """Name the import packages: those of the entry points, and those that installers note."""
    named = {entry.value.partition(":")[0].partition(".")[0] for entry in found.entry_points}
    return sorted(named | set((found.read_text("top_level.txt") or "").split()))


def _folder(module: str) -> Path | None:
    # Top-level names only: for these, find_spec looks and does not import.
    spec = importlib.util.find_spec(module)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _tree(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not _outside(path.relative_to(folder)))


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    total = hashlib.sha256()
    for name, path in sorted(files):
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EnvironmentFailure(f"{path} can't be read: {error.strerror}", hint="reinstall the package") from None
        total.update(f"{name}\0{len(data)}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return total.hexdigest()
