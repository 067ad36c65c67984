"""A signature made over something else, passed off as a report."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.results import ENVELOPE_NAME
from onboard.attest.strictjson import dump


@pytest.mark.parametrize("kind", ["application/json", "application/vnd.in-toto+json ", "text/plain", ""])
def test_another_payload_type_is_refused_though_the_signature_fits(bench, kind):
    bench.restate(dump, payload_type=kind)
    bench.rejected("envelope")


def test_the_type_is_part_of_what_is_signed(bench):
    bench.restate(dump, payload_type="application/json")
    path = bench.folder / ENVELOPE_NAME
    path.write_bytes(path.read_bytes().replace(b"application/json", b"application/vnd.in-toto+json"))
    bench.rejected("signature")


def test_another_payload_under_the_signature_is_refused(bench):
    path = bench.folder / ENVELOPE_NAME
    document = json.loads(path.read_bytes())
    payload = base64.b64decode(document["payload"]).replace(b"bring-up", b"training")
    document["payload"] = base64.b64encode(payload).decode()
    path.write_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    bench.rejected("signature")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://in-toto.io/attestation/svr/v0.2"),
        ("predicateType", "https://slsa.dev/provenance/v1"),
    ],
)
def test_another_kind_of_statement_is_refused(bench, key, value):
    bench.restate(lambda document: document.update({key: value}))
    bench.rejected("statement")


def test_another_schema_is_refused(bench):
    bench.restate(lambda document: document["predicate"]["onboard"].update(schema="onboard-report/2"))
    bench.rejected("statement")


@pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b"null", b"7", b"\x00\xff", b'{"subject": 1}'])
def test_a_payload_that_is_no_statement_is_refused(bench, payload):
    bench.seal(payload)
    bench.rejected("statement")
