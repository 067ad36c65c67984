"""A key that was taken back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@pytest.mark.parametrize("reason", ["superseded", "retired"])
def test_a_revoked_key_is_untrusted_from_then_on(bench, trusting, reason):
    trust = trusting(bench.key, revoked_at=NOW, reason=reason)
    bench.rejected("signer", status="UNTRUSTED", trust=trust)
    assert bench.verify(trust=trust, at=NOW - DAY).status == "VALID"


def test_a_compromised_key_is_untrusted_at_all_times(bench, trusting):
    trust = trusting(bench.key, revoked_at=NOW, reason="compromised")
    for at in (NOW, NOW - DAY):
        bench.rejected("signer", status="UNTRUSTED", trust=trust, at=at)
