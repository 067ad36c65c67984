"""The report of a run: what `--json` prints and every other rendering shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from conformance.findings import ABSENT, Finding
from conformance.verdict import LevelVerdict, count_executions, count_outcomes, executions, judge_levels, overall

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from conformance.device.profile import Profile
    from conformance.results import Row
    from conformance.spec.plan import Plan
    from conformance.spec.select import Selection
    from conformance.spec.suite import Suite

SCHEMA = "https://pytorch.org/onboard/report/v1"


@dataclass(frozen=True, slots=True)
class FamilyLine:
    """One line of the table: a family (or a check), its operators, its cases by outcome and by execution."""

    family: str
    operators: int
    outcomes: dict[str, int]
    execution: dict[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is said of a run. `levels` holds judged and previewed ones; only `judged` make the verdict."""

    verdict: str
    levels: dict[str, LevelVerdict]
    judged: tuple[str, ...]
    previewed: tuple[str, ...]
    device: str
    profile: str
    profile_digest: str
    simulated: bool
    suite_version: str
    suite_digest: str
    torch: str
    plan_digest: str
    calibrated: bool
    complete: bool
    narrowed: bool
    planned: int
    outcomes: dict[str, int]
    execution: dict[str, int]
    self_compared: int
    unjudged_operators: dict[str, str]
    beside_host: int
    host_off_operators: dict[str, str]
    families: tuple[FamilyLine, ...]
    findings: tuple[Finding, ...]
    next: str
    backend: tuple[str, str] | None
    started: str
    finished: str
    seconds: float
    seed: int
    out: str
    shard: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """The JSON document of the contract."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "levels": {
                name: {
                    "verdict": level.verdict, "required": level.required, "passed": level.passed,
                    "judged": name in self.judged, "why": list(level.why),
                }
                for name, level in self.levels.items()
            },
            "device": self.device,
            "profile": self.profile,
            "profile_digest": self.profile_digest,
            "simulated": self.simulated,
            "suite": {"version": self.suite_version, "digest": self.suite_digest},
            "torch": self.torch,
            "plan": {"digest": self.plan_digest, "frozen": self.calibrated},
            "complete": self.complete,
            "narrowed": self.narrowed,
            "planned": self.planned,
            "outcomes": self.outcomes,
            "execution": self.execution,
            "self_compared": self.self_compared,
            "unjudged_operators": self.unjudged_operators,
            "beside_host": self.beside_host,
            "host_off_operators": self.host_off_operators,
            "families": [
                {"family": f.family, "operators": f.operators, "outcomes": f.outcomes, "execution": f.execution}
                for f in self.families
            ],
            "findings": [finding.document() for finding in self.findings],
            "next": self.next,
            "backend": {"name": self.backend[0], "version": self.backend[1]} if self.backend else None,
            "started": self.started,
            "finished": self.finished,
            "seconds": round(self.seconds, 2),
            "seed": self.seed,
            "out": self.out,
            "shard": self.shard,
        }  # fmt: skip


def summarize(
    *,
    suite: Suite,
    plan: Plan,
    profile: Profile,
    selection: Selection,
    rows: Sequence[Row],
    findings: Sequence[Finding],
    environment: dict[str, Any],
    began: float,
    seconds: float,
    complete: bool,
    out: Path,
    backend: tuple[str, str] | None,
    shard: dict[str, Any] | None = None,
) -> Report:
    """Derive the report from the rows; nothing in it is measured anew. `began` is Unix time, `seconds` wall time."""
    levels = judge_levels(suite, plan, rows, (*selection.judged, *selection.previewed), complete=complete)
    verdict = overall(levels, selection.judged, rows, narrowed=selection.narrowed, complete=complete)
    return Report(
        verdict=verdict,
        levels=levels,
        judged=selection.judged,
        previewed=selection.previewed,
        device=profile.device,
        profile=profile.name,
        profile_digest=profile.digest,
        simulated=profile.simulated or bool(environment.get("device", {}).get("simulated")),
        suite_version=suite.version,
        suite_digest=suite.digest,
        torch=str(environment.get("torch", "unknown")),
        plan_digest=plan.digest,
        calibrated=plan.frozen,
        complete=complete,
        narrowed=selection.narrowed,
        planned=len(rows),
        outcomes=count_outcomes(rows),
        execution=count_executions(rows),
        self_compared=sum(row.evidence == "self" for row in rows),
        unjudged_operators=_first_words(row for row in rows if row.outcome == "unjudged"),
        beside_host=sum(row.rung == "host" for row in rows),
        host_off_operators=_first_words(row for row in rows if row.rung == "host"),
        families=_families(suite, rows),
        findings=tuple(findings),
        next=_next(rows, findings, verdict, selection, out) if complete or findings else "run it again, to the end",
        backend=backend,
        started=_iso(began),
        finished=_iso(began + seconds),
        seconds=seconds,
        seed=int(environment.get("seed", 0)),
        out=str(out),
        shard=shard,
    )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _first_words(rows: Iterable[Row]) -> dict[str, str]:
    """The operators of the rows, each with what the first of its rows says."""
    found: dict[str, str] = {}
    for row in rows:
        found.setdefault(row.operator, row.message)
    return found


def _families(suite: Suite, rows: Sequence[Row]) -> tuple[FamilyLine, ...]:
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        spec = suite.operators.get(row.operator) if row.check.startswith("operators.") else None
        grouped.setdefault(spec.family if spec else row.check, []).append(row)
    return tuple(
        FamilyLine(family, len({row.operator for row in own}), count_outcomes(own), count_executions(own))
        for family, own in sorted(grouped.items(), key=lambda item: ("." not in item[0], item[0]))
    )


def _next(rows: Sequence[Row], findings: Sequence[Finding], verdict: str, selection: Selection, out: Path) -> str:
    """The most useful thing to do now, in one line."""
    first = findings[0] if findings else None
    if first is not None and first.id == ABSENT:
        kernel = first.kernels[0] if first.kernels else first.operator
        return f"implement {kernel}: of the absent kernels, most operators wait for it"
    if first is not None:
        return f"onboard repro {out} {first.id}   # {first.title}"
    fallen = Counter(kernel for row in rows for kernel in row.fell_back)
    if fallen:
        kernel, count = max(fallen.items(), key=lambda item: (item[1], item[0]))
        return f"give {kernel} a native kernel: {count} groups are served by its fallback"
    if any(how == "fallback" for how in executions(rows).values()):
        return "give the operators that fall back a native kernel"
    if selection.narrowed:
        return (
            "run the whole plan, without --smoke, --ops, --checks, --dtypes and the like: a part of it holds no level"
        )
    if verdict == "incomplete":
        return "what keeps the level open stands beside it; the suite, not the device, has to move first"
    return f"certify it: sign with --key FILE (onboard key new makes one), then onboard verify {out} --trust FILE"
