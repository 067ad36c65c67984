from __future__ import annotations

import base64
import json

import pytest

from onboard.attest.dsse import Envelope, decode, encode, pae
from onboard.attest.strictjson import MalformedError

ENVELOPE = Envelope("application/vnd.in-toto+json", b'{"a":"\xc3\xbf?>~"}', "ab" * 32, bytes(range(190, 254)))


def test_pae_matches_the_vector_of_the_protocol():
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_pae_counts_bytes_not_characters():
    assert pae("é", "ü€".encode()) == "DSSEv1 2 é 5 ü€".encode()


def test_an_envelope_reads_back_as_itself():
    assert decode(encode(ENVELOPE)) == ENVELOPE
    assert encode(decode(encode(ENVELOPE))) == encode(ENVELOPE)


@pytest.mark.parametrize("strip", [False, True], ids=["padded", "unpadded"])
def test_url_safe_base64_is_read(strip):
    document = json.loads(encode(ENVELOPE))
    assert "+" in document["signatures"][0]["sig"]
    for holder, key in ((document, "payload"), (document["signatures"][0], "sig")):
        text = base64.urlsafe_b64encode(base64.b64decode(holder[key])).decode()
        holder[key] = text.rstrip("=") if strip else text
    assert decode(json.dumps(document).encode()) == ENVELOPE


def test_unknown_members_are_ignored_and_an_absent_keyid_is_empty():
    document = json.loads(encode(ENVELOPE))
    document["extra"] = document["signatures"][0]["extra"] = 1
    del document["signatures"][0]["keyid"]
    assert decode(json.dumps(document).encode()).keyid == ""


def _signature(document):
    return document["signatures"][0]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d.pop("payload"), "'payload' is missing"),
        (lambda d: d.pop("payloadType"), "'payloadType' is missing"),
        (lambda d: d.pop("signatures"), "'signatures' is missing"),
        (lambda d: _signature(d).pop("sig"), "'sig' is missing"),
        (lambda d: d.update(signatures={}), "must be list"),
        (lambda d: d.update(signatures=["x"]), "expected an object"),
        (lambda d: _signature(d).update(keyid=7), "must be str"),
        (lambda d: d.update(payload=d["payload"] + "\n"), "not base64"),
        (lambda d: d.update(payload=d["payload"][:4] + " " + d["payload"][4:]), "not base64"),
        (lambda d: d.update(payload="+_=="), "not base64"),
        (lambda d: d.update(payload="A"), "not base64"),
        (lambda d: d.update(payload="AB=="), "stray bits"),
        (lambda d: d.update(payload="AA="), "not base64"),
        (lambda d: d.update(payload="AAAA=="), "not base64|stray bits"),
    ],
)
def test_malformed_envelopes_are_refused(change, complaint):
    document = json.loads(encode(ENVELOPE))
    change(document)
    with pytest.raises(MalformedError, match=complaint):
        decode(json.dumps(document).encode())
