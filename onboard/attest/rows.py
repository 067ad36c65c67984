"""Result rows as a verifier reads them: strictly, each outcome held against the numbers it was drawn from."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError
from conformance.results import EXECUTIONS, LISTS, MEASURED, RESULTS_NAME, Row, decode_number, decode_row, within
from conformance.spec.operators import BEYOND_HOST, OVERLOADS
from onboard.attest.folder import lines
from onboard.attest.strictjson import MalformedError, parse

if TYPE_CHECKING:
    from conformance.spec.suite import Suite

MAX_ROWS = 2_000_000

_TEXTS = ("case", "check", "operator", "outcome", "message")
_OPTIONAL_TEXTS = ("overload", "dtype", "layout", "variant", "execution", "rung", "repro", "evidence")
_NUMBER_WORDS = ("inf", "-inf", "nan")
_OWN = {"repro", "evidence", *LISTS}
_REQUIRED = {field.name for field in fields(Row)} - _OWN


def read_rows(packed: bytes) -> list[Row]:
    """Read the bytes of results.jsonl.gz; raises MalformedError naming the line of the first row that is not one."""
    rows: list[Row] = []
    for number, line in enumerate(lines(packed, RESULTS_NAME), 1):
        if number > MAX_ROWS:
            raise MalformedError(f"{RESULTS_NAME}: more than {MAX_ROWS} rows")
        where = f"{RESULTS_NAME} line {number}"
        rows.append(_row(parse(line, where, max_depth=3), where))
    return rows


def contradiction(row: Row, suite: Suite) -> str | None:
    """Say what in a row contradicts its recorded outcome, or None.

    A judged row passes exactly when error <= bound, with the rung that the suite names for its operator and dtype.
    Other outcomes are taken as they stand and never become better ones.
    """
    if row.outcome not in MEASURED:
        return None
    if row.rung is None:
        # Runtime checks assert behaviour and have no number; the operators have one each.
        must_measure = row.outcome == "pass" and row.check.startswith("operators.")
        return "passes without having been measured" if must_measure else None
    derived = "pass" if within(row.error, row.bound) else "wrong"
    if derived != row.outcome:
        return f"recorded as {row.outcome}, but error {row.error} against bound {row.bound} is {derived}"
    if row.rung == "exact" and row.outcome == "pass" and decode_number(row.bound) != 0:
        return f"judged as exact with the bound {row.bound}"
    return _other_rung(row, suite)


def _other_rung(row: Row, suite: Suite) -> str | None:
    spec = suite.operators.get(row.operator) if row.check.startswith("operators.") else None
    if spec is None or row.dtype is None:
        return None
    oracle = spec.oracle_of(row.check, row.dtype)
    if oracle is None:
        return f"judged, where the suite has no oracle for {row.check} of {row.operator} at {row.dtype}"
    # `exact` is never weaker than what was asked: results of integers and of data movement have no other.
    # An operator with a law drops elements in some calls only (dropout in attention): those are judged by their draws.
    if row.rung in (oracle.rung, "exact") or (row.rung == "random" and oracle.law is not None):
        return None
    if row.check in OVERLOADS and row.rung in ("dot", "residual", "random"):
        return None
    if row.rung == "host" and oracle.host_off is not None and decode_number(row.bound) == BEYOND_HOST:
        return None
    return f"judged by {row.rung}, where the suite asks for {oracle.rung}"


def _row(found: Any, where: str) -> Row:
    if not isinstance(found, dict):
        raise MalformedError(f"{where}: expected an object")
    lacking = sorted(_REQUIRED - found.keys())
    if lacking:
        raise MalformedError(f"{where}: the member {lacking[0]!r} is missing")
    _kinds(found, where)
    try:
        row = decode_row(found)
    except UsageError as error:
        raise MalformedError(f"{where}: {error.message}") from None
    if row.execution not in (None, *EXECUTIONS):
        raise MalformedError(f"{where}: unknown execution {row.execution!r}")
    if row.group != f"{row.check}/{row.operator}/{row.dtype or 'any'}":
        raise MalformedError(f"{where}: the case {row.case!r} is not of its check, operator and dtype")
    return row


def _kinds(found: dict[str, Any], where: str) -> None:
    for key in _TEXTS:
        if not isinstance(found[key], str):
            raise MalformedError(f"{where}: the member {key!r} must be text")
    for key in _OPTIONAL_TEXTS:
        if not isinstance(found.get(key), str | None):
            raise MalformedError(f"{where}: the member {key!r} must be text or null")
    for key in LISTS:
        names = found.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise MalformedError(f"{where}: the member {key!r} must be a list of texts")
    for key in ("error", "bound"):
        _magnitude(found[key], key, where)
    if not _is_number(found["seconds"]) or not 0 <= found["seconds"] < math.inf:
        raise MalformedError(f"{where}: the member 'seconds' must be a number of seconds")


def _magnitude(value: Any, key: str, where: str) -> None:
    """Refuse what is no size: an error of minus infinity would lie within every bound."""
    if value is None or value in _NUMBER_WORDS or _is_number(value):
        number = decode_number(value)
        if number is None or math.isnan(number) or number >= 0:
            return
    raise MalformedError(f"{where}: the member {key!r} is not the size of an error: {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
