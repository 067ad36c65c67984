"""The run folder: every file in it read once, bounded, links refused, so that what is hashed is what is parsed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure, UsageError
from conformance.results import (
    ENVELOPE_NAME,
    ENVIRONMENT_NAME,
    JOURNAL_NAME,
    REPORT_NAME,
    RESULTS_NAME,
    SUMMARY_NAME,
)
from onboard.attest.strictjson import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 1 << 20
#: Every file that a signed run folder may hold, with the most bytes it may have.
LIMITS = {
    RESULTS_NAME: 256 * MIB,
    ENVIRONMENT_NAME: 4 * MIB,
    REPORT_NAME: 64 * MIB,
    SUMMARY_NAME: 64 * MIB,
    ENVELOPE_NAME: 16 * MIB,
}
#: Without these there is nothing to sign and nothing to believe.
REQUIRED = (RESULTS_NAME, ENVIRONMENT_NAME, REPORT_NAME)
#: Left behind by a run that did not finish.
UNFINISHED = (JOURNAL_NAME,)
MAX_UNPACKED_BYTES = 1024 * MIB
MAX_LINE_BYTES = 1 * MIB
MAX_ENTRIES = 64

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Evidence:
    """One file as a statement binds it: `sha256` in lowercase hex, `size` in bytes."""

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of a run folder by name, and what is wrong with the entries that could not be taken, by name."""

    files: dict[str, bytes]
    problems: dict[str, str]

    def evidence(self) -> tuple[Evidence, ...]:
        """Describe every file but the envelope, in the order of the names."""
        return tuple(
            Evidence(name, hashlib.sha256(data).hexdigest(), len(data))
            for name, data in sorted(self.files.items())
            if name != ENVELOPE_NAME
        )


def read_folder(path: Path) -> Folder:
    """Read the files of a run folder; entries that are links, folders, devices, too large or unknown become problems.

    Raises UsageError when `path` is no folder, EnvironmentFailure when it can't be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{path} is not a folder", hint="name the folder that `onboard conform --out` wrote") from None
    except OSError as error:
        raise EnvironmentFailure(f"{path} can't be read: {error.strerror}") from None
    files: dict[str, bytes] = {}
    problems: dict[str, str] = {}
    try:
        names = sorted(os.listdir(handle))  # noqa: PTH208 - by handle: the path may come to name another folder
        if len(names) > MAX_ENTRIES:
            raise UsageError(f"{path} has {len(names)} entries", hint="a run folder has at most a handful of files")
        for name in names:
            found = _read(handle, name)
            if isinstance(found, bytes):
                files[name] = found
            else:
                problems[name] = found
    finally:
        os.close(handle)
    return Folder(files, problems)


def lines(packed: bytes, what: str) -> Iterator[bytes]:
    """Unpack gzip and give its lines without their breaks, one at a time.

    Raises MalformedError for anything but one whole gzip member, for more than 1 GiB unpacked, a line above 1 MiB, or
    text after the last line break.
    """
    rest = b""
    for chunk in _unpacked(packed, what):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES or any(len(line) > MAX_LINE_BYTES for line in whole):
            raise MalformedError(f"{what}: a line of more than {MAX_LINE_BYTES} bytes")
        yield from whole
    if rest:
        raise MalformedError(f"{what}: the last line is cut off")


def _unpacked(packed: bytes, what: str) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits=31)
    total = 0
    pending = packed
    try:
        while pending and not stream.eof:
            chunk = stream.decompress(pending, _CHUNK)
            pending = stream.unconsumed_tail
            total += len(chunk)
            if total > MAX_UNPACKED_BYTES:
                raise MalformedError(f"{what}: unpacks to more than {MAX_UNPACKED_BYTES} bytes")
            yield chunk
    except zlib.error as error:
        raise MalformedError(f"{what}: not gzip: {error}") from None
    if not stream.eof:
        raise MalformedError(f"{what}: the gzip stream is cut off")
    if stream.unused_data or pending:
        raise MalformedError(f"{what}: bytes after the end of the gzip stream")


def _read(folder: int, name: str) -> bytes | str:
    """Give the bytes of one entry, or the reason why it is not taken."""
    if name in UNFINISHED:
        return "left by a run that did not finish"
    if name not in LIMITS:
        return "not a file of a report"
    try:
        # NONBLOCK: opening a named pipe must not wait for a writer.
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        return "a link" if error.errno == errno.ELOOP else f"can't be read: {error.strerror}"
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        data = file.read(LIMITS[name] + 1)
    return f"more than {LIMITS[name]} bytes" if len(data) > LIMITS[name] else data
