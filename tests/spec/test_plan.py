"""The plan file folds and unfolds without loss, and a changed one is noticed."""

from __future__ import annotations

import pytest

from conformance.errors import UsageError
from conformance.spec.plan import Group, fold, make_plan, read_plan, torch_minor, unfold, write_plan


@pytest.mark.parametrize(
    "names",
    [
        ["plain"],
        [f"sample-{n:04}/plain/function" for n in range(12)],
        [f"sample-{n:04}/{layout}/function" for n in range(3) for layout in ("offset", "plain", "strided")],
        ["case-0001", "case-0003", "case-0004", "other"],
        ["float32-scalar", "float64-scalar", "int64"],
        ["a-9", "a-10", "a-11"],
    ],
)
def test_unfold_inverts_fold(names):
    assert unfold(fold(names)) == sorted(names)


def test_a_run_folds_into_one_word():
    assert fold(f"sample-{n:04}/plain" for n in range(1440)) == ["sample-{0000..1439}/plain"]


@pytest.fixture
def plan():
    names = tuple(f"sample-{n:04}/plain/function" for n in range(5))
    return make_plan(
        "2.13.0+cpu",
        [Group("operators.forward", "mm", "float32", names), Group("runtime.rng", "rng", "any", ("seed",))],
    )


def test_a_frozen_plan_reads_back(tmp_path, plan):
    path = tmp_path / "torch-2.13.txt"
    write_plan(path, plan)
    back = read_plan(path)
    assert back.frozen
    assert (back.groups, back.digest, back.size) == (plan.groups, plan.digest, 6)


@pytest.mark.parametrize(
    ("old", "new"), [("{0000..0004}", "{0000..0003}"), ("runtime.rng/rng/any seed\n", ""), ("cases 6", "cases 5")]
)
def test_a_trimmed_plan_is_refused(tmp_path, plan, old, new):
    path = tmp_path / "torch-2.13.txt"
    write_plan(path, plan)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UsageError):
        read_plan(path)


def test_the_order_of_groups_does_not_matter(plan):
    assert make_plan("2.13.1", reversed(plan.groups)).digest == plan.digest


def test_torch_minor():
    assert torch_minor("2.13.0+cpu") == "2.13"
    with pytest.raises(UsageError):
        torch_minor("nightly")


def test_a_group_that_is_planned_twice_is_an_error():
    """Its cases would be run once and counted twice."""
    group = Group("operators.forward", "mm", "float32", ("sample-0000/plain/function",))
    with pytest.raises(ValueError, match="planned twice: operators"):
        make_plan("2.13.0", [group, group])
