"""The journal: every result on disk before the run goes on, so that a broken run keeps what it measured."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure

if TYPE_CHECKING:
    from pathlib import Path

SYNC_EVERY_SECONDS = 0.2
SYNC_EVERY_RECORDS = 256


class Journal:
    """An append-only file of JSON lines, fsynced in groups: one fsync per record costs more than most cases."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise EnvironmentFailure(
                f"cannot write {path}: {error.strerror}", hint="name another folder with --out"
            ) from None
        self._pending = 0
        self._synced = time.monotonic()

    def append(self, record: bytes) -> None:
        self._file.write(record + b"\n")
        self._pending += 1
        if self._pending >= SYNC_EVERY_RECORDS or time.monotonic() - self._synced > SYNC_EVERY_SECONDS:
            self.sync()

    def sync(self) -> None:
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._pending = 0
        self._synced = time.monotonic()

    def close(self) -> None:
        self.sync()
        self._file.close()
