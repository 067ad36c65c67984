"""A perfect report, signed by a stranger."""

from __future__ import annotations

from onboard.attest.strictjson import dump
from onboard.attest.trust import Trust


def test_a_stranger_is_untrusted_and_nothing_is_read_of_the_report(bench, other_key):
    bench.seal(dump(bench.statement()), key=other_key)
    found = bench.rejected("signature", status="UNTRUSTED")
    assert (found.statement, found.signer, found.simulated) == (None, None, None)
    assert {check.id for check in found.checks if check.ok is None} >= {"signer", "cases", "verdict"}


def test_nobody_trusted_means_untrusted(bench):
    bench.rejected("signature", status="UNTRUSTED", trust=Trust())


def test_a_stranger_with_a_spoiled_folder_is_invalid(bench, other_key):
    bench.seal(dump(bench.statement()), key=other_key)
    (bench.folder / "extra").write_bytes(b"")
    bench.rejected("files", "signature")
