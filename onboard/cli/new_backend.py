"""`onboard new-backend`: a backend package that builds before the vendor has written a line."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from onboard.cli.options import Json

_DETAILS = "Answers"


def new_backend(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The torch device string of the new backend, e.g. trn.")],
    *,
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder in which the package's folder is made.")
    ] = Path(),
    package: Annotated[
        str | None, typer.Option(metavar="NAME", help="Import name. Default: torch_NAME.", rich_help_panel=_DETAILS)
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Distribution and folder name. Default: torch-NAME.", rich_help_panel=_DETAILS
        ),
    ] = None,
    vendor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Who makes the device.", rich_help_panel=_DETAILS)
    ] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="One line.", rich_help_panel=_DETAILS)] = None,
    author: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Default: the vendor.", rich_help_panel=_DETAILS)
    ] = None,
    email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of the maintainers.", rich_help_panel=_DETAILS)
    ] = None,
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="ID", help="BSD-3-Clause, Apache-2.0, MIT or Proprietary.", rich_help_panel=_DETAILS
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="X.Y.Z", help="Of the new package. Default: 0.1.0.", rich_help_panel=_DETAILS)
    ] = None,
    no_input: Annotated[
        bool, typer.Option("--no-input", metavar="", help="Never ask; defaults for what no flag says.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a complete backend package for the device NAME, on a simulated driver that you replace by yours."""
    from onboard import console
    from onboard.scaffold.answers import complete, installed_torch
    from onboard.scaffold.prompt import ask_missing
    from onboard.scaffold.render import render
    from onboard.scaffold.steps import next_steps
    from onboard.scaffold.templates import templates_dir

    given: dict[str, str | None] = {
        "device": name, "package": package, "distribution": distribution, "vendor": vendor, "description": description,
        "author": author, "email": email, "license": license_, "version": version,
    }  # fmt: skip
    answers = complete(given)  # flags are judged before anything else, the machine before anything is asked
    template, torch = templates_dir() / "native", installed_torch()
    if not no_input and not json and sys.stdin.isatty() and sys.stderr.isatty():
        answers = complete(ask_missing(given, _ask, console.report_error))
    made = render(template, answers, torch, output)
    steps = next_steps(made.folder, answers.device)
    if json:
        document = {"schema": "onboard/new-backend/1", "folder": str(made.folder), "files": made.files, "next": steps}
        console.write_json(document)
        return
    console.out(f"{made.folder}: {len(made.files)} files")
    console.out("next:")
    for step in steps:
        console.out(f"  {step}")


def _ask(question: str, default: str) -> str:
    return str(typer.prompt(question, default=default, err=True))
