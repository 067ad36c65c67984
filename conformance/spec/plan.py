"""The plan: every case that has to run, known before anything runs, frozen per torch version."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Group:
    """Check x operator x dtype, the unit of scheduling, with the names of its cases in sorted order."""

    check: str
    operator: str
    dtype: str
    names: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.check}/{self.operator}/{self.dtype}"

    def cases(self) -> Iterator[str]:
        return (f"{self.id}/{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Plan:
    """All groups for one torch minor. `frozen` is False where the plan was made by the run that it judges."""

    torch: str
    groups: tuple[Group, ...]
    digest: str
    frozen: bool

    @property
    def size(self) -> int:
        return sum(len(group.names) for group in self.groups)


def make_plan(torch_version: str, groups: Iterable[Group], *, frozen: bool = False) -> Plan:
    ordered = tuple(sorted(groups, key=lambda g: g.id))
    twice = [one.id for one, other in itertools.pairwise(ordered) if one.id == other.id]
    if twice:
        raise ValueError(f"planned twice: {', '.join(twice)}")  # a check that names a group twice is at fault
    return Plan(torch_minor(torch_version), ordered, plan_digest(ordered), frozen)


def plan_digest(groups: Iterable[Group]) -> str:
    """The sha256 over all case ids, one per line, in the order of the groups."""
    total = hashlib.sha256()
    for group in groups:
        for case in group.cases():
            total.update(case.encode() + b"\n")
    return total.hexdigest()


def torch_minor(version: str) -> str:
    """`2.13` of `2.13.0+cpu`; raises UsageError for what is no version."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if not found:
        raise UsageError(f"not a torch version: {version!r}")
    return f"{found[1]}.{found[2]}"


def plan_path(root: Path, version: str) -> Path:
    return root / "plans" / f"torch-{torch_minor(version)}.txt"


def write_plan(path: Path, plan: Plan) -> None:
    """Write the plan as text: a header, then one line per group with runs of numbers folded like `a-{0000..0007}`."""
    lines = [f"torch {plan.torch}", f"cases {plan.size}", f"digest {plan.digest}"]
    lines += [f"{group.id} {' '.join(fold(group.names))}" for group in plan.groups]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_plan(path: Path) -> Plan | None:
    """Read a frozen plan, or None when this torch has none; raises UsageError when the file contradicts its digest."""
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        header = dict(line.split(" ", 1) for line in lines[:3])
        groups = []
        for line in lines[3:]:
            identity, *folded = line.split(" ")
            check, operator, dtype = identity.split("/")
            groups.append(Group(check, operator, dtype, tuple(unfold(folded))))
        plan = Plan(header["torch"], tuple(groups), plan_digest(groups), frozen=True)
    except (ValueError, KeyError):
        raise UsageError(f"{path.name}: not a plan", hint="run `onboard spec freeze` on the torch it is for") from None
    if plan.digest != header["digest"] or plan.size != int(header["cases"]):
        raise UsageError(f"{path.name}: the cases do not have the digest that the file states")
    return plan


_NUMBER = re.compile(r"\d+")
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")


def fold(names: Iterable[str]) -> list[str]:
    """Fold names that differ only in their first number, counting up by one, into one word each."""
    runs: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    for name in sorted(names):
        found = _NUMBER.search(name)
        if found is None:
            plain.append(name)
            continue
        key = (name[: found.start()], name[found.end() :], len(found[0]))
        runs.setdefault(key, []).append(int(found[0]))
    words = list(plain)
    for (head, tail, width), numbers in runs.items():
        for first, last in _stretches(numbers):
            middle = f"{first:0{width}}" if first == last else f"{{{first:0{width}}..{last:0{width}}}}"
            words.append(f"{head}{middle}{tail}")
    return words


def unfold(words: Iterable[str]) -> list[str]:
    """The inverse of `fold`, in sorted order."""
    names: list[str] = []
    for word in words:
        found = _RANGE.search(word)
        if found is None:
            names.append(word)
            continue
        width = len(found[1])
        names += [
            f"{word[: found.start()]}{number:0{width}}{word[found.end() :]}"
            for number in range(int(found[1]), int(found[2]) + 1)
        ]
    return sorted(names)


def _stretches(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
