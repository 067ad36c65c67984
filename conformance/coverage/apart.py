"""Asking torch in a process of its own, so that this one stays without it, and freezing what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.coverage.table import Difference, difference
from conformance.coverage.witnesses import Witnesses, read_witnesses, witnesses_path, write_witnesses
from conformance.errors import EnvironmentFailure
from conformance.run.planning import installed_torch
from conformance.spec.denominators import Denominators, Overload, denominators_path, nearest, write_denominators
from conformance.spec.plan import plan_path, read_plan

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.spec.suite import Suite


@dataclass(frozen=True, slots=True)
class Coverage:
    """The installed torch beside what the suite has frozen of it.

    `seen` is what was measured just now, else what is frozen, else None. `stale` says why it does not hold for the
    frozen plan; `lost` and `gained` are the names by which the measurement differs from what is frozen.
    """

    now: Denominators
    new: Difference
    seen: Witnesses | None
    stale: str | None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.stale is None and not self.lost and not self.gained


def look(suite: Suite, *, anew: bool = False) -> Coverage:
    """Compare the installed torch with what is frozen; with `anew`, measure what the plan reaches once more."""
    version = installed_torch()
    now = installed(suite)
    new = difference(now, nearest(suite.root, version))
    frozen = read_witnesses(witnesses_path(suite.root, version))
    if anew:
        seen = measure(suite)
        before, after = (_names(one) for one in (frozen, seen))
        return Coverage(now, new, seen, None, tuple(sorted(before - after)), tuple(sorted(after - before)))
    plan = read_plan(plan_path(suite.root, version))
    stale = None
    if frozen is not None and (plan is None or plan.digest != frozen.plan):
        stale = f"coverage was measured with the plan {frozen.plan[:12]}, which is not the frozen one"
    return Coverage(now, new, frozen, stale)


def _names(found: Witnesses | None) -> set[str]:
    return {*found.overloads, *found.opinfo} if found is not None else set()


def installed(suite: Suite) -> Denominators:
    """The denominators of the installed torch; takes some seconds, most of it for the import."""
    found = _ask("installed", suite)
    return Denominators(found["torch"], tuple(Overload(*one) for one in found["overloads"]), tuple(found["opinfo"]))


def measure(suite: Suite) -> Witnesses:
    """Run the plan on the host and see what it reaches; about a minute on two cores."""
    return Witnesses(**_ask("measure", suite))


def freeze(suite: Suite) -> list[tuple[Path, str]]:
    """Write the denominators and what the plan reaches of them into the suite; say what was written."""
    version = installed_torch()
    denominators, seen = installed(suite), measure(suite)
    paths = denominators_path(suite.root, version), witnesses_path(suite.root, version)
    try:
        write_denominators(paths[0], denominators)
        write_witnesses(paths[1], seen)
    except OSError as error:
        raise EnvironmentFailure(f"cannot write into {suite.root.name}: {error.strerror}") from None
    return [
        (paths[0], f"{len(denominators.overloads)} overloads, {len(denominators.opinfo)} OpInfo entries"),
        (paths[1], f"{len(seen.overloads)} overloads reached, {len(seen.opinfo)} OpInfo entries judged"),
    ]


def _ask(what: str, suite: Suite) -> Any:
    installed_torch()
    command = [sys.executable, "-m", "conformance.coverage.measure", what, str(suite.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise EnvironmentFailure(f"torch cannot be asked what it has: {last[0]}", hint="run `onboard doctor`")
    return json.loads(done.stdout)
