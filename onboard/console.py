"""How onboard speaks: data on stdout, everything else on stderr, and no text of a user taken for markup."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

#: Sign, sign where the encoding has no better one, and colour of each status.
_STATUSES = {
    "ok": ("✓", "+", "32"),
    "warning": ("!", "!", "33"),
    "unknown": ("?", "?", "33"),
    "simulated": ("~", "~", "33"),
    "missing": ("✗", "x", "31"),
    "broken": ("✗", "x", "31"),
    "failed": ("✗", "x", "31"),
}


def visible(text: str) -> str:
    r"""The text with control, bidirectional and other invisible characters written out (`\x1b`), line breaks kept.

    A message may quote a file, a backend's traceback or an argument; a terminal must never obey it.
    """
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else ascii(c)[1:-1] for c in text)


def glyph(status: str, stream: TextIO | None = None) -> str:
    """The sign of a status, in ASCII where the stream cannot encode the better one."""
    sign, plain, _ = _STATUSES[status]
    try:
        sign.encode(getattr(stream or sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return sign


def write_json(document: Any) -> None:
    """Print one JSON document on stdout; a NaN or an infinity in it is a defect of the caller and raises ValueError."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def out(text: str = "") -> None:
    """Print data on stdout."""
    sys.stdout.write(visible(text) + "\n")


def say(text: str = "") -> None:
    """Print a message on stderr."""
    sys.stderr.write(visible(text) + "\n")


def report_error(message: str, hint: str | None) -> None:
    """Show an error and its hint on stderr."""
    _labelled("error", "1;31", message)
    if hint:
        _labelled("hint", "36", hint)


def console(*, stderr: bool = False) -> Console:
    """A Rich console that takes no text for markup, emoji or numbers to be coloured."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def colours(stream: TextIO) -> bool:
    """Whether colour is wanted on the stream: a terminal, and neither NO_COLOR nor a dumb one."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _labelled(label: str, style: str, text: str) -> None:
    shown = f"\x1b[{style}m{label}:\x1b[0m" if colours(sys.stderr) else f"{label}:"
    sys.stderr.write(f"{shown} {visible(text)}\n")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output; with a status it starts with that status as sign and word."""

    text: str
    status: str | None = None


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines on stdout. They are not wrapped: what is piped or pasted stays whole."""
    coloured = colours(sys.stdout)
    for line in lines:
        if line.status is None:
            out(line.text)
            continue
        mark = f"{glyph(line.status)} {line.status:<7}"
        if coloured:
            mark = f"\x1b[{_STATUSES[line.status][2]}m{mark}\x1b[0m"
        sys.stdout.write(f"{mark}  {visible(line.text)}\n")
