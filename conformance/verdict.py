"""What the outcomes amount to: counts, execution and the verdict of each level, derivable by anyone from the rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.results import FAILING, OUTCOMES, Row
from conformance.spec.policy import Allowance
from conformance.spec.select import covers, required_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.spec.plan import Group, Plan
    from conformance.spec.suite import Suite

#: From best to worst; a verdict over several things is the worst of theirs.
VERDICTS = ("pass", "incomplete", "fail")
#: Every outcome from best to worst: of a case that was run more than once the worst counts.
WORST_OUTCOMES = ("pass", "waived", "unsupported", "unjudged", "missing", "flaky", "timeout", "crash", "error", "wrong")
_WORST_EXECUTION = ("native", "composite", "fallback", "absent")


@dataclass(frozen=True, slots=True)
class LevelVerdict:
    """`required` and `passed` count cases without those of the prerequisites; `why` names what stands in the way."""

    verdict: str
    required: int
    passed: int
    why: tuple[str, ...]


def worst(verdicts: Iterable[str]) -> str:
    return max(verdicts, key=VERDICTS.index, default="incomplete")


def count_outcomes(rows: Iterable[Row]) -> dict[str, int]:
    """Every outcome with its count, zero included: nothing vanishes from a report because it did not happen."""
    counts = Counter(row.outcome for row in rows)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def executions(rows: Iterable[Row]) -> dict[str, str]:
    """How each operator was served, over all its dtypes the worst; operators that nobody observed are not in it."""
    found: dict[str, str] = {}
    for row in rows:
        if row.execution is not None and row.check.startswith("operators."):
            before = found.get(row.operator, "native")
            found[row.operator] = max(before, row.execution, key=_WORST_EXECUTION.index)
    return found


def count_executions(rows: Iterable[Row]) -> dict[str, int]:
    counts = Counter(executions(rows).values())
    return {execution: counts[execution] for execution in _WORST_EXECUTION}


def judge_levels(
    suite: Suite, plan: Plan, rows: Sequence[Row], levels: Sequence[str], *, complete: bool = True
) -> dict[str, LevelVerdict]:
    """The verdict of each level (prerequisites first) from the plan joined with the rows.

    A level fails on every failing outcome, `missing` among them. It is `incomplete` when a case that it needs was not
    judged or not selected, when nobody observed how a native operator is served, when the plan is not frozen, or when
    the run was broken off (`complete` is False), which explains what is missing.
    """
    by_case = {row.case: row for row in rows}
    served = executions_by_group(rows)
    found: dict[str, LevelVerdict] = {}
    for name in levels:
        own = _judge_level(suite, plan, name, by_case, served, complete=complete)
        before = [found[prior].verdict for prior in suite.levels[name].after if prior in found]
        verdict = worst([own.verdict, *before])
        why = own.why + tuple(
            f"{prior}: {found[prior].verdict}"
            for prior in suite.levels[name].after
            if prior in found and found[prior].verdict != "pass"
        )
        found[name] = LevelVerdict(verdict, own.required, own.passed, why)
    return found


def executions_by_group(rows: Iterable[Row]) -> dict[str, str]:
    """How each group was served, the worst of what its cases observed."""
    found: dict[str, str] = {}
    for row in rows:
        if row.execution is not None:
            group = row.group
            found[group] = max(found.get(group, "native"), row.execution, key=_WORST_EXECUTION.index)
    return found


def _judge_level(
    suite: Suite, plan: Plan, name: str, by_case: Mapping[str, Row], served: Mapping[str, str], *, complete: bool
) -> LevelVerdict:
    level = suite.levels[name]
    allowed = suite.policy.get(name, Allowance())
    required = passed = 0
    reasons: Counter[str] = Counter()
    for group in required_groups(suite, plan, (name,)):
        declared = False
        for case in group.cases():
            required += 1
            row = by_case.get(case)
            outcome = row.outcome if row else "not selected"
            if outcome in ("pass", "waived"):
                passed += 1
            elif outcome == "unsupported" and allowed.permits(group.check, group.dtype):
                required -= 1
                declared = True
            else:
                reasons["broken off" if outcome == "missing" and not complete else outcome] += 1
        if covers(suite, level, group, native=True) and not declared:
            reasons.update(_unserved(group, served))
    return LevelVerdict(
        _verdict(reasons, frozen=plan.frozen, required=required),
        required,
        passed,
        _explain(reasons, frozen=plan.frozen, required=required),
    )


def _unserved(group: Group, served: Mapping[str, str]) -> list[str]:
    execution = served.get(group.id)
    if execution is None:
        return ["execution not observed"]
    return [execution] if execution in ("fallback", "absent") else []


def _verdict(reasons: Counter[str], *, frozen: bool, required: int) -> str:
    if any(reasons[bad] for bad in (*FAILING, "fallback", "absent", "unsupported")):
        return "fail"
    return "incomplete" if reasons or not frozen or not required else "pass"


def _explain(reasons: Counter[str], *, frozen: bool, required: int) -> tuple[str, ...]:
    groups = ("fallback", "absent", "execution not observed")
    told = [f"{count} {'groups' if reason in groups else 'cases'} {reason}" for reason, count in reasons.most_common()]
    if not required:
        told.append("nothing in the plan is required")
    if not frozen:
        told.append("no frozen plan for this torch: uncalibrated")
    return tuple(told)


def overall(
    levels: Mapping[str, LevelVerdict], judged: Sequence[str], rows: Sequence[Row], *,
    narrowed: bool, complete: bool = True,
) -> str:  # fmt: skip
    """One verdict for a run: that of the judged levels, or of the selected cases alone where the plan was narrowed.

    What a run that was broken off (`complete` is False) did not reach is no failure, and keeps it from passing.
    """
    if narrowed:
        failing = FAILING if complete else FAILING - {"missing"}
        return "fail" if any(row.outcome in failing for row in rows) else "incomplete"
    verdict = worst(levels[name].verdict for name in judged)
    return "incomplete" if verdict == "pass" and not complete else verdict
