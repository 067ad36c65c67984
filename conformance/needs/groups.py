"""Which groups of the suite a model is concerned with: those of the overloads that it calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: What nearly every operator calls on its way; it says nothing about what the operator is.
COMMON = frozenset({
    "alias", "as_strided", "clone", "copy_", "detach", "empty", "empty_like", "empty_strided", "expand", "lift_fresh",
    "new_empty", "new_empty_strided", "permute", "reshape", "resize_", "select", "slice", "squeeze", "t", "_to_copy",
    "transpose", "unsqueeze", "_unsafe_view", "view",
})  # fmt: skip


def reaching(groups: Iterable[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
    """The names of the overloads that the host calls for each group (operator, dtype)."""
    import torch

    from conformance.checks.contract import Context
    from conformance.checks.operators import Forward
    from conformance.device.profile import default_profile
    from conformance.inputs.samples import PLAN_SEED
    from conformance.needs.calls import name_of
    from conformance.selftest.reach import reached
    from conformance.spec.plan import Group
    from conformance.spec.suite import load_suite

    forward, suite = Forward(), load_suite()
    context = Context(torch.device("cpu"), default_profile("cpu"), suite, PLAN_SEED)
    known = set(forward.groups(suite))
    found = {}
    for operator, dtype in groups:
        if (operator, dtype) in known:
            group = Group(forward.id, operator, dtype, tuple(forward.names(suite, operator, dtype)))
            found[operator, dtype] = frozenset(name_of(overload) for overload in reached(context, group))
    return found


def concerned(
    called: Mapping[str, frozenset[str]], reached: Mapping[tuple[str, str], frozenset[str]]
) -> tuple[frozenset[tuple[str, str]], tuple[str, ...]]:
    """The groups to run for the overloads `called` (with the dtypes of their tensors), and those that none reaches.

    A group is taken at the dtypes of the model when everything that tells it apart is called by the model. An overload
    that is left gets those groups of its dtypes that reach it and the fewest others. No tensor, no dtype: an overload
    that makes tensors is taken at the dtypes of the whole model.
    """
    everywhere = frozenset[str]().union(*called.values()) if called else frozenset[str]()
    telling = {group: {name for name in names if _base(name) not in COMMON} for group, names in reached.items()}
    taken = {
        group
        for group, names in telling.items()
        if names and names <= called.keys() and any(group[1] in (called[name] or everywhere) for name in names)
    }
    covered = frozenset[str]().union(*(reached[group] for group in taken)) if taken else frozenset[str]()
    unreached = []
    for name, dtypes in called.items():
        if name in covered:
            continue
        near = {g: len(reached[g]) for g in reached if name in reached[g] and g[1] in (dtypes or everywhere)}
        if not near:
            unreached.append(name)
            continue
        fewest = min(near.values())
        taken |= {group for group, count in near.items() if count == fewest}
    return frozenset(taken), tuple(sorted(unreached))


def _base(overload: str) -> str:
    return overload.partition("::")[2].partition(".")[0]
