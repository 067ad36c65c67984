"""Making or finding the plan: the frozen one where the suite has it, else enumerated in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure
from conformance.spec.plan import Group, Plan, make_plan, plan_path, read_plan, write_plan
from conformance.spec.suite import Suite, load_suite

if TYPE_CHECKING:
    from collections.abc import Callable


def installed_torch() -> str:
    """The version of the installed torch, from its metadata; raises EnvironmentFailure when there is none."""
    try:
        return version("torch")
    except PackageNotFoundError:
        raise EnvironmentFailure("torch is not installed", hint="pip install torch==2.13.0") from None


def plan_for(suite: Suite, note: Callable[[str], None]) -> Plan:
    """The plan for the installed torch; one that had to be enumerated here is marked as not frozen."""
    torch_version = installed_torch()
    frozen = read_plan(plan_path(suite.root, torch_version))
    if frozen is not None:
        return frozen
    note(f"no frozen plan for torch {torch_version}: making one, which takes a minute and certifies nothing")
    return enumerate_apart(suite, torch_version)


def freeze(suite: Suite) -> tuple[Path, Plan]:
    """Enumerate the plan for the installed torch and write it into the suite."""
    torch_version = installed_torch()
    plan = enumerate_apart(suite, torch_version)
    path = plan_path(suite.root, torch_version)
    try:
        write_plan(path, plan)
    except OSError as error:
        raise EnvironmentFailure(f"cannot write {path.name}: {error.strerror}") from None
    return path, plan


def enumerate_apart(suite: Suite, torch_version: str) -> Plan:
    """Enumerate in a subprocess, so that this process stays without torch."""
    done = subprocess.run(
        [sys.executable, "-m", "conformance.run.planning", str(suite.root)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise EnvironmentFailure(f"the plan cannot be made: {last[0]}", hint="run `onboard doctor`")
    groups = [Group(check, operator, dtype, tuple(names)) for check, operator, dtype, names in json.loads(done.stdout)]
    return make_plan(torch_version, groups)


def _main() -> None:
    import torch

    from conformance.checks.registry import all_checks

    suite = load_suite(Path(sys.argv[1]))
    torch.set_num_threads(1)
    wanted = [(check.id, *group) for check in all_checks().values() for group in check.groups(suite)]
    # Forked, so that nobody imports the catalogue again; in small portions, as a few groups take as long as the rest.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("fork")) as pool:
        named = pool.map(partial(_names, suite), wanted, chunksize=8)
        groups = [(*group, names) for group, names in zip(wanted, named, strict=True) if names]
    json.dump(groups, sys.stdout)


def _names(suite: Suite, group: tuple[str, str, str]) -> list[str]:
    from conformance.checks.registry import all_checks

    check, operator, dtype = group
    return sorted(all_checks()[check].names(suite, operator, dtype))


if __name__ == "__main__":
    _main()
