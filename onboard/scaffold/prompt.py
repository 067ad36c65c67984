"""Asking for the answers that no flag gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError
from onboard.scaffold.answers import ANSWER_NAMES, LICENSES, check_answer, defaults

if TYPE_CHECKING:
    from collections.abc import Callable

_QUESTIONS = {
    "package": "Python package",
    "distribution": "Distribution name",
    "vendor": "Vendor",
    "description": "Description",
    "author": "Author",
    "email": "E-mail",
    "license": f"License ({', '.join(LICENSES)})",
    "version": "Version",
}


def ask_missing(
    given: dict[str, str | None],
    ask: Callable[[str, str], str],
    complain: Callable[[str, str | None], None],
) -> dict[str, str | None]:
    """The given answers, and for each missing one what `ask(question, default)` returned and was found good.

    A bad answer is told to `complain(message, hint)` and asked for again. Raises UsageError when a given one is bad.
    """
    answers = dict(given)
    device = check_answer("device", answers.get("device") or "")
    for name in ANSWER_NAMES:
        text = answers.get(name)
        if text is not None:
            check_answer(name, text)
            continue
        answers[name] = _ask_until_good(name, defaults(device, answers.get("vendor"))[name], ask, complain)
    return answers


def _ask_until_good(
    name: str, default: str, ask: Callable[[str, str], str], complain: Callable[[str, str | None], None]
) -> str:
    while True:
        text = ask(_QUESTIONS[name], default).strip()
        try:
            return check_answer(name, text)
        except UsageError as error:
            complain(error.message, error.hint)
