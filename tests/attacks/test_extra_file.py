"""Something lies in the folder that nobody signed for."""

from __future__ import annotations

import os

import pytest

from conformance.results import JOURNAL_NAME, SUMMARY_NAME


@pytest.mark.parametrize(
    "name", ["notes.txt", ".hidden", "results.jsonl", "report.dsse.json.part", JOURNAL_NAME, "é\n"]
)
def test_an_unknown_file_is_noticed(bench, name):
    (bench.folder / name).write_bytes(b"")
    bench.rejected("files")


def test_a_known_file_that_was_added_later_is_noticed(bench):
    (bench.folder / SUMMARY_NAME).write_text("<h1>PASSED</h1>")
    bench.rejected("evidence")


def test_a_folder_is_noticed(bench):
    (bench.folder / "more").mkdir()
    bench.rejected("files")


def test_a_named_pipe_is_noticed_and_not_waited_for(bench):
    os.mkfifo(bench.folder / SUMMARY_NAME)
    bench.rejected("files")


def test_a_name_that_is_no_text_is_noticed(bench):
    (bench.folder / os.fsdecode(b"\xff\xfe\x1b[2J")).write_bytes(b"")
    found = bench.rejected("files")
    assert found.checks[0].detail.isprintable()
    assert "\\x1b[2J" in found.checks[0].detail
