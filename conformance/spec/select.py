"""What of the plan a run takes: the groups of the levels in question, narrowed by the user's globs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.spec.smoke import smoke
from conformance.spec.suite import Suite, require_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.device.profile import Profile
    from conformance.spec.levels import Level
    from conformance.spec.plan import Group, Plan


#: The checks of operators that a preview runs of a level that nobody asked to be judged.
PREVIEWED = ("operators.forward",)


@dataclass(frozen=True, slots=True)
class Selection:
    """The groups to run; `judged` levels decide the exit code, `previewed` ones are only shown.

    `narrowed` says that globs, a model or a smoke run cut the plan, so that no level can be held by this run.
    """

    groups: tuple[Group, ...]
    judged: tuple[str, ...]
    previewed: tuple[str, ...]
    narrowed: bool


def select(
    suite: Suite,
    plan: Plan,
    profile: Profile,
    *,
    levels: tuple[str, ...] = (),
    checks: str | None = None,
    ops: str | None = None,
    dtypes: tuple[str, ...] = (),
    concerned: frozenset[tuple[str, str]] | None = None,
    smoke_only: bool = False,
    only: frozenset[str] | None = None,
) -> Selection:
    """Choose the groups; an unknown word or a selection of nothing is a UsageError.

    `concerned` are operators with a dtype: of the checks of operators, only these groups, and nothing of other checks.
    `smoke_only` leaves of what is chosen a case of each kind; `only` leaves of the plan these cases.
    """
    require_known("level", list(levels), list(suite.levels))
    require_known("level in the profile", list(profile.levels), list(suite.levels))
    judged = with_prerequisites(suite, levels or profile.levels or tuple(suite.levels)[:1])
    previewed = () if levels else next_levels(suite, judged)
    narrowed = bool(checks or ops or dtypes or concerned is not None or smoke_only or only is not None)
    # Globs without --level search the whole plan: whoever names an operator wants it run, whatever its level.
    wanted = tuple(suite.levels) if narrowed and not levels else judged + previewed
    groups = plan.groups if narrowed and not levels else shown_groups(suite, plan, judged, wanted)
    if checks:
        known = _matching("check", checks, {g.check for g in plan.groups})
        groups = tuple(g for g in groups if g.check in known)
    if ops:
        known = _matching("operator", ops, {g.operator for g in plan.groups})
        groups = tuple(g for g in groups if g.operator in known)
    if dtypes:
        require_known("dtype", list(dtypes), sorted({g.dtype for g in plan.groups} - {"any"}))
        groups = tuple(g for g in groups if g.dtype in dtypes)
    if concerned is not None:
        groups = tuple(g for g in groups if g.check.startswith("operators.") and (g.operator, g.dtype) in concerned)
    if smoke_only:
        held = set(required_groups(suite, plan, tuple(suite.levels)))
        groups = smoke(suite, [group for group in groups if group in held])
    if only is not None:
        groups = _left(groups, only)
    if not groups:
        raise UsageError(
            "the selection selects nothing",
            hint="each of --level, --checks, --ops, --dtypes, --model, --last-failed matches something, but nothing "
            "matches them all",
        )
    return Selection(groups, judged, previewed, narrowed)


def shown_groups(suite: Suite, plan: Plan, judged: Sequence[str], shown: Sequence[str]) -> tuple[Group, ...]:
    """The groups of the judged levels, and of the other levels that are shown what a preview takes."""
    return tuple(
        group
        for group in required_groups(suite, plan, tuple(shown))
        if not _is_extensive(group) or any(covers(suite, suite.levels[name], group) for name in judged)
    )


def _is_extensive(group: Group) -> bool:
    """Whether a preview leaves the group out: it shows what operators there are, not every way to call them."""
    return group.check.startswith("operators.") and group.check not in PREVIEWED


def with_prerequisites(suite: Suite, levels: tuple[str, ...]) -> tuple[str, ...]:
    """The levels and everything that they come after, prerequisites first."""
    needed: set[str] = set()
    waiting = list(levels)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += suite.levels[name].after
    return tuple(name for name in suite.levels if name in needed)


def next_levels(suite: Suite, held: tuple[str, ...]) -> tuple[str, ...]:
    """The levels whose prerequisites are all among `held` and which are not held themselves."""
    return tuple(
        name
        for name, level in suite.levels.items()
        if name not in held and all(before in held for before in level.after)
    )


def required_groups(suite: Suite, plan: Plan, levels: tuple[str, ...]) -> tuple[Group, ...]:
    return tuple(g for g in plan.groups if any(covers(suite, suite.levels[name], g) for name in levels))


def covers(suite: Suite, level: Level, group: Group, *, native: bool = False) -> bool:
    """Whether the level needs the group; with `native`, whether it needs the group served natively."""
    spec = suite.operators.get(group.operator) if group.check.startswith("operators.") else None
    return any(
        requirement.covers(group.check, group.operator, group.dtype, spec.level if spec else None)
        for requirement in level.requirements
        if requirement.native or not native
    )


def _left(groups: Sequence[Group], only: frozenset[str]) -> tuple[Group, ...]:
    """The groups with those of their cases that are wanted, in their order."""
    cut = (replace(g, names=tuple(name for name in g.names if f"{g.id}/{name}" in only)) for g in groups)
    return tuple(group for group in cut if group.names)


def _matching(kind: str, glob: str, names: set[str]) -> set[str]:
    """The names that match; where none does, those that do without their namespace, as `relu` does."""
    matching = {name for name in names if fnmatchcase(name, glob)}
    if not matching:
        matching = {name for name in names if fnmatchcase(name.rpartition(".")[2], glob)}
    if not matching:
        require_known(kind, [glob], sorted({*names, *(name.rpartition(".")[2] for name in names)}))
    return matching
