"""What a run amounts to, derived from its rows and the verifier's own suite and plan; nothing recorded is believed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.spec.select import covers, shown_groups, with_prerequisites
from conformance.verdict import LevelVerdict, count_executions, count_outcomes, judge_levels, overall
from onboard.attest.rows import contradiction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.results import Row
    from conformance.spec.plan import Group, Plan
    from conformance.spec.suite import Suite

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The derived whole. `passed`, `warned` and `failed` are group ids; every group that ran is in exactly one.

    `failed` groups keep a judged level from passing; `warned` ones hold something else than passes.
    """

    verdict: str
    levels: dict[str, LevelVerdict]
    outcomes: dict[str, int]
    execution: dict[str, int]
    passed: tuple[str, ...]
    warned: tuple[str, ...]
    failed: tuple[str, ...]


def derive(suite: Suite, plan: Plan, rows: Sequence[Row], judged: Sequence[str], shown: Sequence[str]) -> Outcome:
    """Derive verdicts, counts and groups; `shown` are the levels to report on, the `judged` ones among them."""
    levels = judge_levels(suite, plan, rows, _ordered(suite, shown))
    by_group: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_group[row.group].append(row)
    sorted_into: dict[str, list[str]] = {"passed": [], "warned": [], "failed": []}
    for group in plan.groups:
        if group.id in by_group:
            sorted_into[_class(suite, plan, group, by_group[group.id], judged)].append(group.id)
    return Outcome(
        verdict=overall(levels, judged, rows, narrowed=False),
        levels=levels,
        outcomes=count_outcomes(rows),
        execution=count_executions(rows),
        passed=tuple(sorted_into["passed"]),
        warned=tuple(sorted_into["warned"]),
        failed=tuple(sorted_into["failed"]),
    )


def case_problems(
    suite: Suite, plan: Plan, rows: Sequence[Row], judged: Sequence[str], shown: Sequence[str]
) -> list[str]:
    """Compare the cases of the rows with those required: missing, unknown and doubled ones, each with a count.

    Required is every case of the judged levels, of the other levels shown what a preview takes, and every case of any
    further group that has a row at all.
    """
    counts = Counter(row.case for row in rows)
    touched = {row.group for row in rows}
    needed = {group.id for group in shown_groups(suite, plan, judged, _ordered(suite, shown))}
    required = {case for group in plan.groups if group.id in touched | needed for case in group.cases()}
    return [
        *_listed("missing", sorted(required - counts.keys())),
        *_listed("unknown", sorted(counts.keys() - required)),
        *_listed("recorded more than once", sorted(case for case, count in counts.items() if count > 1)),
    ]


def outcome_problems(suite: Suite, rows: Iterable[Row]) -> list[str]:
    """List the rows whose outcome does not follow from what they record."""
    found = [f"{row.case}: {problem}" for row in rows if (problem := contradiction(row, suite)) is not None]
    rest = len(found) - SHOWN
    return found[:SHOWN] + ([f"and {rest} more"] if rest > 0 else [])


def level_problem(suite: Suite, judged: Sequence[str], shown: Sequence[str]) -> str | None:
    """Say what is wrong with the levels that a report names, or None."""
    for name in (*judged, *shown):
        if name not in suite.levels:
            return f"the suite has no level {name!r}"
    if not judged:
        return "no level was judged"
    if set(judged) != set(with_prerequisites(suite, tuple(judged))):
        return "a judged level lacks one of its prerequisites"
    if not set(judged) <= set(shown):
        return "a judged level has no verdict"
    return None


def _ordered(suite: Suite, levels: Sequence[str]) -> list[str]:
    return [name for name in suite.levels if name in levels]


def _class(suite: Suite, plan: Plan, group: Group, rows: Sequence[Row], judged: Sequence[str]) -> str:
    alone = replace(plan, groups=(group,))
    for name in judged:
        if covers(suite, suite.levels[name], group):
            verdict = judge_levels(suite, alone, rows, [name])[name]
            # Nothing required is left where the policy lets the whole group be declared unsupported.
            if verdict.required and verdict.verdict != "pass":
                return "failed"
    return "passed" if all(row.outcome == "pass" for row in rows) else "warned"


def _listed(what: str, cases: Sequence[str]) -> list[str]:
    if not cases:
        return []
    shown = ", ".join(cases[:SHOWN]) + (", ..." if len(cases) > SHOWN else "")
    return [f"{len(cases)} {what}: {shown}"]
