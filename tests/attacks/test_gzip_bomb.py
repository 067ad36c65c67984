"""Results that unpack to more than anybody can hold, or to more than they say."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from conformance.results import RESULTS_NAME
from onboard.attest import folder
from onboard.attest.strictjson import MalformedError


def bomb(size):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"\n" * (1 << 20)
    return b"".join(packer.compress(block) for _ in range(size >> 20)) + packer.flush()


def test_a_bomb_is_refused_while_it_unpacks(monkeypatch):
    monkeypatch.setattr(folder, "MAX_UNPACKED_BYTES", 16 << 20)
    packed = bomb(64 << 20)
    assert len(packed) < 100_000
    tracemalloc.start()
    with pytest.raises(MalformedError, match="unpacks to more than"):
        for _ in folder.lines(packed, "x"):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_a_bomb_of_empty_lines_ends_at_the_first(bench):
    (bench.folder / RESULTS_NAME).write_bytes(bomb(64 << 20))
    bench.rebind()
    bench.rejected("results")


def test_one_endless_line_is_refused(bench):
    (bench.folder / RESULTS_NAME).write_bytes(gzip.compress(b'{"case":"' + b"x" * (4 << 20)))
    bench.rebind()
    found = bench.rejected("results")
    assert "a line of more than" in next(check.detail for check in found.checks if check.id == "results")


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda packed: packed + packed, "bytes after the end"),
        (lambda packed: packed + b"\0", "bytes after the end"),
        (lambda packed: packed[:-1], "cut off"),
        (lambda packed: packed[:-9], "cut off"),
        (lambda _: b"", "cut off"),
        (lambda packed: packed[:-8] + b"\0" * 8, "not gzip"),
        (gzip.decompress, "not gzip"),
        (lambda packed: gzip.compress(gzip.decompress(packed)[:-1]), "last line is cut off"),
        (lambda packed: zlib.compress(gzip.decompress(packed)), "not gzip"),
    ],
)
def test_a_stream_that_is_not_one_whole_gzip_member_is_refused(bench, spoil, complaint):
    path = bench.folder / RESULTS_NAME
    path.write_bytes(spoil(path.read_bytes()))
    bench.rebind()
    found = bench.rejected("results")
    assert complaint in next(check.detail for check in found.checks if check.id == "results")


def test_a_file_larger_than_its_limit_is_not_read(bench, monkeypatch):
    monkeypatch.setitem(folder.LIMITS, RESULTS_NAME, 100)
    found = bench.rejected("files", "evidence")
    assert "more than 100 bytes" in found.checks[0].detail
