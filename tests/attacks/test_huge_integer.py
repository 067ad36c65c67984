"""Whole numbers of 5,000 digits, which Python refuses to convert, and of 20, which other readers round."""

from __future__ import annotations

import gzip

import pytest

from conformance.results import ENVIRONMENT_NAME, RESULTS_NAME
from onboard.attest.strictjson import dump


@pytest.mark.parametrize("digits", [20, 5000])
def test_a_number_that_does_not_survive_other_readers_is_refused(bench, digits):
    huge = b"9" * digits
    path = bench.folder / RESULTS_NAME
    whole = path.read_bytes()
    path.write_bytes(gzip.compress(gzip.decompress(whole).replace(b'"bound":1e-06', b'"bound":' + huge, 1)))
    bench.rebind()
    bench.rejected("results")
    path.write_bytes(whole)
    path = bench.folder / ENVIRONMENT_NAME
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"seed": 0', b'"seed": ' + huge))
    bench.rebind()
    bench.rejected("summary")
    path.write_bytes(whole)
    bench.restate(lambda document: dump(document).replace(b'"planned":12', b'"planned":' + huge, 1))
    bench.rejected("statement")


@pytest.mark.parametrize("version", ["9" * 5000 + ".1", "2." + "9" * 5000, "2.13/../../x", "nonsense", "2.13\n"])
def test_a_version_that_is_none_is_refused(bench, version):
    bench.restate(lambda document: document["predicate"]["onboard"].update(torch=version))
    bench.rejected("statement")
