"""A run while it goes on: a live table on a terminal, a plain line every few seconds elsewhere; always on stderr."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.results import FAILING, Row
from onboard import console

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

PLAIN_EVERY_SECONDS = 5.0
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
    began: float = field(default_factory=time.monotonic)

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
        """Cases per second since the device was ready."""
        elapsed = time.monotonic() - self.began
        return self.done / elapsed if elapsed > 0 else 0.0

    def left(self) -> str:
        """The time left at the present rate, in words."""
        rate = self.rate()
        return f"about {round((self.total - self.done) / rate)} s left" if rate > 0 else "no estimate yet"

    def line(self) -> str:
        return f"{self.done} of {self.total} cases, {self.failed} failing, {self.rate():.0f}/s, {self.left()}"


class PlainProgress:
    """One line every few seconds, for logs."""

    def __init__(self, tally: Tally, simulated: str = "") -> None:
        self._tally = tally
        self._last = time.monotonic()
        self._mark = simulated

    def started(self, planned: int, environment: dict[str, Any]) -> None:
        self._tally.total, self._tally.began = planned, time.monotonic()
        device = environment.get("device", {}).get("type", "?")
        console.say(f"{self._mark}running {planned} cases on {device} with torch {environment.get('torch')}")

    def row(self, row: Row) -> None:
        self._tally.count(row)

    def tick(self, running: list[str]) -> None:
        if time.monotonic() - self._last >= PLAIN_EVERY_SECONDS:
            self._last = time.monotonic()
            console.say(f"{self._tally.line()}; now {', '.join(running) or 'starting'}")

    def close(self) -> None:
        """Nothing is open."""


class LiveProgress:
    """A table of families with their rate of failure, redrawn in place, and the last failures beneath it."""

    def __init__(self, tally: Tally, simulated: str = "") -> None:
        from rich.live import Live

        self._tally = tally
        self._mark = simulated
        self._running: list[str] = []
        self._failures: list[str] = []
        self._last = 0.0
        self._console: Console = console.console(stderr=True)
        self._live: Live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def started(self, planned: int, environment: dict[str, Any]) -> None:  # noqa: ARG002 - the seam is shared
        self._tally.total, self._tally.began = planned, time.monotonic()

    def row(self, row: Row) -> None:
        self._tally.count(row)
        if row.outcome in FAILING:
            text = f"{row.outcome:7} {row.case}"
            self._failures = [*self._failures[1 - SHOWN_FAILURES :], console.visible(text)]

    def tick(self, running: list[str]) -> None:
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
        for group in self._running:
            table.add_row(f"now     {console.visible(group)}")
        return table
