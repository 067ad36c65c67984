"""A key outside its time. The clock is the verifier's: what the report says of its own time moves nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)


def test_an_expired_key_is_untrusted(bench, trusting):
    trust = trusting(bench.key, valid_before=NOW)
    bench.rejected("signer", status="UNTRUSTED", trust=trust)
    assert bench.verify(trust=trust, at=NOW - SECOND).status == "VALID"


def test_a_key_of_tomorrow_is_untrusted(bench, trusting):
    trust = trusting(bench.key, valid_after=NOW)
    assert bench.verify(trust=trust).status == "VALID"
    bench.rejected("signer", status="UNTRUSTED", trust=trust, at=NOW - SECOND)


def test_a_backdated_report_does_not_revive_an_expired_key(bench, trusting):
    def backdate(document):
        document["predicate"]["onboard"].update(started="2026-10-01T00:00:00Z", finished="2026-10-01T00:01:00Z")

    bench.restate(backdate)
    trust = trusting(bench.key, valid_before=datetime(2026, 11, 1, tzinfo=timezone.utc))
    found = bench.verify(trust=trust)
    assert found.status in ("UNTRUSTED", "INVALID")
    assert found.verdict is None
