"""The case that a worker is in, in memory that outlives the worker."""

from __future__ import annotations

import mmap
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_LAYOUT = struct.Struct("=qq")
IDLE = -1
PREPARING = -2
STARTING = -3


class Slot:
    """A page shared by one worker and the supervisor: the number of the running case, and when it began.

    The number indexes the names of the group at hand; IDLE, PREPARING (the host makes inputs) and STARTING (the backend
    is loaded) are negative. The time is the monotonic clock in nanoseconds, which all processes of a machine share.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_LAYOUT.pack(STARTING, time.monotonic_ns()).ljust(mmap.PAGESIZE, b"\0"))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def enter(self, number: int) -> None:
        _LAYOUT.pack_into(self._page, 0, number, time.monotonic_ns())

    def read(self) -> tuple[int, float]:
        """The number and the seconds since it was entered."""
        number, began = _LAYOUT.unpack_from(self._page, 0)
        return number, (time.monotonic_ns() - began) / 1e9

    def close(self) -> None:
        self._page.close()
