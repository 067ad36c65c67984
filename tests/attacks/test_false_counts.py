"""The rows are honest and the counts above them are not."""

from __future__ import annotations

import pytest


def own(document):
    return document["predicate"]["onboard"]


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        (lambda d: own(d)["outcomes"].update({"pass": 13}), {"verdict", "summary"}),
        (lambda d: own(d)["outcomes"].update(brilliant=1), {"verdict", "summary"}),
        (lambda d: own(d)["outcomes"].pop("wrong"), {"verdict"}),
        (lambda d: own(d).update(planned=11), {"cases", "summary"}),
        (lambda d: own(d)["levels"]["bring-up"].update(passed=11), {"verdict", "summary"}),
        (lambda d: own(d)["levels"]["bring-up"].update(required=9), {"verdict", "summary"}),
        (lambda d: own(d)["levels"].pop("inference"), {"summary"}),
        (lambda d: d["predicate"]["passedTests"].pop(), {"verdict"}),
        (lambda d: d["predicate"]["passedTests"].append("operators.forward/conv/float32"), {"verdict"}),
        (lambda d: d["predicate"]["warnedTests"].append("operators.forward/mm/float32"), {"verdict"}),
    ],
)
def test_a_count_that_does_not_follow_from_the_rows_is_noticed(bench, change, ids):
    bench.restate(change)
    bench.rejected(*ids)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: own(d).update(outcomes=[]),
        lambda d: own(d)["outcomes"].update({"pass": 12.0}),
        lambda d: own(d)["outcomes"].update({"pass": True}),
        lambda d: own(d).update(planned="12"),
        lambda d: own(d).update(levels={"bring-up": "pass"}),
        lambda d: d["predicate"].pop("configuration"),
        lambda d: d["predicate"].update(configuration=[7]),
        lambda d: d["predicate"]["configuration"][0].update(digest={}),
        lambda d: d["predicate"]["configuration"][0].update(annotations={"version": 1}),
        lambda d: d["predicate"]["configuration"].append(d["predicate"]["configuration"][0]),
        lambda d: d["subject"].append(d["subject"][0]),
        lambda d: d.update(subject=[]),
        lambda d: d.update(subject=[7]),
        lambda d: d["subject"][0]["digest"].update(sha256="A" * 64),
        lambda d: own(d).update(simulated=0),
        lambda d: own(d).update(started="yesterday"),
        lambda d: own(d).update(finished="2026-11-21T12:01:00+00:00"),
        lambda d: d["predicate"].update(passedTests=[1]),
        lambda d: d["predicate"].pop("onboard"),
    ],
)
def test_a_statement_of_another_form_is_refused(bench, change):
    bench.restate(change)
    bench.rejected("statement")
