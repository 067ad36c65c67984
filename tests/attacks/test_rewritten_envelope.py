"""The same signature in another writing: what is outside the signature is anybody's to change."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.results import ENVELOPE_NAME


def compact(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def url_safe(document):
    for holder, key in ((document, "payload"), (document["signatures"][0], "sig")):
        holder[key] = base64.urlsafe_b64encode(base64.b64decode(holder[key])).decode().rstrip("=")
    return compact(document)


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda document: json.dumps(document, indent=2).encode(),
        lambda document: compact(document).rstrip(b"\n"),
        lambda document: compact({**document, "note": "PASSED"}),
        url_safe,
    ],
    ids=["spaces", "line-break", "member", "url-safe"],
)
def test_a_report_has_one_writing(bench, rewrite):
    path = bench.folder / ENVELOPE_NAME
    path.write_bytes(rewrite(json.loads(path.read_bytes())))
    bench.rejected("envelope")
