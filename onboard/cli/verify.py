"""`onboard verify`: whether a signed report is to be believed, offline."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onboard.cli.options import Json

if TYPE_CHECKING:
    from onboard.attest.verify import Verification
    from onboard.console import Line


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that was handed in.")],
    *,
    trust: Annotated[Path, typer.Option(metavar="FILE", help="Whose keys count: trust.toml.")],
    require: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Exit with 1 unless this level is held as well.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="Judge as of this time, e.g. 2026-12-01. Default: now.")
    ] = None,
    json: Json = False,
) -> None:
    """Verify a report and derive its verdict anew. VALID says that it is genuine, whatever verdict it reports."""
    from onboard import console
    from onboard.attest.trust import load_trust
    from onboard.attest.verify import VALID, holds, to_json
    from onboard.attest.verify import verify as verify_report

    moment = _moment(at) if at is not None else None
    found = verify_report(folder, load_trust(trust), at=moment)
    held = require is None or holds(found, require)
    if json:
        console.write_json(to_json(found))
    else:
        console.print_lines(_lines(found))
        if require is not None:
            console.out(f"level {require}: {'held' if held else 'NOT held'}")
    if found.status != VALID or not held:
        raise typer.Exit(1)


def _moment(text: str) -> dt.datetime:
    """A date or a date and time of ISO 8601; without a zone it is UTC."""
    from conformance.errors import UsageError

    try:
        # Python 3.10 does not read the Z that everybody writes.
        moment = dt.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        hint = "such as 2026-12-01 or 2026-12-01T12:00:00Z"
        raise UsageError(f"--at: {text!r} is no time of ISO 8601", hint=hint) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.timezone.utc)


def _lines(found: "Verification") -> Iterator["Line"]:
    from onboard.console import Line

    for check in found.checks:
        status = {True: "ok", False: "failed", None: "unknown"}[check.ok]
        yield Line(f"{check.title}: {check.detail}" if check.detail else check.title, status)
        if check.ok is False and check.remedy:
            yield Line(f"    hint: {check.remedy}")
    yield Line("")
    if found.simulated:
        yield Line("SIMULATED DEVICE: this report says nothing about hardware and can't be handed in")
    signer = f", signed by {found.signer.name} ({found.signer.role})" if found.signer else ""
    verdict = f", verdict {found.verdict}" if found.verdict else ""
    yield Line(f"{found.status}{signer}{verdict}")
    for name, (level_verdict, required, passed) in found.levels.items():
        yield Line(f"  {name}: {level_verdict}, {passed} of {required} cases")
    if found.report:
        yield Line(f"  report {found.report}")
