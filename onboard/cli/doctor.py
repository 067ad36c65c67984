"""`onboard doctor`: what this machine has, what it lacks, and how to get it."""

import typer

from onboard.cli.options import Json


def doctor(json: Json = False) -> None:
    """Look at this machine: compiler, torch, ninja, installed backends. What is missing is named with its remedy."""
    from onboard import console
    from onboard.machine.doctor import examine
    from onboard.machine.show import doctor_document, doctor_lines

    checks = examine()
    if json:
        console.write_json(doctor_document(checks))
    else:
        console.print_lines(doctor_lines(checks))
    if any(check.unfit for check in checks):
        raise typer.Exit(3)
