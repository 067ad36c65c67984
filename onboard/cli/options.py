"""Options that several commands share, and what they take from a terminal."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

BUILD = "Build"
MEASURE = "Measure"
ATTEST = "Attest"
LOOK = "Look"

Json = Annotated[
    bool, typer.Option("--json", metavar="", help="Print one JSON document on stdout and nothing else there.")
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Holds the passphrase of the key. Otherwise ONBOARD_KEY_PASSPHRASE, or asked on a terminal.",
    ),
]


def passphrase(file: Path | None, *, confirm: bool = False) -> bytes:
    """The passphrase from the file, the environment or the terminal; raises UsageError where there is none of them."""
    from conformance.errors import UsageError
    from onboard.attest.keys import PASSPHRASE_VARIABLE, read_passphrase

    found = read_passphrase(file, os.environ)
    if found is not None:
        return found
    if not sys.stdin.isatty():
        hint = f"give it with --passphrase-file or in {PASSPHRASE_VARIABLE}"
        raise UsageError("the key needs a passphrase, and there is no terminal to ask on", hint=hint)
    asked = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(asked).encode()


def words(text: str | None) -> tuple[str, ...]:
    """The words of a comma-separated option; an option that was not given has none."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
