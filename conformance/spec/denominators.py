"""The denominators: what there is of a torch version to cover, and what of it lies outside, by which rule."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.spec.plan import torch_minor
from conformance.spec.yamlfile import read_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

#: Who serves an overload for a backend that has registered nothing: nobody, PyTorch's code for any backend, or
#: PyTorch's differentiable composite code.
SERVED = ("kernel", "default", "math")

#: The parts of the dispatcher that are counted, and what each means in words.
PARTS = {
    "core": "overloads with the core tag",
    "kernel": "overloads that no code of PyTorch serves: a backend needs a kernel",
    "backend": "overloads for which the dispatcher asks the backend's own key before any code of PyTorch",
    "aten": "all overloads that a program can call, composites included",
}


@dataclass(frozen=True, slots=True)
class Overload:
    """One `aten::` overload. `rule` names the rule that puts it outside, or is None inside.

    `host` says that the host can run it: what it cannot run no case on the host reaches.
    """

    name: str
    served: str
    core: bool
    rule: str | None = None
    host: bool = True

    def belongs(self, part: str) -> bool:
        """Whether it is counted in one of PARTS, outside or inside."""
        if part == "core":
            return self.core
        return part == "aten" or (self.served == "kernel" if part == "kernel" else self.served != "math")


@dataclass(frozen=True, slots=True)
class Denominators:
    """What one torch minor has: its overloads and its OpInfo entries, both sorted by name."""

    torch: str
    overloads: tuple[Overload, ...]
    opinfo: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(_lines(self)).encode()).hexdigest()

    def part(self, name: str) -> tuple[Overload, ...]:
        """The overloads of one of PARTS, those outside included."""
        return tuple(one for one in self.overloads if one.belongs(name))


@dataclass(frozen=True, slots=True)
class Rule:
    """Why some overloads lie outside: their name fits a glob, or their only kernels are for some dispatch keys."""

    id: str
    why: str
    names: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()

    def fits(self, name: str, keys: Collection[str]) -> bool:
        """`name` without namespace; `keys` are the dispatch keys that have a kernel."""
        return any(fnmatchcase(name, glob) for glob in self.names) or bool(keys and self.only.issuperset(keys))


def load_rules(root: Path) -> tuple[Rule, ...]:
    """The rules of the suite, in the order in which they are asked."""
    top = read_yaml(root / "denominators" / "rules.yaml", "specs/denominators/rules.yaml").record(["rules"])
    rules = []
    for name, node in top["rules"].mapping().items():
        fields = node.record(["why"], ["names", "only"])
        if len(fields) == 1:
            node.fail("the rule fits nothing", hint="add `names:` or `only:`")
        names, only = (fields[key].texts() if key in fields else () for key in ("names", "only"))
        rules.append(Rule(name, fields["why"].text(), names, frozenset(only)))
    return tuple(rules)


def rule_for(rules: Iterable[Rule], name: str, keys: Collection[str]) -> str | None:
    """The id of the first rule that fits an overload such as `aten::rename`."""
    bare = name.removeprefix("aten::")
    return next((rule.id for rule in rules if rule.fits(bare, keys)), None)


def denominators_path(root: Path, version: str) -> Path:
    return root / "denominators" / f"torch-{torch_minor(version)}.txt"


def nearest(root: Path, version: str) -> Denominators | None:
    """The denominators of this torch, else of the newest one before it: what a newer torch is compared with."""
    wanted = _number(torch_minor(version))
    known = sorted((root / "denominators").glob("torch-*.txt"), key=lambda p: _number(p.stem.removeprefix("torch-")))
    fit = [path for path in known if _number(path.stem.removeprefix("torch-")) <= wanted]
    return read_denominators(fit[-1]) if fit else None


def _number(minor: str) -> tuple[int, ...]:
    return tuple(int(part) for part in minor.split("."))


def write_denominators(path: Path, found: Denominators) -> None:
    """Write them as text: a header, then `overload NAME SERVED core|- host|- RULE|-` and `opinfo NAME`."""
    header = [f"torch {found.torch}", f"overloads {len(found.overloads)}", f"opinfo {len(found.opinfo)}"]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*header, f"digest {found.digest}", *_lines(found)])
    path.write_text(text + "\n", encoding="utf-8")


def _lines(found: Denominators) -> list[str]:
    overloads = [
        f"overload {o.name} {o.served} {'core' if o.core else '-'} {'host' if o.host else '-'} {o.rule or '-'}"
        for o in found.overloads
    ]
    return [*overloads, *(f"opinfo {name}" for name in found.opinfo)]


def read_denominators(path: Path) -> Denominators:
    """Read them back; raises UsageError for a file that contradicts its header or is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = dict(line.split(" ", 1) for line in lines[:4])
        overloads, opinfo = [], []
        for line in lines[4:]:
            kind, name, *rest = line.split(" ")
            if kind == "opinfo":
                opinfo.append(name)
                continue
            served, core, host, rule = rest
            overloads.append(Overload(name, served, core == "core", None if rule == "-" else rule, host == "host"))
        found = Denominators(header["torch"], tuple(overloads), tuple(opinfo))
        stated = (int(header["overloads"]), int(header["opinfo"]), header["digest"])
    except (OSError, ValueError, KeyError):
        hint = "run `onboard spec freeze` on the torch they are for"
        raise UsageError(f"{path.name}: no denominators", hint=hint) from None
    if stated != (len(found.overloads), len(found.opinfo), found.digest):
        raise UsageError(f"{path.name}: the lines do not have the digest that the file states")
    return found
