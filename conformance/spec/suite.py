"""The whole suite: operators, checks and levels under one version and one digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.data import specs_dir
from conformance.errors import UsageError, did_you_mean
from conformance.spec.cases import load_cases, with_cases
from conformance.spec.levels import Level, load_levels
from conformance.spec.operators import OperatorSpec, load_family
from conformance.spec.policy import Allowance, load_policy
from conformance.spec.yamlfile import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

#: Not part of the suite: profiles have digests of their own.
_OUTSIDE = frozenset({"devices"})


@dataclass(frozen=True, slots=True)
class Suite:
    """A version of `specs/`. `digest` is the sha256 over the names and bytes of all its files but the profiles.

    `compiling` are globs of checks whose every case is a first call, for deadlines.
    """

    name: str
    version: str
    digest: str
    root: Path
    newest_torch: str
    withdrawn: bool
    case_seconds: float
    first_call_seconds: float
    compiling: tuple[str, ...]
    operators: dict[str, OperatorSpec]
    levels: dict[str, Level]
    policy: dict[str, Allowance]


def load_suite(root: Path | None = None) -> Suite:
    """Load and validate the suite; raises UsageError with file, line and hint."""
    folder = root or specs_dir()
    if not (folder / "suite.yaml").is_file():
        raise UsageError(f"{folder}: not a suite: no suite.yaml in it")
    top = read_yaml(folder / "suite.yaml", "specs/suite.yaml").record(
        ["suite", "version", "newest_torch", "seconds"], ["withdrawn"]
    )
    seconds = top["seconds"].record(["case", "first_call"], ["compiling"])
    operators: dict[str, OperatorSpec] = {}
    for path in sorted((folder / "operators").glob("*.yaml")):
        source = f"specs/operators/{path.name}"
        for spec in load_family(path, source):
            if spec.name in operators:
                other = operators[spec.name].family
                raise UsageError(f"{source}: the operator {spec.name!r} belongs to the family {other!r} already")
            operators[spec.name] = spec
    for path in sorted((folder / "cases").glob("*.yaml")):
        operators = with_cases(operators, load_cases(path, f"specs/cases/{path.name}"))
    return Suite(
        name=top["suite"].text(),
        version=top["version"].text(),
        digest=suite_digest(folder),
        root=folder,
        newest_torch=top["newest_torch"].text(),
        withdrawn=top["withdrawn"].boolean() if "withdrawn" in top else False,
        case_seconds=seconds["case"].number(),
        first_call_seconds=seconds["first_call"].number(),
        compiling=tuple(seconds["compiling"].texts()) if "compiling" in seconds else (),
        operators=operators,
        levels=load_levels(folder / "levels"),
        policy=load_policy(folder / "policy.yaml"),
    )


def suite_digest(root: Path) -> str:
    """Hash every file of the suite by its relative name, size and bytes, in the order of the names."""
    total = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        relative = path.relative_to(root)
        if relative.parts[0] in _OUTSIDE or any(part.startswith((".", "__")) for part in relative.parts):
            continue
        data = path.read_bytes()
        total.update(f"{relative.as_posix()}\0{len(data)}\0".encode() + data)
    return total.hexdigest()


def require_known(kind: str, words: list[str], known: list[str]) -> None:
    """Raise UsageError for the first word that is not known, with a did-you-mean."""
    for word in words:
        if word not in known:
            hint = did_you_mean(word, known) or f"known: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"
            raise UsageError(f"unknown {kind} {word!r}", hint=hint)
