"""What a run tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from conformance.results import Row


@dataclass(frozen=True, slots=True)
class Running:
    """What a worker is at: its group, and the case it is in, for so many seconds; None between two cases."""

    worker: int
    group: str
    case: str | None
    seconds: float


class Listener(Protocol):
    """Whoever watches a run; called from the supervisor's loop, so it must be quick.

    `row` is called once per case, as it ends. `worker` tells of the life of worker processes: `event` is one of
    `started`, `ready`, `ended` (with how), `recycled` (with why), `abandoned` (with why).
    """

    def started(self, planned: int, environment: dict[str, Any]) -> None: ...
    def row(self, row: Row) -> None: ...
    def tick(self, running: list[Running]) -> None: ...
    def worker(self, number: int, event: str, detail: str) -> None: ...
