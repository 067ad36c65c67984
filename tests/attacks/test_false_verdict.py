"""The verdict says more than the rows."""

from __future__ import annotations

import json

import pytest

from conformance.results import ENVIRONMENT_NAME, REPORT_NAME


def failed(bench, with_row):
    """A report of a failed run."""
    bench.run(with_row(bench, "mm", outcome="wrong", error=1.0)).sign()
    return bench


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        (lambda p: p.update(result="PASSED"), {"verdict"}),
        (lambda p: p["onboard"].update(verdict="pass"), {"verdict", "summary"}),
        (lambda p: p["onboard"]["levels"]["bring-up"].update(verdict="pass"), {"verdict", "summary"}),
        (lambda p: (p["passedTests"].append(p["failedTests"].pop()), p["passedTests"].sort()), {"verdict"}),
    ],
)
def test_a_verdict_that_does_not_follow_is_noticed(unsigned, with_row, change, ids):
    failed(unsigned, with_row).restate(lambda document: change(document["predicate"]))
    unsigned.rejected(*ids)


def test_everything_turned_to_pass_is_noticed(unsigned, with_row):
    honest = unsigned.run().sign().statement
    failed(unsigned, with_row)

    def brazen(document):
        predicate = document["predicate"]
        predicate.update(result="PASSED", passedTests=list(honest.passed), failedTests=[])
        predicate["onboard"].update(verdict="pass", outcomes=honest.outcomes)
        for name, (verdict, required, passed) in honest.levels.items():
            predicate["onboard"]["levels"][name] = {"verdict": verdict, "required": required, "passed": passed}

    unsigned.restate(brazen)
    unsigned.rejected("verdict", "summary")


@pytest.mark.parametrize("key", ["verdict", "device", "profile", "planned", "simulated", "profile_digest", "outcomes"])
def test_a_summary_that_says_something_else_is_noticed(unsigned, with_row, key):
    value = {"verdict": "pass", "planned": 13, "simulated": True, "outcomes": {"pass": 12}}.get(key, "x")
    failed(unsigned, with_row).edit(REPORT_NAME, lambda document: document.update({key: value}))
    unsigned.rejected("summary")


def test_a_summary_with_a_better_level_is_noticed(unsigned, with_row):
    failed(unsigned, with_row).edit(REPORT_NAME, lambda d: d["levels"]["bring-up"].update(verdict="pass"))
    unsigned.rejected("summary")


@pytest.mark.parametrize("document", [[], 7, None, {}, {"suite": 1}, {"suite": {}, "levels": {"a": 1}, "outcomes": {}}])
@pytest.mark.parametrize("name", [REPORT_NAME, ENVIRONMENT_NAME])
def test_a_summary_of_another_form_is_noticed(bench, name, document):
    (bench.folder / name).write_text(json.dumps(document))
    bench.rebind()
    bench.rejected("summary")


def test_another_torch_in_the_environment_is_noticed(bench):
    bench.edit(ENVIRONMENT_NAME, lambda document: document.update(torch="2.13.1"))
    bench.rejected("summary")


def test_another_device_in_the_environment_is_noticed(bench):
    bench.edit(ENVIRONMENT_NAME, lambda document: document["device"].update(type="cpu"))
    bench.rejected("summary")
