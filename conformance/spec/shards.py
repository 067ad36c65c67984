"""Shards: the parts into which a selection is cut for several machines, the same ones wherever they are cut."""

from __future__ import annotations

import heapq
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.spec.plan import Group

#: What a case costs beside a plain call of an operator, by check, as measured on a CPU. First calls of a compiler and
#: processes of their own take seconds.
COSTS = {
    "compile.": 5000.0,
    "runtime.": 100.0,
    "operators.backward-sizes": 6.0,
    "operators.backward": 3.0,
    "operators.sizes": 4.0,
    "operators.cases": 2.0,
}
#: Checks that every shard repeats: a shard whose copies or generators are broken must say so itself.
REPEATED = "runtime."


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The `index`-th of `of` parts, counted from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def shard_of(text: str, environment: Mapping[str, str] = os.environ) -> Shard:
    """A shard as `2/8`, or `auto` where an array of jobs says which it is; raises UsageError for anything else."""
    if text == "auto":
        return _of_array(environment)
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if found is None:
        raise UsageError(
            f"no shard: {text!r}", hint="--shard 2/8 is the second of eight; --shard auto asks Slurm or Kubernetes"
        )
    return _checked(int(found[1]), int(found[2]))


def _of_array(environment: Mapping[str, str]) -> Shard:
    task, index = environment.get("SLURM_ARRAY_TASK_ID"), environment.get("JOB_COMPLETION_INDEX")
    if task is not None:
        first, count = environment.get("SLURM_ARRAY_TASK_MIN", "0"), environment.get("SLURM_ARRAY_TASK_COUNT", "")
        step = environment.get("SLURM_ARRAY_TASK_STEP", "1")
        place = (_number("SLURM_ARRAY_TASK_ID", task) - _number("SLURM_ARRAY_TASK_MIN", first)) // max(
            1, _number("SLURM_ARRAY_TASK_STEP", step)
        )
        return _checked(place + 1, _number("SLURM_ARRAY_TASK_COUNT", count))
    if index is not None:
        count = environment.get("ONBOARD_SHARDS", "")
        return _checked(_number("JOB_COMPLETION_INDEX", index) + 1, _number("ONBOARD_SHARDS", count))
    raise UsageError(
        "--shard auto: this is no array of jobs",
        hint="it asks SLURM_ARRAY_TASK_ID, or JOB_COMPLETION_INDEX and ONBOARD_SHARDS (the number of completions)",
    )


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise UsageError(f"--shard auto: {name} is {text!r}, not a number")
    return int(text)


def _checked(index: int, of: int) -> Shard:
    if not 1 <= index <= of:
        raise UsageError(f"there is no shard {index} of {of}", hint="shards are counted from 1")
    return Shard(index, of)


def cost(group: Group) -> float:
    """What a group costs, in plain calls."""
    each = next((price for check, price in COSTS.items() if group.check.startswith(check)), 1.0)
    return each * len(group.names)


def part(groups: Sequence[Group], shard: Shard) -> tuple[Group, ...]:
    """The groups of a shard, in their order: the dearest first to the least loaded shard, and the repeated to each.

    It depends on the groups alone: every machine cuts alike.
    """
    loads = [(0.0, index) for index in range(1, shard.of + 1)]
    own = set()
    shared = [group for group in groups if not group.check.startswith(REPEATED)]
    for group in sorted(shared, key=lambda group: (-cost(group), group.id)):
        load, index = heapq.heappop(loads)
        if index == shard.index:
            own.add(group.id)
        heapq.heappush(loads, (load + cost(group), index))
    return tuple(group for group in groups if group.check.startswith(REPEATED) or group.id in own)
