"""The journal gives back what was written, leaves out a torn end, and names what was damaged."""

from __future__ import annotations

import os

import pytest

from conformance.errors import EnvironmentFailure, UsageError
from conformance.results import Row
from conformance.run.journal import Journal, read_journal, refuse_if_running


def row(number):
    return Row(f"c/o/any/case-{number}", "c", "o", None, None, None, None, "pass", None, 0.0, 0.0, "exact", 0.25, "é\n")


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, {"seed": 7})
    journal.environment({"torch": "2.13"})
    for number in range(5):
        journal.append(row(number))
    journal.close()
    return path


def test_what_was_written_comes_back(written):
    found = read_journal(written)
    assert found.run["seed"] == 7
    assert found.environment == {"torch": "2.13"}
    assert list(found.rows.values()) == [row(number) for number in range(5)]
    assert found.size == written.stat().st_size


def test_a_torn_end_is_left_out_and_written_over(written):
    whole = written.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for size in range(last, len(whole)):  # the last record is torn at every place
        written.write_bytes(whole[:size])
        found = read_journal(written)
        assert (len(found.rows), found.size) == (4, last)
    journal = Journal(written, {}, found)
    journal.append(row(4))
    journal.close()
    assert written.read_bytes() == whole


def test_an_end_of_zeros_is_torn(written):
    """As a file system may leave what was not synced when the power went."""
    size = written.stat().st_size
    written.write_bytes(written.read_bytes() + b"\0" * 100 + b"\n" + b"\0" * 50)
    assert read_journal(written).size == size


def test_a_damaged_record_in_the_middle_is_named(written):
    lines = written.read_bytes().splitlines(keepends=True)
    place = sum(map(len, lines[:3]))
    lines[3] = lines[3].replace(b"pass", b"fail")
    written.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match=f"record 4, at byte {place}, is damaged") as caught:
        read_journal(written)
    assert "--resume" in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"0000", b'00000000 {"schema":"onboard/journal/1"}\n', b"{}\n"])
def test_what_is_no_journal_is_refused(tmp_path, data):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="no journal of this version"):
        read_journal(path)


def test_two_runs_do_not_write_to_one_journal(written):
    journal = Journal(written, {}, read_journal(written))
    for refused in (lambda: Journal(written, {}), lambda: refuse_if_running(written)):
        with pytest.raises(UsageError, match="another run is writing"):
            refused()
    assert len(read_journal(written).rows) == 5
    journal.close()
    refuse_if_running(written)
    refuse_if_running(written.with_name("none"))


def test_no_journal_is_no_broken_run(tmp_path):
    with pytest.raises(UsageError, match="holds no broken run"):
        read_journal(tmp_path / "journal.jsonl")


def test_a_full_disk_is_told_and_keeps_what_is_whole(written):
    journal = Journal(written, {}, read_journal(written))
    os.dup2(os.open("/dev/full", os.O_WRONLY), journal._fd)
    journal.append(row(9))
    with pytest.raises(EnvironmentFailure, match="No space left on device") as caught:
        journal.sync()
    assert "--resume" in caught.value.hint
    assert len(read_journal(written).rows) == 5
