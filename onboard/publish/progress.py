"""A run while it goes on: a live table on a terminal, a plain line every few seconds elsewhere; always on stderr."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.results import FAILING, Row
from onboard import console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    from conformance.run.listener import Running

PLAIN_EVERY_SECONDS = 5.0
#: The rate is that of the last seconds: the first cases of a run are few and slow.
WINDOW_SECONDS = 20.0
#: No time left is told before this part of the cases is done.
TELLING = 0.05
LIVE_EVERY_SECONDS = 0.25
SHOWN_FAILURES = 8


@dataclass(slots=True)
class Tally:
    """What is counted while a run goes on; `family_of` maps operators to families, `planned` families to cases."""

    family_of: Mapping[str, str]
    planned: Mapping[str, int]
    total: int = 0
    done: int = 0
    failed: int = 0
    by_family: Counter[str] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)
    _marks: deque[tuple[float, int]] = field(default_factory=deque)

    def begin(self, total: int) -> None:
        """The device is ready: what comes counts."""
        self.total = total
        self._marks = deque([(time.monotonic(), 0)])

    def count(self, row: Row) -> None:
        family = self.family(row)
        self.done += 1
        self.by_family[family] += 1
        if row.outcome in FAILING:
            self.failed += 1
            self.failing[family] += 1

    def family(self, row: Row) -> str:
        return self.family_of.get(row.operator, row.check) if row.check.startswith("operators.") else row.check

    def rate(self) -> float:
        """Cases per second of late."""
        now = time.monotonic()
        self._marks.append((now, self.done))
        while len(self._marks) > 2 and self._marks[1][0] <= now - WINDOW_SECONDS:
            self._marks.popleft()
        then, done = self._marks[0]
        return (self.done - done) / (now - then) if now > then else 0.0

    def line(self) -> str:
        """How far the run is, and the time left at the present rate."""
        if not self.total:
            return "starting the device"
        rate = self.rate()
        left = "no estimate yet"
        if rate > 0 and self.done >= TELLING * self.total:
            left = f"about {round((self.total - self.done) / rate)} s left"
        return f"{self.done} of {self.total} cases, {self.failed} failing, {rate:.0f}/s, {left}"


class PlainProgress:
    """One line every few seconds, for logs."""

    def __init__(self, tally: Tally, simulated: str = "") -> None:
        self._tally = tally
        self._last = time.monotonic()
        self._mark = simulated

    def started(self, planned: int, environment: dict[str, Any]) -> None:
        self._tally.begin(planned)
        device = environment.get("device", {}).get("type", "?")
        console.say(f"{self._mark}running {planned} cases on {device} with torch {environment.get('torch')}")

    def row(self, row: Row) -> None:
        self._tally.count(row)

    def tick(self, running: list[Running]) -> None:
        if time.monotonic() - self._last >= PLAIN_EVERY_SECONDS:
            self._last = time.monotonic()
            now = ", ".join(one.group for one in running)
            console.say("; now ".join([self._tally.line(), *([now] if running else [])]))

    def worker(self, number: int, event: str, detail: str) -> None:
        """Workers come and go without a line."""

    def close(self) -> None:
        """Nothing is open."""


class LiveProgress:
    """A table of families with their rate of failure, redrawn in place, and the last failures beneath it."""

    def __init__(self, tally: Tally, simulated: str = "") -> None:
        from rich.live import Live

        self._tally = tally
        self._mark = simulated
        self._running: list[Running] = []
        self._failures: list[str] = []
        self._last = 0.0
        self._console: Console = console.console(stderr=True)
        self._live: Live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def started(self, planned: int, environment: dict[str, Any]) -> None:  # noqa: ARG002 - the seam is shared
        self._tally.begin(planned)

    def row(self, row: Row) -> None:
        self._tally.count(row)
        if row.outcome in FAILING:
            text = f"{row.outcome:7} {row.case}"
            self._failures = [*self._failures[1 - SHOWN_FAILURES :], console.visible(text)]

    def worker(self, number: int, event: str, detail: str) -> None:
        """Workers come and go without a line."""

    def tick(self, running: list[Running]) -> None:
        if time.monotonic() - self._last < LIVE_EVERY_SECONDS:
            return
        self._last = time.monotonic()
        self._running = running
        self._live.update(self._table(), refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, title=f"{self._mark}{self._tally.line()}", title_justify="left")
        for name, justify in (("family", "left"), ("done", "right"), ("of", "right"), ("failing", "right")):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        under_way = [f for f, n in sorted(self._tally.planned.items()) if self._tally.by_family[f] > 0]
        for family in under_way[-max(6, self._console.height - SHOWN_FAILURES - 8) :]:
            failing = self._tally.failing[family]
            table.add_row(
                family,
                str(self._tally.by_family[family]),
                str(self._tally.planned[family]),
                str(failing) if failing else "",
                style="red" if failing else None,
            )
        for text in self._failures:
            table.add_row(text)
        for one in self._running:
            table.add_row(f"now     {console.visible(one.group)}")
        return table
