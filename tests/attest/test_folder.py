from __future__ import annotations

import gzip
import hashlib
import random

import pytest

from conformance.errors import EnvironmentFailure, UsageError
from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME
from onboard.attest.folder import Evidence, lines, read_folder


def test_lines_come_out_as_they_went_in_whatever_the_chunks():
    generator = random.Random(7)
    expected = [
        generator.randbytes(generator.choice([0, 1, 100, 5_000, 90_000])).replace(b"\n", b" ") for _ in range(300)
    ]
    packed = gzip.compress(b"".join(line + b"\n" for line in expected))
    assert list(lines(packed, "x")) == expected


def test_nothing_packed_is_no_line():
    assert list(lines(gzip.compress(b""), "x")) == []
    assert list(lines(gzip.compress(b"\n"), "x")) == [b""]


def test_evidence_is_every_file_but_the_envelope(tmp_path):
    for name in (RESULTS_NAME, ENVIRONMENT_NAME, REPORT_NAME, ENVELOPE_NAME):
        (tmp_path / name).write_bytes(name.encode())
    found = read_folder(tmp_path)
    assert found.problems == {}
    assert found.evidence() == tuple(
        Evidence(name, hashlib.sha256(name.encode()).hexdigest(), len(name))
        for name in sorted((RESULTS_NAME, ENVIRONMENT_NAME, REPORT_NAME))
    )


def test_a_folder_with_a_thousand_files_is_not_one_of_ours(tmp_path):
    for number in range(100):
        (tmp_path / str(number)).touch()
    with pytest.raises(UsageError, match="100 entries"):
        read_folder(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="not a folder"):
        read_folder(tmp_path / "file")


def test_a_path_that_can_not_be_a_path_is_an_error_of_the_environment(tmp_path):
    with pytest.raises(EnvironmentFailure, match="can't be read"):
        read_folder(tmp_path / ("x" * 5000))
