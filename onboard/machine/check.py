"""One thing that this machine has or lacks."""

from __future__ import annotations

from dataclasses import dataclass

#: `missing` and `broken` make the machine unfit; a `warning` does not.
STATUSES = ("ok", "warning", "missing", "broken")


@dataclass(frozen=True, slots=True)
class Check:
    """A finding about the machine. `hint` says how to get what is missing, `trace` is a real traceback or output."""

    id: str
    status: str
    detail: str
    hint: str | None = None
    trace: str | None = None

    @property
    def unfit(self) -> bool:
        return self.status in {"missing", "broken"}
