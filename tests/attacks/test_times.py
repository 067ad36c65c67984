"""Times that can't be: a run that ends before it begins, or tomorrow."""

from __future__ import annotations

from datetime import timedelta


def restate(bench, started, finished):
    bench.restate(lambda document: document["predicate"]["onboard"].update(started=started, finished=finished))


def test_an_end_before_the_beginning_is_noticed(bench):
    restate(bench, "2026-11-21T12:00:01Z", "2026-11-21T12:00:00Z")
    bench.rejected("times", "summary")


def test_a_run_of_tomorrow_is_noticed(bench):
    restate(bench, "2026-12-02T12:00:00Z", "2026-12-02T12:01:00Z")
    bench.rejected("times", "summary")


def test_other_times_than_the_run_recorded_are_noticed(bench):
    restate(bench, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    bench.rejected("summary")


def test_a_little_skew_of_clocks_is_forgiven(bench):
    finished = bench.verify().statement.finished
    assert bench.verify(at=finished - timedelta(minutes=4)).status == "VALID"
    bench.rejected("times", at=finished - timedelta(minutes=6))
