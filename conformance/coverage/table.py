"""How much of each denominator the plan reaches, and what it does not reach, by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.spec.denominators import PARTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from conformance.coverage.witnesses import Witnesses
    from conformance.spec.denominators import Denominators, Overload, Rule
    from conformance.spec.suite import Suite

OPINFO = "opinfo"
OPINFO_MEANS = "entries of PyTorch's operator catalogue, variants counted one by one"


@dataclass(frozen=True, slots=True)
class Row:
    """One denominator: `total`, of which `outside` by a rule; `reached` are of those inside, None if not measured."""

    name: str
    means: str
    total: int
    outside: int
    reached: int | None

    @property
    def inside(self) -> int:
        return self.total - self.outside

    @property
    def percent(self) -> float | None:
        """With one decimal, rounded down, so that 100 means all; None where there is nothing to divide."""
        if self.reached is None or not self.inside:
            return None
        return 1000 * self.reached // self.inside / 10


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule: how many overloads it puts outside, and how many of them some case calls all the same."""

    rule: Rule
    overloads: int
    reached: int | None


def rows(found: Denominators, seen: Witnesses | None) -> list[Row]:
    """One row for OpInfo and one for each part of the dispatcher."""
    judged = None if seen is None else _reached(found.opinfo, seen.opinfo)
    table = [Row(OPINFO, OPINFO_MEANS, len(found.opinfo), 0, judged)]
    for name, means in PARTS.items():
        part = found.part(name)
        inside = [one.name for one in part if one.rule is None]
        reached = None if seen is None else _reached(inside, seen.overloads)
        table.append(Row(name, means, len(part), len(part) - len(inside), reached))
    return table


def rule_rows(found: Denominators, seen: Witnesses | None, rules: Sequence[Rule]) -> list[RuleRow]:
    """One row for each rule, in the order in which they are asked."""
    table = []
    for rule in rules:
        fit = [one.name for one in found.overloads if one.rule == rule.id]
        table.append(RuleRow(rule, len(fit), None if seen is None else _reached(fit, seen.overloads)))
    return table


def _reached(names: Iterable[str], seen: Container[str]) -> int:
    return sum(name in seen for name in names)


def missing(found: Denominators, seen: Witnesses, parts: Sequence[str]) -> list[Overload]:
    """The overloads of some parts that are not reached, those inside first, then rule by rule."""
    absent = [
        one for one in found.overloads if one.name not in seen.overloads and any(one.belongs(part) for part in parts)
    ]
    return sorted(absent, key=lambda one: (one.rule is not None, one.rule or "", one.name))


def entries_of(overload: str, suite: Suite, seen: Witnesses) -> tuple[str, ...]:
    """The entries of the suite that an overload belongs to: those that name it, else the one whose case reaches it."""
    bare = overload.removeprefix("aten::")
    named = tuple(name for name, spec in suite.operators.items() if bare in spec.aten)
    if named:
        return named
    case = seen.overloads.get(overload)
    return (case.split("/")[1],) if case else ()


def missing_opinfo(found: Denominators, seen: Witnesses) -> list[str]:
    return [name for name in found.opinfo if name not in seen.opinfo]


@dataclass(frozen=True, slots=True)
class Difference:
    """What the installed torch has that the suite does not know of, and what it has no longer."""

    overloads: tuple[Overload, ...]
    opinfo: tuple[str, ...]
    gone: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.overloads or self.opinfo or self.gone)


def difference(now: Denominators, known: Denominators | None) -> Difference:
    """Compare what is installed with what the suite knows; without anything known all is new."""
    names = {one.name for one in known.overloads} if known else set()
    entries = set(known.opinfo) if known else set()
    gone = (names - {one.name for one in now.overloads}) | (entries - set(now.opinfo))
    return Difference(
        tuple(one for one in now.overloads if one.name not in names),
        tuple(name for name in now.opinfo if name not in entries),
        tuple(sorted(gone)),
    )
