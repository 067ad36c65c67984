"""No signature, or several: an envelope has exactly one."""

from __future__ import annotations

import json

import pytest

from conformance.results import ENVELOPE_NAME


@pytest.mark.parametrize("count", [0, 2, 3])
def test_any_count_but_one_is_refused(bench, count):
    path = bench.folder / ENVELOPE_NAME
    document = json.loads(path.read_bytes())
    document["signatures"] *= count
    path.write_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    found = bench.rejected("envelope")
    assert f"{count} signatures" in next(check.detail for check in found.checks if check.id == "envelope")


def test_an_empty_signature_is_refused(bench):
    path = bench.folder / ENVELOPE_NAME
    document = json.loads(path.read_bytes())
    document["signatures"][0]["sig"] = ""
    path.write_bytes(json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    bench.rejected("signature")


def test_an_unsigned_folder_is_no_report(unsigned):
    unsigned.run()
    unsigned.rejected("files", "envelope")
