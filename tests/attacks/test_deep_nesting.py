"""100,000 nested brackets, wherever JSON is read."""

from __future__ import annotations

import gzip

import pytest

from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME

DEEP = [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]


@pytest.mark.parametrize("deep", DEEP, ids=["open", "lists", "objects"])
def test_nesting_is_refused_without_a_crash(bench, deep):
    for name, check in ((RESULTS_NAME, "results"), (ENVIRONMENT_NAME, "summary"), (REPORT_NAME, "summary")):
        path = bench.folder / name
        whole = path.read_bytes()
        path.write_bytes(gzip.compress(deep + b"\n") if name == RESULTS_NAME else deep)
        bench.rebind()
        bench.rejected(check)
        path.write_bytes(whole)
    bench.restate(lambda _: deep)
    bench.rejected("statement")
    (bench.folder / ENVELOPE_NAME).write_bytes(deep)
    bench.rejected("envelope")
