"""JSON with a key twice: one reader sees FAILED, another PASSED."""

from __future__ import annotations

import gzip

from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME
from onboard.attest.strictjson import dump


def test_in_the_envelope(bench):
    path = bench.folder / ENVELOPE_NAME
    path.write_bytes(path.read_bytes().replace(b'{"payload":', b'{"payload":"e30=","payload":', 1))
    bench.rejected("envelope")


def test_in_the_signed_statement(bench):
    bench.restate(lambda document: dump(document).replace(b'"result":', b'"result":"FAILED","result":', 1))
    bench.rejected("statement")


def test_in_a_row(bench):
    path = bench.folder / RESULTS_NAME
    path.write_bytes(
        gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"outcome":', b'"outcome":"wrong","outcome":', 1))
    )
    bench.rebind()
    bench.rejected("results")


def test_in_the_summary_and_the_environment(bench):
    for name, key in ((REPORT_NAME, b'"verdict":'), (ENVIRONMENT_NAME, b'"torch":')):
        path = bench.folder / name
        whole = path.read_bytes()
        path.write_bytes(whole.replace(key, key + b' "x", ' + key, 1))
        assert path.read_bytes() != whole
        bench.rebind()
        bench.rejected("summary")
        path.write_bytes(whole)
