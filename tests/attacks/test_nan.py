"""NaN and infinities, which Python's parser takes and the standard does not know."""

from __future__ import annotations

import gzip

import pytest

from conformance.results import ENVIRONMENT_NAME, RESULTS_NAME
from onboard.attest.strictjson import dump


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999"])
def test_as_a_bound_in_a_row(bench, word):
    path = bench.folder / RESULTS_NAME
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b'"bound":1e-06', b'"bound":' + word, 1)))
    bench.rebind()
    found = bench.rejected("results")
    assert any("line " in check.detail for check in found.checks if check.ok is False)


def test_in_the_statement(bench):
    bench.restate(lambda document: dump(document).replace(b'"planned":12', b'"planned":NaN', 1))
    bench.rejected("statement")


def test_in_the_environment(bench):
    path = bench.folder / ENVIRONMENT_NAME
    path.write_bytes(path.read_bytes().replace(b'"seed": 0', b'"seed": NaN'))
    bench.rebind()
    bench.rejected("summary")


@pytest.mark.parametrize(("error", "bound"), [("nan", 1.0), ("inf", 1.0), (1.0, "nan"), (0.0, "inf"), ("inf", "inf")])
def test_written_as_text_it_lies_within_no_bound(unsigned, with_row, error, bound):
    unsigned.forge(with_row(unsigned, "mm", error=error, bound=bound))
    unsigned.rejected("outcomes")
