"""Strict JSON: one meaning for every byte string, bounded in size, depth and numbers."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn, TypeVar

from conformance.errors import CheckFailure

MAX_BYTES = 8 << 20
MAX_DEPTH = 32
MAX_DIGITS = 19  # fits into 64 bits, so that every reader sees the same number
MAX_FLOAT_CHARACTERS = 64

_TOKEN = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

T = TypeVar("T")


class MalformedError(CheckFailure):
    """A document that is not what it must be, byte by byte."""


def parse(data: bytes, what: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """Parse one JSON document; `what` names it in errors.

    Raises MalformedError for more than `max_bytes` bytes, nesting deeper than `max_depth`, anything but UTF-8, a
    duplicate key, NaN or an infinity (also as an overflowing number), a number too long to survive other readers, an
    unpaired surrogate, or text after the document.
    """
    if len(data) > max_bytes:
        raise MalformedError(f"{what}: {len(data)} bytes, more than the {max_bytes} allowed")
    _refuse_depth(data, what, max_depth)
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, what),
            parse_constant=lambda word: _refuse(what, f"{word} is not JSON"),
            parse_int=lambda digits: _integer(digits, what),
            parse_float=lambda digits: _float(digits, what),
        )
        if _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError as error:
        raise MalformedError(f"{what}: not UTF-8: {error.reason if hasattr(error, 'reason') else error}") from None
    except json.JSONDecodeError as error:
        raise MalformedError(f"{what}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise MalformedError(f"{what}: nested too deeply") from None
    return value


def dump(value: Any) -> bytes:
    """Write a value compactly with sorted keys, so that equal values give equal bytes; refuses NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def member(value: Any, key: str, kind: type[T], what: str) -> T:
    """Take the member `key` of an object, checked to be of `kind`; a bool is no int. Raises MalformedError."""
    if not isinstance(value, dict):
        raise MalformedError(f"{what}: expected an object")
    if key not in value:
        raise MalformedError(f"{what}: the member {key!r} is missing")
    found = value[key]
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise MalformedError(f"{what}: the member {key!r} must be {kind.__name__}, not {type(found).__name__}")
    return found


def texts(value: Any, key: str, what: str) -> tuple[str, ...]:
    """Take the member `key` of an object as a tuple of strings; raises MalformedError."""
    found = member(value, key, list, what)
    if not all(isinstance(item, str) for item in found):
        raise MalformedError(f"{what}: the member {key!r} must hold strings only")
    return tuple(found)


def _refuse(what: str, problem: str) -> NoReturn:
    raise MalformedError(f"{what}: {problem}")


def _refuse_depth(data: bytes, what: str, limit: int) -> None:
    # The openers bound the depth from above, strings included: most documents need no closer look.
    if data.count(b"[") + data.count(b"{") <= limit:
        return
    depth = 0
    quoted = False
    for token in _TOKEN.finditer(data):
        mark = token.group()
        if mark == b'"':
            quoted = not quoted
        elif not quoted and len(mark) == 1:
            depth += 1 if mark in b"[{" else -1
        if depth > limit:
            _refuse(what, f"nested more than {limit} levels deep")


def _object(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        _refuse(what, f"the key {twice!r} occurs twice")
    return value


def _integer(digits: str, what: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        _refuse(what, f"a whole number of {len(digits.lstrip('-'))} digits, more than {MAX_DIGITS}")
    return int(digits)


def _float(digits: str, what: str) -> float:
    if len(digits) > MAX_FLOAT_CHARACTERS:
        _refuse(what, f"a number written with {len(digits)} characters, more than {MAX_FLOAT_CHARACTERS}")
    value = float(digits)
    if not math.isfinite(value):
        _refuse(what, f"the number {digits} is too large")
    return value
