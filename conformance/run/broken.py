"""Runs that broke off: what run it was, and whether the one that is asked for goes on with it."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.device.resolve import distribution_version
from conformance.errors import UsageError
from conformance.results import JOURNAL_NAME
from conformance.run.journal import Recorded, read_journal
from conformance.spec.shards import Shard, shard_of

if TYPE_CHECKING:
    from conformance.device.profile import Profile
    from conformance.run.api import ConformOptions
    from conformance.spec.plan import Plan
    from conformance.spec.select import Selection
    from conformance.spec.suite import Suite

#: Options that change nothing of what is measured.
_FREE = frozenset({"out", "workers", "resume"})
_PATHS = frozenset({"profile", "suite"})


def identity(
    options: ConformOptions, suite: Suite, plan: Plan, profile: Profile, chosen: Selection
) -> dict[str, Any]:  # fmt: skip
    """What makes two runs the same: the options, and the digests of all that they name."""
    given = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in _FREE}
    cases = hashlib.sha256()
    for group in chosen.groups:
        cases.update("\n".join([group.id, *group.names, ""]).encode())
    backend = distribution_version(profile)
    return {
        "options": {name: _plain(name, value) for name, value in given.items()},
        "suite": suite.digest,
        "plan": plan.digest,
        "profile": profile.digest,
        "cases": cases.hexdigest(),
        "torch": plan.torch,
        "backend": list(backend) if backend else None,
    }


def _plain(name: str, value: Any) -> Any:
    """An option as JSON gives it back: paths whole, as the next run may be started elsewhere."""
    if name in _PATHS and value is not None:
        return str(Path(value).absolute())
    if isinstance(value, Shard):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def options_of(folder: Path, blank: ConformOptions) -> ConformOptions:
    """The options of the run in a folder that broke off; raises UsageError where there is none."""
    given = read_journal(folder / JOURNAL_NAME).run.get("options")
    if not isinstance(given, dict):
        raise UsageError(f"{folder}: its journal does not say what run it is of")
    known = {f.name for f in fields(blank)} - _FREE
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{folder}: the run was begun by another version of onboard (it has the option {name!r})")
        found[name] = _given(name, value)
    return replace(blank, **found, out=folder, resume=True)


def _given(name: str, value: Any) -> Any:
    if name == "shard" and value is not None:
        return shard_of(value)
    if name in _PATHS and value is not None:
        return Path(value)
    return tuple(value) if isinstance(value, list) else value


def pick_up(folder: Path, run: dict[str, Any]) -> Recorded:
    """What the run in the folder has measured; raises UsageError where it was another run."""
    recorded = read_journal(folder / JOURNAL_NAME)
    for name, value in run.items():
        if recorded.run.get(name) != value:
            raise UsageError(
                f"{folder}: the run was begun with another {name}",
                hint="what changed since may change every result: measure again without --resume",
            )
    return recorded
