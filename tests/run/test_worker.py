"""What a worker makes of a case."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from conformance.checks.contract import Case, Judgement
from conformance.device.profile import default_profile
from conformance.run.worker import run_case


def raises():
    raise RuntimeError("not implemented")


def passes():
    return Judgement("pass", error=0.0, bound=0.0, rung="exact")


def outcome(check, run, **declared):
    context = SimpleNamespace(profile=replace(default_profile("cpu"), **declared))
    case = Case("sample-0000/plain/function", "plain", "function", 1, run, str)
    return run_case(context, case, (check, "memory", "bfloat16"))["outcome"]


@pytest.mark.parametrize(
    "declared", [{"unsupported_operators": {"memory": "none"}}, {"unsupported_dtypes": {"bfloat16": "none"}}]
)
def test_a_declaration_excuses_operators_and_nothing_else(declared):
    assert outcome("operators.forward", raises) == "error"
    assert outcome("operators.forward", raises, **declared) == "unsupported"
    assert outcome("operators.forward", passes, **declared) == "error"
    assert outcome("runtime.accelerator", raises, **declared) == "error"
    assert outcome("compile.smoke", raises, **declared) == "error"
