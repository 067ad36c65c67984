"""Merging: the results of all shards of one run as the run that they are, after a proof that they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from conformance import results
from conformance.device.resolve import resolve_profile
from conformance.errors import UsageError
from conformance.findings import find
from conformance.report import Report, summarize
from conformance.run.api import join, prepare_folder, save
from conformance.run.planning import plan_for
from conformance.spec.select import select
from conformance.spec.shards import Shard, part
from conformance.spec.suite import load_suite
from conformance.verdict import WORST_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conformance.results import Row
    from conformance.spec.plan import Group

#: What the shards of one run have in common, as members of their reports; in a tuple a member of a member.
_COMMON: tuple[tuple[str, ...], ...] = (
    ("schema",), ("suite", "digest"), ("plan", "digest"), ("profile",), ("profile_digest",), ("device",), ("torch",),
    ("backend",), ("seed",), ("simulated",), ("shard", "of"), ("shard", "selected"),
)  # fmt: skip


#: What a shard says of the selection that it is a part of.
_SELECTED = ("levels", "checks", "ops", "dtypes", "smoke")


@dataclass(frozen=True, slots=True)
class Part:
    """One shard as it lies in its folder: `times` are when it began and ended, `profile` has a name and a digest."""

    folder: Path
    shard: Shard
    report: dict[str, Any]
    environment: dict[str, Any]
    rows: dict[str, Row]
    selected: dict[str, Any]
    times: tuple[float, ...]
    backend: tuple[str, str] | None
    digests: dict[str, str]
    profile: tuple[str, str]


def merge(
    folders: Sequence[Path], out: Path, note: Callable[[str], None], *, profile_file: Path | None = None
) -> Report:
    """Merge shards into `out`; raises UsageError naming the folder that does not fit, or the shard that is not there.

    The shards have to be of one suite, plan, profile, backend, torch, device, seed and environment, all there are and
    each once, and every case that a shard has to have must have a result in it.
    """
    parts = [_read(folder) for folder in folders]
    first = parts[0]
    for other in parts[1:]:
        _same(first, other)
    _complete(parts)
    suite = load_suite()
    asked = first.selected
    profile = resolve_profile(first.profile[0], suite_root=suite.root, profile_file=profile_file)
    plan = plan_for(suite, note)
    for name, digest in (("suite", suite.digest), ("plan", plan.digest)):
        if first.digests[name] != digest:
            raise UsageError(f"{first.folder}: the shards are of another {name} than the one here")
    if profile.digest != first.profile[1]:
        raise UsageError(f"{first.folder}: the shards are of another profile {profile.name!r} than the one here",
                         hint="name its file with --profile")  # fmt: skip
    chosen = select(
        suite, plan, profile, levels=tuple(asked["levels"]), checks=asked["checks"], ops=asked["ops"],
        dtypes=tuple(asked["dtypes"]), smoke_only=asked["smoke"],
    )  # fmt: skip
    rows = join(chosen.groups, _united(parts, chosen.groups), "no shard has it")
    began = min(one.times[0] for one in parts)
    seconds = max(one.times[1] for one in parts) - began
    prepare_folder(out)
    report = summarize(
        suite=suite, plan=plan, profile=profile, selection=chosen, rows=rows, findings=find(rows),
        environment=first.environment, began=began, seconds=seconds, complete=True, out=out,
        backend=first.backend,
    )  # fmt: skip
    save(out, report, rows, first.environment)
    return report


def _read(folder: Path) -> Part:
    try:
        report = json.loads((folder / results.REPORT_NAME).read_text(encoding="utf-8"))
        environment = dict(json.loads((folder / results.ENVIRONMENT_NAME).read_text(encoding="utf-8")))
        rows = {row.case: row for row in results.read_results(folder / results.RESULTS_NAME)}
        found, complete = report["shard"], bool(report["complete"])
        times = tuple(datetime.fromisoformat(report[name].replace("Z", "+00:00")).timestamp()
                      for name in ("started", "finished"))  # fmt: skip
        shard = None if found is None else Shard(int(found["index"]), int(found["of"]))
        selected = {} if found is None else {name: found["selected"][name] for name in _SELECTED}
        backend = None if report["backend"] is None else (report["backend"]["name"], report["backend"]["version"])
        digests = {name: str(report[name]["digest"]) for name in ("suite", "plan")}
        profile = str(report["profile"]), str(report["profile_digest"])
    except (OSError, EOFError) as error:
        raise UsageError(
            f"{folder}: no results of a shard: {error}", hint="name the --out folders of the runs"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{folder}: its files are damaged: {type(error).__name__}: {error}") from None
    if shard is None:
        raise UsageError(f"{folder}: the run is no shard", hint="only runs with --shard can be merged")
    if not complete:
        raise UsageError(f"{folder}: the run was broken off", hint=f"end it first: onboard conform --resume {folder}")
    return Part(folder, shard, report, environment, rows, selected, times, backend, digests, profile)


def _same(first: Part, other: Part) -> None:
    for path in _COMMON:
        here, there = (_member(part.report, path) for part in (first, other))
        if here != there:
            raise UsageError(
                f"{other.folder} and {first.folder} are not of one run: {'.'.join(path)} is {there!r} and {here!r}"
            )
    for name in sorted({*first.environment, *other.environment}):
        if first.environment.get(name) != other.environment.get(name):
            raise UsageError(
                f"{other.folder} and {first.folder} were not measured alike: {name} is "
                f"{other.environment.get(name)!r} and {first.environment.get(name)!r}",
                hint="all shards of a run need one version of everything, and one kind of device and processor",
            )


def _member(report: dict[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = report
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _complete(parts: Sequence[Part]) -> None:
    of = parts[0].shard.of
    seen: dict[int, Part] = {}
    for one in parts:
        if one.shard.index in seen:
            raise UsageError(f"{one.folder} and {seen[one.shard.index].folder} are both shard {one.shard}")
        seen[one.shard.index] = one
    lacking = [str(index) for index in range(1, of + 1) if index not in seen]
    if lacking:
        raise UsageError(f"of {of} shards, {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not there")


def _united(parts: Sequence[Part], groups: tuple[Group, ...]) -> dict[str, Row]:
    """A row for each case, of a repeated one the worst; raises UsageError where a shard has not what is its own."""
    found: dict[str, Row] = {}
    for one in parts:
        due = {case for group in part(groups, one.shard) for case in group.cases()}
        for problem, cases in (("lacks", due - one.rows.keys()), ("has, and should not have,", one.rows.keys() - due)):
            if cases:
                raise UsageError(f"{one.folder}: shard {one.shard} {problem} {min(cases)} and {len(cases) - 1} more")
        for case, row in one.rows.items():
            before = found.get(case)
            if before is None or WORST_OUTCOMES.index(row.outcome) > WORST_OUTCOMES.index(before.outcome):
                found[case] = row
    return found
