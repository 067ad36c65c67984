"""A row's rung is one that the suite allows for its operator."""

import pytest

from conformance.results import Row
from conformance.spec.suite import load_suite
from onboard.attest.rows import contradiction


def row(operator, rung):
    case = f"operators.forward/{operator}/float32/sample-0000/plain/function"
    return Row(
        case, "operators.forward", operator, None, "float32", "plain", "function", "pass", None, 0.0, 0.0, rung, 0.0, ""
    )


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
