"""What was measured: for each overload that the plan reaches, a case that calls it and judges what comes of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.spec.plan import torch_minor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Witnesses:
    """`overloads` and `opinfo` map a name to the id of a case; `plan` is the digest of the plan that was run."""

    torch: str
    plan: str
    overloads: Mapping[str, str]
    opinfo: Mapping[str, str]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join([self.plan, *_lines(self)]).encode()).hexdigest()


def witnesses_path(root: Path, version: str) -> Path:
    return root / "coverage" / f"torch-{torch_minor(version)}.txt"


def write_witnesses(path: Path, found: Witnesses) -> None:
    """Write them as text: a header, then `overload NAME CASE` and `opinfo NAME CASE`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = [f"torch {found.torch}", f"plan {found.plan}", f"digest {found.digest}"]
    path.write_text("\n".join([*header, *_lines(found)]) + "\n", encoding="utf-8")


def _lines(found: Witnesses) -> list[str]:
    return [
        f"{kind} {name} {case}"
        for kind, table in (("overload", found.overloads), ("opinfo", found.opinfo))
        for name, case in sorted(table.items())
    ]


def read_witnesses(path: Path) -> Witnesses | None:
    """Read them back, or None where this torch has none; raises UsageError for a file that contradicts its digest."""
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    tables: dict[str, dict[str, str]] = {"overload": {}, "opinfo": {}}
    try:
        header = dict(line.split(" ", 1) for line in lines[:3])
        for line in lines[3:]:
            kind, name, case = line.split(" ", 2)
            tables[kind][name] = case
        found = Witnesses(header["torch"], header["plan"], tables["overload"], tables["opinfo"])
        stated = header["digest"]
    except (ValueError, KeyError):
        raise UsageError(f"{path.name}: no coverage", hint="run `onboard spec freeze` on the torch it is for") from None
    if found.digest != stated:
        raise UsageError(f"{path.name}: the lines do not have the digest that the file states")
    return found
