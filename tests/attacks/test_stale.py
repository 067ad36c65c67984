"""Genuine and no longer worth much: STALE is neither VALID nor INVALID."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from onboard.attest.verify import holds

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)


def environment(torch):
    return {"torch": torch, "device": {"type": "trn", "count": 2}, "seed": 0}


def test_older_than_183_days_is_stale(bench):
    finished = bench.verify().statement.finished
    assert bench.verify(at=finished + timedelta(days=183)).status == "VALID"
    found = bench.rejected("age", status="STALE", at=finished + timedelta(days=183, seconds=1))
    assert found.verdict == "pass"
    assert not holds(found, "bring-up", bench.suite)


@pytest.mark.parametrize(("torch", "status"), [("2.13.0", "VALID"), ("2.12.1+cpu", "VALID"), ("2.11.0", "STALE")])
def test_more_than_three_minors_behind_is_stale(unsigned, torch, status):
    unsigned.run(environment=environment(torch)).sign()
    found = unsigned.verify()
    assert (found.status, found.verdict) == (status, "pass")


def test_an_older_major_is_stale(unsigned, suites, tmp_path):
    newer = suites(
        tmp_path / "suite",
        {"suite.yaml": 'suite: onboard\nversion: 1.0.0\nnewest_torch: "3.0"\nseconds: {case: 10, first_call: 60}\n'},
    )
    unsigned.suite = newer
    unsigned.run().sign()
    unsigned.rejected("torch", status="STALE")


def test_a_withdrawn_suite_is_stale(unsigned, suites, tmp_path):
    text = (
        'suite: onboard\nversion: 0.0.9\nnewest_torch: "2.15"\nwithdrawn: true\nseconds: {case: 10, first_call: 60}\n'
    )
    unsigned.suite = suites(tmp_path / "suite", {"suite.yaml": text})
    unsigned.run().sign()
    unsigned.rejected("suite-current", status="STALE")


def test_the_last_moment_there_is_is_a_time_like_any_other(bench):
    assert bench.verify(at=datetime.max.replace(tzinfo=timezone.utc)).status == "STALE"
    bench.rejected("times", at=datetime.min.replace(tzinfo=timezone.utc))


def test_stale_and_changed_is_invalid(bench):
    (bench.folder / "extra").write_bytes(b"")
    bench.rejected("files", "age", at=NOW + timedelta(days=400))


def test_stale_and_out_of_scope_is_untrusted(bench, trusting):
    trust = trusting(bench.key, devices=("other",))
    bench.rejected("signer", "age", status="UNTRUSTED", trust=trust, at=NOW + timedelta(days=400))
