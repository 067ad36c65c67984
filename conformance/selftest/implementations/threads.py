"""The host's kernels on more than one thread."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.selftest.inject import Hits

THREADS = 2
#: A thread of the pool spins for some milliseconds after its work; then it sleeps.
_PATIENCE_SECONDS = 0.1
_TASKS = Path("/proc/self/task")


@contextmanager
def threads(hits: Hits) -> Iterator[None]:
    """While it lasts, torch may use two threads; a hit when another thread than the caller's was awake for it.

    Most kernels keep to one thread below some thousand elements.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    ran = _run_time()
    try:
        yield
    finally:
        torch.set_num_threads(before)
        hits.count += _run_time() > ran


def _run_time() -> int:
    """Nanoseconds that the other threads of this process have run, once they sleep: Linux counts when they do."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    others = [task for task in _TASKS.iterdir() if task.name != str(threading.get_native_id())]
    while any(_awake(task) for task in others) and time.monotonic() < deadline:
        time.sleep(0.0002)
    return sum(int((task / "schedstat").read_text().split()[0]) for task in others)


def _awake(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
