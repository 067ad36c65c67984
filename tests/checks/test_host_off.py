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
#: Whether it misses hangs on the values: several draws are given to it.
SEEDS = range(6)
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
    checks = {check.id: check for check in CHECKS}
    cases = itertools.chain.from_iterable(
        checks[group.check].cases(
            Context(torch.device("cpu"), Profile("cpu", "cpu"), SUITE, seed), operator, group.dtype, group.names
        )
        for seed in SEEDS
        for group in GROUPS[operator, reason]
    )
    assert any(case.run().rung == "host" for case in cases), f"no longer true: {reason}"


#: By reason, a program that dies or prints `defect` as long as the host has the defect for which cases are left out.
DEFECTS = {
    "the gradient kernel of the host crashes on no elements": """
x = torch.ones(0, 3, requires_grad=True)
torch.nn.functional.pdist(x).sum().backward()
x = torch.ones(4, 0, requires_grad=True)
torch.nn.functional.pdist(x).sum().backward()
""",
    "the kernel of the host crashes on no elements": """
for mode in ["mean", "max"] * 50:
    weight, indices = torch.ones(10, 5, requires_grad=True), torch.ones(5, dtype=torch.long)
    junk = torch.full((5,), 1 << 40)
    del junk
    torch.nn.functional.embedding_bag(indices, weight, torch.empty(0, dtype=torch.long), mode=mode).sum().backward()
""",
    "the host writes past a strided output": """
flat = torch.zeros(32)
out = flat.as_strided((2, 3), (2, 4))
torch.narrow_copy(torch.ones(4, 3), 0, 1, 2, out=out)
print("fine" if (out == 1).all() and flat.sum() == 6 else "defect")
""",
    "the kernel of the host crashes on one empty argument among others": """
torch.lu_unpack(torch.ones(3, 3), torch.empty(0, dtype=torch.int32))
""",
    "the gradient kernel of the host writes past its buffer for targets beyond the classes": """
for seed in range(20):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(50, 16, 1, generator=g).requires_grad_()
    targets, upstream = torch.randint(1, 20, (16, 30), generator=g), torch.randn(16, generator=g)
    lengths = [10, 18, 26, 29, 12, 15, 19, 23, 28, 23, 26, 29, 28, 18, 20, 22]
    loss = torch.nn.functional.ctc_loss(x, targets, [50] * 16, lengths, reduction="none", zero_infinity=True)
    loss.backward(upstream)
""",
    "the host returns what its memory holds for the loss of no samples": """
x, targets, found = torch.ones(0, 10), torch.empty(0, dtype=torch.long), set()
for number in range(200):
    junk = torch.full((16,), 7.0 + number)
    del junk
    found.add(torch.nn.functional.multi_margin_loss(x, targets).item())
print("fine" if found == {0.0} else "defect")
""",
    "the host gives a strided output of one dimension other strides": """
out = torch.empty(8)[::2]
torch._C._nn.linear(torch.ones(3), torch.ones(4, 3), torch.ones(4), out=out)
print("fine" if out.stride() == (2,) else "defect")
""",
    "of a strided input the host leaves the mean in out= as it was": """
x, ones = torch.zeros(250).as_strided((5, 5, 5), (2, 10, 50)), torch.ones(5)
out = torch.zeros(5, 5, 5), torch.full((5,), -7.0), torch.zeros(5)
torch._native_batch_norm_legit(x, ones, ones, ones.clone(), ones.clone(), True, 0.5, 0.6, out=out)
print("defect" if (out[1] == -7).all() else "fine")
""",
    "the host reduces something else into a given output": """
x, target, out = torch.rand(5), torch.rand(5), torch.zeros(())
due = torch.ops.aten.binary_cross_entropy.default(x, target, None, 1)
found = torch.ops.aten.binary_cross_entropy.out(x, target, None, 1, out=out)
print("fine" if torch.allclose(found, due) else "defect")
""",
    "the kernel of the host crashes on no chunks": """
torch._chunk_cat([torch.tensor(9.0), torch.tensor(-4.0)], -1, 5)
""",
}


def test_every_defect_of_the_host_has_its_program():
    reasons = {reason for spec in SUITE.operators.values() for reason in spec.leaves_out.values()}
    assert {reason for reason in reasons if "the host" in reason} == set(DEFECTS)


@pytest.mark.parametrize("reason", DEFECTS)
def test_the_host_has_the_defect_still(reason):
    program = f"import torch\n{DEFECTS[reason]}"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode < 0 or ran.stdout.strip() == "defect", f"no longer true: {reason}: {ran.stdout}{ran.stderr}"
