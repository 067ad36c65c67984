"""Measured with another suite, policy or set of levels than the verifier's."""

from __future__ import annotations

import pytest

EASIER_POLICY = "levels:\n  bring-up: {unsupported_dtypes: [bfloat16, float32]}\n  inference: {}\n"
LONGER = 'suite: onboard\nversion: 0.0.9\nnewest_torch: "2.15"\nseconds: {case: 11, first_call: 60}\n'
LOOSER = (
    "family: moving\nlevel: bring-up\nsince: 1\ndtypes: [float32]\noracle: {rung: conditioned}\noperators: {cat: }\n"
)


@pytest.mark.parametrize(
    "changes",
    [{"suite.yaml": LONGER}, {"policy.yaml": EASIER_POLICY}, {"operators/moving.yaml": LOOSER}],
    ids=["deadline", "policy", "oracle"],
)
def test_a_report_of_an_easier_suite_is_refused(bench, suites, tmp_path, changes):
    bench.rejected("suite", suite=suites(tmp_path / "other", changes))


def test_a_suite_digest_that_is_only_claimed_is_noticed(bench, suites, tmp_path, with_row):
    easier = suites(tmp_path / "easier", {"policy.yaml": EASIER_POLICY})
    genuine = bench.suite
    rows = with_row(bench, "cat", outcome="unsupported", error=None, bound=None, rung=None)
    bench.suite = easier
    bench.run(rows).sign()
    assert bench.verify().status == "VALID"
    bench.suite = genuine

    def claim(document):
        predicate = document["predicate"]
        predicate["configuration"][0]["digest"]["sha256"] = genuine.digest

    bench.restate(claim)
    found = bench.verify()
    assert found.status == "INVALID"
    assert found.verdict is None


def test_another_policy_is_noticed(bench):
    bench.restate(lambda document: document["predicate"]["configuration"][1]["digest"].update(sha256="0" * 64))
    bench.rejected("suite")


def test_a_statement_that_names_no_suite_is_refused(bench):
    bench.restate(lambda document: document["predicate"]["configuration"].pop(0))
    found = bench.verify()
    assert found.status == "INVALID"
    assert "'suite' is missing" in next(check.detail for check in found.checks if check.id == "suite")
