"""The journal: every result on disk before the run goes on, so that a broken run keeps what it measured.

A line is the CRC-32 of its record, a space, and the record as JSON. The first record says what run it is, the next
which environment it met, all others are rows.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure, UsageError
from conformance.results import as_row, encode_row

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.results import Row

SCHEMA = "onboard/journal/1"
SYNC_EVERY_SECONDS = 0.2
SYNC_EVERY_RECORDS = 256
_CRC = 8


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a journal holds: the run that it is of, the environment if one was met, and a row for each case that ended.

    `size` is the number of bytes up to the end of the last whole record.
    """

    run: dict[str, Any]
    environment: dict[str, Any]
    rows: dict[str, Row]
    size: int


class Journal:
    """An append-only file of records, fsynced in groups: one fsync per record costs more than most cases.

    Begins a new file with what run it is, or goes on after what was `recorded`.
    """

    def __init__(self, path: Path, run: dict[str, Any], recorded: Recorded | None = None) -> None:
        self._path = path
        self._waiting = bytearray()
        self._pending = 0
        self._synced = time.monotonic()
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            _lock(self._fd, path)
            os.ftruncate(self._fd, recorded.size if recorded else 0)
        except OSError as error:
            raise self._failure(error, hint="name another folder with --out") from None
        if recorded is None:
            self._append({"schema": SCHEMA, **run})
        self.sync()

    def environment(self, environment: dict[str, Any]) -> None:
        self._append({"environment": environment})

    def append(self, row: Row) -> None:
        """Record a row; raises EnvironmentFailure where the disk takes no more. What was recorded stays."""
        self._write(encode_row(row))

    def _append(self, record: dict[str, Any]) -> None:
        self._write(json.dumps(record, separators=(",", ":")).encode())

    def _write(self, record: bytes) -> None:
        self._waiting += b"%08x %s\n" % (zlib.crc32(record), record)
        self._pending += 1
        if self._pending >= SYNC_EVERY_RECORDS or time.monotonic() - self._synced > SYNC_EVERY_SECONDS:
            self.sync()

    def sync(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._fd, self._waiting)]
            os.fdatasync(self._fd)
        except OSError as error:
            raise self._failure(error) from None
        self._pending = 0
        self._synced = time.monotonic()

    def _failure(self, error: OSError, hint: str = "make room, then go on with --resume") -> EnvironmentFailure:
        return EnvironmentFailure(f"cannot write {self._path}: {error.strerror}", hint=hint)

    def close(self) -> None:
        """Close the file, which may not take what is still to be written: then that is told by an exception."""
        try:
            self.sync()
        finally:
            os.close(self._fd)


def refuse_if_running(path: Path) -> None:
    """Raise UsageError where another process is writing to the journal: its run is not to be swept away."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return  # there is none; what else is wrong with the folder shows when it is written to
    _lock(fd, path)
    os.close(fd)


def _lock(fd: int, path: Path) -> None:
    """Keep others from the file while it is open here, or close it; a process that died keeps nobody."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise UsageError(
            f"another run is writing to {path.parent}", hint="wait for its end, or name another folder with --out"
        ) from None


def read_journal(path: Path) -> Recorded:
    """Read a journal: a torn end is left out; raises UsageError naming the record that is damaged before the end."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"{path.parent} holds no broken run: there is no {path.name}", hint="a run that ended has none"
        ) from None
    except OSError as error:
        raise EnvironmentFailure(f"cannot read {path}: {error.strerror}") from None
    records, size, damaged = _records(data)
    if damaged is not None:
        number, place = damaged
        raise UsageError(
            f"{path}: record {number}, at byte {place}, is damaged, and whole ones follow it",
            hint="the file was changed or the disk is failing: measure again without --resume",
        )
    if not records or records[0].get("schema") != SCHEMA:
        raise UsageError(f"{path}: no journal of this version", hint="measure again without --resume")
    environment: dict[str, Any] = {}
    rows: dict[str, Row] = {}
    for record in records[1:]:
        if "environment" in record:
            environment = record["environment"]
        else:
            row = as_row(record)
            rows[row.case] = row
    return Recorded(records[0], environment, rows, size)


def _records(data: bytes) -> tuple[list[dict[str, Any]], int, tuple[int, int] | None]:
    """The records before the first that is damaged, where they end, and that one's place if a whole one follows it."""
    found: list[dict[str, Any]] = []
    place, size = 0, 0
    broken: tuple[int, int] | None = None
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        record = _whole(line)
        if record is None:
            broken = broken or (number, place)
        elif broken is not None:
            return found, size, broken
        else:
            found.append(record)
            size = place + len(line) + 1
        place += len(line) + 1
    return found, size, None


def _whole(line: bytes) -> dict[str, Any] | None:
    record = line[_CRC + 1 :]
    try:
        if line[_CRC : _CRC + 1] != b" " or int(line[:_CRC], 16) != zlib.crc32(record):
            return None
        found: dict[str, Any] = json.loads(record)
    except ValueError:
        return None
    return found
