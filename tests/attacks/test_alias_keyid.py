"""The same key under another name: the keyid is a hint that nothing authenticates."""

from __future__ import annotations

import json

import pytest

from conformance.errors import UsageError
from conformance.results import ENVELOPE_NAME
from onboard.attest.trust import parse_trust, stanza


@pytest.mark.parametrize("keyid", ["", "0" * 64, "example-silicon"])
def test_a_signature_under_an_alias_is_refused(bench, keyid):
    path = bench.folder / ENVELOPE_NAME
    document = json.loads(path.read_bytes())
    document["signatures"][0]["keyid"] = keyid
    path.write_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    bench.rejected("signature")


def test_the_keyid_of_a_trusted_key_makes_nothing_trusted(bench, other_key):
    path = bench.folder / ENVELOPE_NAME
    bench.seal(json.dumps(bench.statement()).encode(), key=other_key)
    document = json.loads(path.read_bytes())
    document["signatures"][0]["keyid"] = bench.key.public.keyid
    path.write_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    bench.rejected("signature")


def test_one_key_can_not_stand_for_two_signers(bench):
    (signer,) = bench.trust.signers
    text = stanza(signer) + stanza(signer).replace("Example Silicon", "Someone Else")
    with pytest.raises(UsageError, match="have the same key"):
        parse_trust(text.encode(), "trust.toml")
