"""What the suite says of the host's kernels still holds: an exception whose cause is gone must go."""

import itertools
import subprocess
import sys

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import CHECKS
from conformance.device.profile import Profile
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.suite import load_suite

pytestmark = pytest.mark.slow
SUITE = load_suite()
#: Where another instruction set takes another kernel.
NOT_EVERYWHERE = {"the host's vector kernel gives NaN for an infinity on some processors"}


def said():
    """Each operator and reason, with the checks and dtypes at which it is said."""
    plan = read_plan(plan_path(SUITE.root, torch.__version__))
    found = {}
    for group in plan.groups:
        spec = SUITE.operators.get(group.operator) if group.check.startswith("operators.") else None
        oracle = spec and group.dtype != "any" and spec.oracle_of(group.check, group.dtype)
        if oracle and oracle.host_off and oracle.host_off not in NOT_EVERYWHERE:
            found.setdefault((group.operator, oracle.host_off), []).append(group)
    return found


GROUPS = said()


@pytest.mark.parametrize(("operator", "reason"), GROUPS, ids=lambda value: str(value)[:40])
def test_the_host_misses_its_bound_in_some_planned_case(operator, reason):
    torch.set_num_threads(1)
    context = Context(torch.device("cpu"), Profile("cpu", "cpu"), SUITE, 0)
    checks = {check.id: check for check in CHECKS}
    cases = itertools.chain.from_iterable(
        checks[group.check].cases(context, operator, group.dtype, group.names) for group in GROUPS[operator, reason]
    )
    assert any(case.run().rung == "host" for case in cases), f"no longer true: {reason}"


#: Programs that show a defect of the host's for which a case is left out; each prints `defect` or dies while it lasts.
DEFECTS = {
    "the kernel of the host crashes on no elements": """
        torch.nn.functional.embedding_bag(torch.empty(0, dtype=torch.long), torch.ones(4, 3), torch.tensor([0, 0]))
    """,
}


def test_nothing():
    """Filled below."""
    assert subprocess
    assert sys
