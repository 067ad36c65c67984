"""A level: a named set of requirements with prerequisites. Levels are no ranks; a report lists those that are held."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.spec.operators import DTYPES, LEVELS
from conformance.spec.yamlfile import Node, read_yaml

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Requirement:
    """Which groups a level needs: check globs, operator names (`*` for all), dtypes (empty for all), and how served.

    `native` demands that no operator among them is served by a fallback. `levels` restricts to operators whose family
    declares one of these levels; empty means no restriction.
    """

    checks: tuple[str, ...]
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    levels: tuple[str, ...]
    native: bool

    def covers(self, check: str, operator: str, dtype: str, operator_level: str | None) -> bool:
        return (
            any(fnmatchcase(check, glob) for glob in self.checks)
            and any(fnmatchcase(operator, glob) for glob in self.operators)
            and (not self.dtypes or dtype in self.dtypes or dtype == "any")
            and (not self.levels or operator_level is None or operator_level in self.levels)
        )


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    after: tuple[str, ...]
    summary: str
    requirements: tuple[Requirement, ...]


def load_levels(folder: Path) -> dict[str, Level]:
    """Read all levels, prerequisites before what needs them; an unknown prerequisite is an error."""
    found: dict[str, tuple[Level, Node]] = {}
    for path in sorted(folder.glob("*.yaml")):
        root = read_yaml(path, f"specs/levels/{path.name}")
        level = _level(root)
        found[level.name] = (level, root)
    ordered: dict[str, Level] = {}

    def place(name: str) -> None:
        level, root = found[name]
        for before in level.after:
            if before not in found:
                root.fail(f"after: no level is named {before!r}")
            if before not in ordered:
                place(before)
        ordered[name] = level

    for name in found:
        if name not in ordered:
            place(name)
    return ordered


def _level(root: Node) -> Level:
    top = root.record(["level", "after", "summary", "require"])
    return Level(
        name=top["level"].text(LEVELS),
        after=top["after"].texts(LEVELS),
        summary=top["summary"].text(),
        requirements=tuple(_requirement(node) for node in top["require"].items()),
    )


def _requirement(node: Node) -> Requirement:
    fields = node.record(["checks"], ["operators", "dtypes", "levels", "execution"])
    return Requirement(
        checks=fields["checks"].texts(),
        operators=fields["operators"].texts() if "operators" in fields else ("*",),
        dtypes=fields["dtypes"].texts(DTYPES) if "dtypes" in fields else (),
        levels=fields["levels"].texts(LEVELS) if "levels" in fields else (),
        native="execution" in fields and fields["execution"].text(["native"]) == "native",
    )
