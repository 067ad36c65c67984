"""The errors that a user sees: a message, a hint, and the exit code that goes with the kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class OnboardError(Exception):
    """An error to be shown as `error:` and `hint:`, never as a traceback."""

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class CheckFailure(OnboardError):
    """The thing that was checked failed."""

    exit_code = 1


class UsageError(OnboardError):
    """The command, the suite or a file that was named is not right."""

    exit_code = 2


class EnvironmentFailure(OnboardError):
    """This machine lacks something: a device, a backend, a compiler, a writable folder."""

    exit_code = 3


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Offer the nearest of `known` as a hint, or None when nothing is near."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else None
