"""The case that a worker is in, in memory that outlives the worker."""

from __future__ import annotations

import mmap
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

IDLE = -1
STARTING = -2
_PREPARING = -3

_NUMBER, _BEGAN = 0, 1


def preparing(number: int) -> int:
    """What a slot says while the inputs of a case are made."""
    return _PREPARING - number


def prepared(number: int) -> int | None:
    """The case whose inputs are being made, where a slot says so."""
    return _PREPARING - number if number <= _PREPARING else None


class Slot:
    """A page shared by one worker and the supervisor: the number of the running case, and when it began.

    The number indexes the names of the group at hand; IDLE, STARTING (the backend is loaded) and what `preparing` gives
    (the host makes inputs) are negative. The time is the monotonic clock in nanoseconds, which all processes of a
    machine share.

    Two aligned 64-bit cells, each written by one store: `struct` packs byte by byte, and a reader that came in between
    would see a time that never was, and kill a worker for it. The time is written first and read last, so that a number
    never meets a time that is older than its own.
    """

    def __init__(self, path: Path) -> None:
        created = not path.exists()
        if created:
            path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self._cells = memoryview(self._page).cast("q")
        if created:
            self.enter(STARTING)

    def enter(self, number: int) -> None:
        self._cells[_BEGAN] = time.monotonic_ns()
        self._cells[_NUMBER] = number

    def read(self) -> tuple[int, float]:
        """The number and the seconds since it was entered."""
        number = self._cells[_NUMBER]
        return number, (time.monotonic_ns() - self._cells[_BEGAN]) / 1e9

    def close(self) -> None:
        self._cells.release()
        self._page.close()
