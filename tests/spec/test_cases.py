"""Written cases: each calls what torch has, knows the right answer, and complains of what cannot be an argument."""

from __future__ import annotations

import pytest
import torch

from conformance.checks.operators import CHECKS
from conformance.errors import UsageError
from conformance.inputs.written import argument, overload_of, sample_of
from conformance.oracle.compare import differing
from conformance.oracle.reference import evaluate
from conformance.spec.cases import Drawn, Dtype, Literal, load_cases, with_cases
from conformance.spec.suite import load_suite

SUITE = load_suite()
WRITTEN = [(name, case) for name, spec in SUITE.operators.items() for case in spec.cases]
HEAD = "family: f\nlevel: inference\nsince: 1\ncases:\n"


@pytest.fixture
def load(tmp_path):
    def load(text):
        path = tmp_path / "file.yaml"
        path.write_text(HEAD + text)
        return load_cases(path, "specs/cases/file.yaml")

    return load


def test_every_case_calls_an_overload_of_this_torch():
    assert len(WRITTEN) > 200
    assert [case.overload for _, case in WRITTEN if overload_of(case) is None] == []


@pytest.mark.parametrize("case", [case for _, case in WRITTEN if case.expected], ids=lambda case: case.name)
def test_what_is_expected_is_what_the_host_answers(case):
    """The values are worked out by hand, and of whole numbers the host's are compared with."""
    sample = sample_of(case, case.dtypes[0], 0)
    expected = [argument(value, case.dtypes[0], torch.Generator()) for value in case.expected]
    found = evaluate(overload_of(case), sample)[: len(expected)]
    for left, right in zip(found, expected, strict=True):
        assert left.shape == right.shape
        assert left.dtype == right.dtype
        near = (
            (left - right).abs() <= 2 * torch.finfo(left.dtype).eps * right.abs() if left.is_floating_point() else None
        )
        assert not bool((differing(left, right) if near is None else differing(left, right) & ~near).any())


def test_a_reported_case_says_what_must_be_and_who_found_it():
    assert all(case.must and case.source for _, case in WRITTEN if case.expected)


def test_every_case_is_planned_under_a_name_of_its_own():
    check = next(check for check in CHECKS if check.id == "operators.cases")
    for name in ("eq", "var", "_fused_adam_", "_weight_norm_interface"):
        spec = SUITE.operators[name]
        for dtype in check.dtypes(spec):
            stems = [call.stem for call in check.calls(spec, dtype, 0)]
            assert len(stems) == len(set(stems))
            planned = {stem.partition("/")[0] for stem in check.names(SUITE, name, dtype)}
            written = {case.name or case.overload for case in spec.cases if dtype in case.dtypes}
            assert written <= planned


def test_a_case_belongs_to_the_operator_of_its_overload():
    owners = {case.overload: name for name, case in WRITTEN}
    assert owners["eq.Scalar"] == "eq"
    assert owners["special_xlog1py.self_scalar"] == "special.xlog1py"
    assert owners["binary_cross_entropy"] == "nn.functional.binary_cross_entropy"
    assert owners["_weight_norm_interface"] == "_weight_norm_interface"


def test_arguments_are_read(load):
    text = "  eq.Tensor: [[{normal: [2]}, {tensor: [1, 2], dtype: int64}, {dtype: same}, [1, 2.5], null, true]]\n"
    ((spec, case),) = load(text)
    assert spec.name == "eq"
    assert case.args == (Drawn("normal", (2,)), Literal((1, 2), "int64"), Dtype("same"), (1, 2.5), None, True)
    assert case.twins
    assert with_cases({}, [(spec, case)])["eq"].cases == (case,)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("[{gauss: [2]}]", "no argument"),
        ("[{integers: [2], from: 3, to: 3}]", "nothing lies from 3.0 to below 3.0"),
        ("[{normal: [2, -1]}]", "at least 0"),
        ("[{normal: [2], transposed: true}]", "only a matrix"),
        ("[{tensor: [one]}]", "a tensor holds numbers"),
        ("[{normal: [2], dtype: float31}]", "'float31' is none of"),
        ("{kwargs: {}}", "the field 'args' is missing"),
        ("{args: [], expect: []}", "unknown field"),
    ],
)
def test_what_is_no_argument_is_refused(load, arguments, problem):
    with pytest.raises(UsageError, match=r"specs/cases/file.yaml:5: cases\.eq\.Tensor\[0\]") as caught:
        load(f"  eq.Tensor: [{arguments}]\n")
    assert problem in caught.value.message


def test_the_same_seed_draws_the_same():
    case = next(case for _, case in WRITTEN if case.overload == "eq.Scalar")
    first, again, other = (sample_of(case, "float32", seed).args[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_transposed_matrix_has_its_columns_one_after_the_other():
    made = argument(Drawn("normal", (3, 2), transposed=True), "float32", torch.Generator())
    assert made.shape == (3, 2)
    assert made.stride() == (1, 3)
