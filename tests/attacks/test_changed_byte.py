"""Any one byte changed in any file of the report."""

from __future__ import annotations

import random

import pytest

from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME


def positions(size, count):
    """Both ends and a seeded sample between them."""
    return sorted(
        {*range(min(40, size)), *range(max(0, size - 260), size), *random.Random(size).sample(range(size), count)}
    )


@pytest.mark.parametrize(
    ("name", "count"), [(ENVELOPE_NAME, 400), (RESULTS_NAME, 60), (REPORT_NAME, 60), (ENVIRONMENT_NAME, 30)]
)
def test_a_changed_byte_is_noticed(bench, name, count):
    path = bench.folder / name
    whole = path.read_bytes()
    accepted = []
    for position in positions(len(whole), min(count, len(whole))):
        for flip in (0x01, 0x20, 0x80):
            spoiled = bytearray(whole)
            spoiled[position] ^= flip
            path.write_bytes(spoiled)
            found = bench.verify()
            if found.status == "VALID" or found.verdict is not None:
                accepted.append((position, flip))
    assert accepted == []
    path.write_bytes(whole)
    assert bench.verify().status == "VALID"


def test_every_byte_of_the_signature_and_what_stands_around_it_counts(bench):
    path = bench.folder / ENVELOPE_NAME
    whole = path.read_bytes()
    start = whole.index(b'"payloadType"')
    for position in range(start, len(whole)):
        for byte in b"A-_/+= \n{":
            if whole[position] != byte:
                path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
                assert bench.verify().status in ("INVALID", "UNTRUSTED"), (position, chr(byte))


@pytest.mark.parametrize("name", [ENVELOPE_NAME, RESULTS_NAME, REPORT_NAME, ENVIRONMENT_NAME])
@pytest.mark.parametrize(
    "change", [lambda d: d + b"\n", lambda d: b" " + d, lambda d: d[:-1], lambda d: b"", lambda d: d[1:]]
)
def test_bytes_added_or_lost_are_noticed(bench, name, change):
    path = bench.folder / name
    path.write_bytes(change(path.read_bytes()))
    assert bench.verify().status == "INVALID"
