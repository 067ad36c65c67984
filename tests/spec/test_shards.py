"""Shards are disjoint, complete, balanced and the same on every machine."""

from __future__ import annotations

import random

import pytest

from conformance.errors import UsageError
from conformance.spec.plan import Group
from conformance.spec.shards import Shard, cost, part, shard_of


def groups_of(count):
    draw = random.Random(1)
    made = [
        Group("operators.forward", f"op{n}", "float32", tuple(f"case-{i}" for i in range(draw.randint(1, 40))))
        for n in range(count)
    ]
    made += [Group("compile.smoke", f"program{n}", "any", ("plain/plain/function",)) for n in range(4)]
    return [Group("runtime.copies", "to", "any", ("a", "b")), *made]


@pytest.mark.parametrize("of", [1, 2, 3, 64])
def test_every_group_is_in_one_shard_and_the_runtime_in_all(of):
    groups = groups_of(300)
    parts = [part(groups, Shard(index, of)) for index in range(1, of + 1)]
    assert all(found[0].check == "runtime.copies" for found in parts)
    shared = [group.id for found in parts for group in found[1:]]
    assert sorted(shared) == sorted(group.id for group in groups[1:])


def test_shards_cost_alike():
    groups = groups_of(2000)
    loads = [sum(map(cost, part(groups, Shard(index, 4)))) for index in range(1, 5)]
    assert max(loads) < 1.01 * min(loads)


def test_the_cut_does_not_hang_on_the_order_of_the_groups():
    groups = groups_of(300)
    mixed = random.Random(2).sample(groups, len(groups))
    assert {g.id for g in part(groups, Shard(2, 5))} == {g.id for g in part(mixed, Shard(2, 5))}


def test_a_shard_is_read():
    assert shard_of("2/8", {}) == Shard(2, 8)
    assert str(Shard(2, 8)) == "2/8"


def test_an_array_of_jobs_says_which_shard_it_is():
    slurm = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "4"}
    assert shard_of("auto", slurm) == Shard(3, 4)
    assert shard_of("auto", {**slurm, "SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_STEP": "2"}) == Shard(3, 4)
    assert shard_of("auto", {"JOB_COMPLETION_INDEX": "0", "ONBOARD_SHARDS": "4"}) == Shard(1, 4)


@pytest.mark.parametrize(
    ("text", "environment", "problem"),
    [
        ("0/4", {}, "no shard 0 of 4"),
        ("5/4", {}, "no shard 5 of 4"),
        ("1-4", {}, "no shard: '1-4'"),
        ("auto", {}, "no array of jobs"),
        ("auto", {"JOB_COMPLETION_INDEX": "0"}, "ONBOARD_SHARDS is ''"),
        ("auto", {"SLURM_ARRAY_TASK_ID": "x", "SLURM_ARRAY_TASK_COUNT": "4"}, "SLURM_ARRAY_TASK_ID is 'x'"),
    ],
)
def test_what_is_no_shard_is_refused(text, environment, problem):
    with pytest.raises(UsageError, match=problem):
        shard_of(text, environment)
