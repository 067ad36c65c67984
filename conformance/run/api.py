"""A conformance run from options to report. Never imports torch."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from conformance import results
from conformance.device.resolve import distribution_version, resolve_profile
from conformance.errors import EnvironmentFailure, UsageError
from conformance.findings import find
from conformance.report import Report, summarize
from conformance.run import broken
from conformance.run.journal import Journal, refuse_if_running
from conformance.run.planning import plan_for
from conformance.run.pool import Pool
from conformance.run.supervisor import Limits, Supervisor
from conformance.spec.select import Selection, select
from conformance.spec.shards import Shard, part
from conformance.spec.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.device.profile import Profile
    from conformance.results import Row
    from conformance.run.listener import Listener
    from conformance.spec.plan import Group, Plan
    from conformance.spec.suite import Suite


@dataclass(frozen=True, slots=True)
class ConformOptions:
    """What a user may ask of a run.

    `workers` 0 means one per core that this process may use, at most 8; `model` is `MODEL.py:build`. With `resume` the
    run in `out` that broke off goes on. A `shard` is a part of the run for one of several machines; `only` are
    the cases to run, by id; `repeat` is how often each is run.
    """

    device: str
    out: Path
    levels: tuple[str, ...] = ()
    checks: str | None = None
    ops: str | None = None
    dtypes: tuple[str, ...] = ()
    workers: int = 0
    seed: int = 0
    profile: Path | None = None
    import_module: str | None = None
    suite: Path | None = None
    model: str | None = None
    smoke: bool = False
    resume: bool = False
    shard: Shard | None = None
    only: tuple[str, ...] | None = None
    repeat: int = 1


class Watch(Protocol):
    """Makes the listener of a run once its selection is known."""

    def __call__(self, suite: Suite, selection: Selection, simulated: bool, /) -> Listener: ...


def run_conformance(options: ConformOptions, watch: Watch, note: Callable[[str], None]) -> Report:
    """Run, write the results into `options.out` and return the report; a Ctrl-C leaves a partial, unsignable one.

    `note` is told of steps that take long. What broke off goes on where the options say so. Raises UsageError for
    a selection that makes no sense, or another run than the one that goes on, and EnvironmentFailure when there is no
    device to run on.
    """
    suite = load_suite(options.suite)
    profile = resolve_profile(
        options.device, suite_root=suite.root, profile_file=options.profile, import_module=options.import_module
    )
    plan = plan_for(suite, note)
    chosen = select(
        suite, plan, profile, levels=options.levels, checks=options.checks, ops=options.ops, dtypes=options.dtypes,
        concerned=_concerned(options, plan, note) if options.model else None, smoke_only=options.smoke,
        only=None if options.only is None else frozenset(options.only),
    )  # fmt: skip
    if options.shard is not None:
        chosen = replace(chosen, groups=part(chosen.groups, options.shard), narrowed=True)
    run = broken.identity(options, suite, plan, profile, chosen)
    recorded = broken.pick_up(options.out, run) if options.resume else None
    if recorded is None:
        refuse_if_running(options.out / results.JOURNAL_NAME)
        if (options.out / results.JOURNAL_NAME).exists():
            note(f"what the broken run in {options.out} had measured is given up: --resume would have gone on with it")
        prepare_folder(options.out)
    journal = Journal(options.out / results.JOURNAL_NAME, run, recorded)
    began = time.time()
    supervisor = Supervisor(
        _pool(options, suite, profile), _limits(suite, profile), journal, watch(suite, chosen, profile.simulated),
        options.workers or min(8, len(os.sched_getaffinity(0))),
        rows=dict(recorded.rows) if recorded else {}, environment=recorded.environment if recorded else {},
        repeat=options.repeat,
    )  # fmt: skip
    interrupted = _run(supervisor, chosen)
    rows = join(chosen.groups, supervisor.rows, "the run was broken off" if interrupted else "no result came back")
    reached = [row for row in rows if not interrupted or row.case in supervisor.rows]
    report = summarize(
        suite=suite, plan=plan, profile=profile, selection=chosen, rows=rows, findings=find(reached),
        environment=supervisor.environment, began=began, seconds=time.time() - began, complete=not interrupted,
        out=options.out, backend=distribution_version(profile), shard=_shard(options),
    )  # fmt: skip
    save(options.out, report, rows, supervisor.environment)
    return report


def _shard(options: ConformOptions) -> dict[str, Any] | None:
    """What a shard says of itself in the report: which it is, and of what."""
    if options.shard is None:
        return None
    selected = {
        "levels": list(options.levels), "checks": options.checks, "ops": options.ops, "dtypes": list(options.dtypes),
        "smoke": options.smoke,
    }  # fmt: skip
    return {"index": options.shard.index, "of": options.shard.of, "selected": selected}


def _concerned(options: ConformOptions, plan: Plan, note: Callable[[str], None]) -> frozenset[tuple[str, str]]:
    """The groups of operators that the model of the options is concerned with."""
    from conformance.needs.api import NeedsOptions, groups_of

    asked = NeedsOptions(
        options.model or "", options.device, profile=options.profile, import_module=options.import_module,
        suite=options.suite,
    )  # fmt: skip
    return groups_of(asked, plan, note)


def _pool(options: ConformOptions, suite: Suite, profile: Profile) -> Pool:
    request = {
        "profile": asdict(profile), "import": options.import_module, "suite": str(suite.root), "seed": options.seed,
    }  # fmt: skip
    return Pool(Path(tempfile.mkdtemp(prefix="onboard-")), request)


def _limits(suite: Suite, profile: Profile) -> Limits:
    return Limits(suite.case_seconds * profile.timing, suite.first_call_seconds * profile.timing, suite.compiling)


def _run(supervisor: Supervisor, chosen: Selection) -> bool:
    """Run what is chosen; says whether it was broken off."""
    try:
        supervisor.pool.wait_ready()
        supervisor.run(in_order(chosen.groups))
    except KeyboardInterrupt:
        return True
    finally:
        supervisor.pool.close()
        supervisor.journal.close()
        shutil.rmtree(supervisor.pool.folder, ignore_errors=True)
    return False


def in_order(groups: tuple[Group, ...]) -> list[Group]:
    """Runtime first, so that a broken copy is known before it is blamed on operators; then the longest first."""

    def key(group: Group) -> tuple[int, int, str]:
        kind = group.check.split(".", 1)[0]
        return {"runtime": 0, "compile": 1}.get(kind, 2), -len(group.names), group.id

    return sorted(groups, key=key)


def failed_cases(folder: Path) -> tuple[str, ...]:
    """The cases that failed in the run of a folder; raises UsageError where there is none, or none failed."""
    path = folder / results.RESULTS_NAME
    try:
        failed = tuple(row.case for row in results.read_results(path) if row.outcome in results.FAILING)
    except FileNotFoundError:
        raise UsageError(f"{folder} holds no results", hint="name the folder of the run with --out") from None
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {error}") from None
    if not failed:
        raise UsageError(f"nothing failed in {folder}")
    return failed


def join(groups: tuple[Group, ...], rows: dict[str, Row], why: str) -> list[Row]:
    """Exactly one row for each planned case, sorted by id: what has no result is `missing`, and says why."""
    joined = []
    for group in groups:
        for case in group.cases():
            row = rows.get(case)
            if row is None:
                dtype = None if group.dtype == "any" else group.dtype
                row = results.Row(
                    case, group.check, group.operator, None, dtype, None, None, "missing", None, None, None, None, 0.0,
                    f"planned, but {why}",
                )  # fmt: skip
            joined.append(row)
    return sorted(joined, key=lambda r: r.case)


def prepare_folder(out: Path) -> None:
    """Make the folder, or accept an empty one or one that holds an earlier run; anything else is a UsageError."""
    ours = {
        results.RESULTS_NAME, results.ENVIRONMENT_NAME, results.REPORT_NAME, results.ENVELOPE_NAME,
        results.SUMMARY_NAME, results.JOURNAL_NAME,
    }  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
        foreign = [path.name for path in out.iterdir() if path.name not in ours]
        if foreign:
            raise UsageError(f"{out} holds other files ({foreign[0]})", hint="name an empty folder with --out")
        for path in out.iterdir():
            path.unlink()
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot write {out}: {error.strerror or error}", hint="name a writable folder with --out"
        ) from None


def save(out: Path, report: Report, rows: list[Row], environment: dict[str, Any]) -> None:
    """Write results, environment and report; of a complete run the journal goes once the results are on disk."""
    results.write_results(out / results.RESULTS_NAME, rows)
    (out / results.ENVIRONMENT_NAME).write_text(
        json.dumps(environment, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    report = replace(report, out=str(out))
    (out / results.REPORT_NAME).write_text(json.dumps(report.document(), indent=2) + "\n", encoding="utf-8")
    if report.complete:
        (out / results.JOURNAL_NAME).unlink(missing_ok=True)
