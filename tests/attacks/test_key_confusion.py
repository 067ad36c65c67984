"""The working group's key under a vendor's report."""

from __future__ import annotations


def test_a_key_of_the_working_group_signs_no_report(bench, trusting):
    found = bench.rejected("signer", status="UNTRUSTED", trust=trusting(bench.key, role="wg"))
    assert "trusted as wg" in next(check.detail for check in found.checks if check.id == "signer")


def test_not_even_with_the_device_in_its_scope(bench, trusting):
    bench.rejected("signer", status="UNTRUSTED", trust=trusting(bench.key, role="wg", devices=("trn",)))
