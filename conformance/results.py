"""What was measured: one row per planned case, and the files that hold the rows."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RESULTS_NAME = "results.jsonl.gz"
ENVIRONMENT_NAME = "environment.json"
REPORT_NAME = "report.json"
ENVELOPE_NAME = "report.dsse.json"
SUMMARY_NAME = "summary.html"
JOURNAL_NAME = "journal.jsonl"

#: Every outcome a case can have; `pass` is the only good one, and `unjudged` is neither good nor bad.
OUTCOMES = (
    "pass", "wrong", "error", "crash", "timeout", "flaky", "unsupported", "waived", "unjudged", "missing",
)  # fmt: skip
FAILING = frozenset({"wrong", "error", "crash", "timeout", "flaky", "missing"})
EXECUTIONS = ("native", "composite", "fallback", "absent")

#: Outcomes that follow from `error <= bound` alone, so that anyone can derive them anew.
MEASURED = frozenset({"pass", "wrong"})

Number: TypeAlias = "float | int | str | None"


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one case.

    `error` and `bound` are in the unit of the rung (an absolute error at the worst element, or a count of differing
    elements for `exact`); non-finite numbers are the strings "inf" and "nan". `seconds` is wall time on the worker.
    """

    case: str
    check: str
    operator: str
    overload: str | None
    dtype: str | None
    layout: str | None
    variant: str | None
    outcome: str
    execution: str | None
    error: Number
    bound: Number
    rung: str | None
    seconds: float
    message: str
    repro: str | None = None
    evidence: str | None = None  # "self": the device's kernel was compared with itself
    kernels: tuple[str, ...] = ()  # overloads that ran on the device, where the case observed them
    fell_back: tuple[str, ...] = ()  # overloads that the host served, likewise

    @property
    def group(self) -> str:
        return group_of(self.case)


def group_of(case: str) -> str:
    """`check/operator/dtype` of a case id; a case id has exactly three parts before its own."""
    return "/".join(case.split("/", 3)[:3])


#: Fields that hold overloads.
LISTS = ("kernels", "fell_back")
_OPTIONAL = frozenset({"repro", "evidence", *LISTS})


def encode_number(value: float | None) -> Number:
    """JSON has no NaN and no infinity: they become text."""
    if value is None or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def decode_number(value: Number) -> float | None:
    return None if value is None else float(value)


def within(error: Number, bound: Number) -> bool:
    """Whether a recorded error lies within its bound; NaN lies within nothing and an infinite bound is no bound."""
    if error is None or bound is None:
        return False
    e, b = float(error), float(bound)
    return math.isfinite(b) and e <= b


def encode_row(row: Row) -> bytes:
    fields = {name: value for name in Row.__slots__ if (value := getattr(row, name)) or name not in _OPTIONAL}
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()


def decode_row(fields: dict[str, Any]) -> Row:
    """A row from its JSON object; raises UsageError when a field is missing, unknown or of the wrong kind."""
    try:
        row = as_row(fields)
    except TypeError as error:
        raise UsageError(f"a result row is malformed: {error}") from None
    if not isinstance(row.case, str) or row.outcome not in OUTCOMES:
        raise UsageError(f"a result row is malformed: case {row.case!r}, outcome {row.outcome!r}")
    return row


def as_row(fields: dict[str, Any]) -> Row:
    """A row from an object that is trusted to be one."""
    return Row(**{**fields, **{name: tuple(fields.get(name, ())) for name in LISTS}})


def write_results(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows as gzip-compressed JSON lines; equal rows give equal bytes."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        for row in rows:
            packed.write(encode_row(row) + b"\n")


def read_results(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rb") as packed:
        for line in packed:
            yield decode_row(json.loads(line))
