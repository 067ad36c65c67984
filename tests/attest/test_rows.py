"""A row's rung is one that the suite allows for its operator."""

import pytest

from conformance.results import Row
from conformance.spec.suite import load_suite
from onboard.attest.rows import contradiction


def row(operator, rung, *, check="operators.forward", dtype="float32", bound=0.0):
    case = f"{check}/{operator}/{dtype}/sample-0000/plain/function"
    return Row(case, check, operator, None, dtype, "plain", "function", "pass", None, 0.0, bound, rung, 0.0, "")


@pytest.mark.parametrize(
    ("operator", "rung", "problem"),
    [
        ("nn.functional.multi_head_attention_forward", "conditioned", None),
        ("nn.functional.multi_head_attention_forward", "random", None),  # it drops in some calls only
        ("nn.functional.multi_head_attention_forward", "dot", "where the suite asks for conditioned"),
        ("exp", "random", "where the suite asks for conditioned"),
        ("exp", "conditioned", None),
        ("mm", "random", "where the suite asks for dot"),
    ],
)
def test_draws_judge_only_what_has_a_law(operator, rung, problem):
    found = contradiction(row(operator, rung), load_suite())
    assert found is None if problem is None else problem in found


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (row("neg", "conditioned", check="operators.backward"), None),  # exact itself, its gradient not
        (row("mm", "dot", check="operators.backward"), None),
        (row("mm", "conditioned", check="operators.backward"), "where the suite asks for dot"),
        (row("linalg.svd", "residual"), None),
        (row("linalg.svd", "conditioned"), "where the suite asks for residual"),
        (row("linalg.svd", "conditioned", check="operators.backward"), "no oracle for operators.backward"),
        (row("addbmm", "host", dtype="bfloat16", bound=4.0), None),
        (row("addbmm", "host", dtype="bfloat16", bound=5.0), "where the suite asks for dot"),
        (row("addbmm", "host", dtype="float32", bound=4.0), "where the suite asks for dot"),
    ],
)
def test_the_rung_is_that_of_the_variant(found, problem):
    said = contradiction(found, load_suite())
    assert said is None if problem is None else problem in said
