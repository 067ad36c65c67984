"""A file of the report is gone, or was never signed for."""

from __future__ import annotations

import pytest

from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        (RESULTS_NAME, {"files", "evidence"}),
        (ENVIRONMENT_NAME, {"files", "evidence"}),
        (REPORT_NAME, {"files", "evidence"}),
        (ENVELOPE_NAME, {"files", "envelope"}),
    ],
)
def test_a_missing_file_is_noticed(bench, name, ids):
    (bench.folder / name).unlink()
    bench.rejected(*ids)


@pytest.mark.parametrize("name", [RESULTS_NAME, ENVIRONMENT_NAME, REPORT_NAME])
def test_a_required_file_that_is_not_signed_for_is_noticed(bench, name):
    def drop(document):
        own = document["predicate"]["onboard"]
        own["evidence"] = [entry for entry in own["evidence"] if entry["name"] != name]

    bench.restate(drop)
    bench.rejected("evidence")


def test_a_file_that_is_listed_twice_is_noticed(bench):
    bench.restate(lambda d: d["predicate"]["onboard"]["evidence"].append(d["predicate"]["onboard"]["evidence"][0]))
    bench.rejected("evidence")


def test_no_evidence_at_all_is_noticed(bench):
    bench.restate(lambda document: document["predicate"]["onboard"].update(evidence=[]))
    bench.rejected("evidence")
