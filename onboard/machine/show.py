"""What was found on this machine, as documents for programs and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onboard.console import Line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from onboard.machine.check import Check
    from onboard.machine.child import Answer
    from onboard.machine.profiles import Listing


def doctor_document(checks: Sequence[Check]) -> dict[str, Any]:
    """The document of `onboard doctor --json`; a traceback stays whole."""
    rows = [{"id": c.id, "status": c.status, "detail": c.detail, "hint": c.hint, "trace": c.trace} for c in checks]
    return {"schema": "onboard/doctor/1", "ok": not any(check.unfit for check in checks), "checks": rows}


def doctor_lines(checks: Sequence[Check]) -> Iterator[Line]:
    """One line per check, with its remedy and its traceback below it."""
    width = max((len(check.id) for check in checks), default=0)
    for check in checks:
        yield Line(f"{check.id:<{width}}  {check.detail}", check.status)
        if check.trace and check.unfit:
            yield from (Line(f"    | {line}") for line in check.trace.splitlines())
        if check.hint and check.status != "ok":
            yield Line(f"    get it: {check.hint}" if check.status == "missing" else f"    hint: {check.hint}")
    unfit = [check.id for check in checks if check.unfit]
    yield Line("")
    yield Line(f"to repair: {', '.join(unfit)}" if unfit else "this machine has what a backend needs")


def devices_document(listing: Listing, offered: Answer) -> dict[str, Any]:
    """The document of `onboard devices --json`."""
    profiles = [
        {
            "profile": one.profile.name,
            "device": one.profile.device,
            "vendor": one.profile.vendor,
            "package": one.profile.import_module,
            "distribution": one.profile.distribution,
            "installed": one.installed,
            "version": one.version,
            "simulated": one.profile.simulated,
            "levels": list(one.profile.levels),
            "origin": one.origin,
            "source": one.source,
        }
        for one in listing.profiles
    ]
    torch = {"devices": offered.data.get("devices", []), "error": offered.error}
    return {
        "schema": "onboard/devices/1", "profiles": profiles, "torch": torch, "problems": list(listing.problems),
    }  # fmt: skip


def devices_table(listing: Listing) -> Table:
    """The profiles, one per row; readable at 80 columns and without colour."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("profile", "device", "package", "installed", "vendor", "from"):
        table.add_column(title, overflow="fold")
    for one in listing.profiles:
        profile = one.profile
        state = "in torch" if profile.distribution is None else one.version or "no"
        vendor = f"{profile.vendor} (SIMULATED DEVICE)" if profile.simulated else profile.vendor
        cells = (profile.name, profile.device, profile.import_module or "-", state, vendor, one.origin)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table
