"""`onboard repro`: the program that shows one finding."""

from pathlib import Path
from typing import Annotated

import typer


def repro(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The --out folder of a run, or its report.json.")],
    finding: Annotated[str, typer.Argument(metavar="FINDING", help="The finding's id, as the run printed it.")],
) -> None:
    """Print the standalone program that was recorded for a finding; paste it into python."""
    from onboard import console
    from onboard.findings import load_findings, reproducer

    console.out(reproducer(load_findings(report), finding).rstrip("\n"))
