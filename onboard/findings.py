"""Findings of a report that was written, and the reproducer that was recorded with each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean
from conformance.results import REPORT_NAME
from onboard.attest.strictjson import MalformedError, parse

if TYPE_CHECKING:
    from pathlib import Path

MAX_REPORT_BYTES = 64 << 20


def load_findings(report: Path) -> dict[str, dict[str, Any]]:
    """The findings of a report by id. `report` is the folder of a run or its report.json; raises UsageError."""
    path = report / REPORT_NAME if report.is_dir() else report
    try:
        with path.open("rb") as file:
            data = file.read(MAX_REPORT_BYTES + 1)
    except OSError as error:
        hint = "name the --out folder of a conformance run"
        raise UsageError(f"{path} can't be read: {error.strerror}", hint=hint) from None
    try:
        document = parse(data, str(path), max_bytes=MAX_REPORT_BYTES)
    except MalformedError as error:
        raise UsageError(error.message, hint=f"{REPORT_NAME} is written by onboard conform --out") from None
    findings = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(findings, list):
        raise UsageError(f"{path} is no report: it has no findings", hint="onboard conform --out DIR writes one")
    return {str(one["id"]): one for one in findings if isinstance(one, dict) and "id" in one}


def reproducer(findings: dict[str, dict[str, Any]], finding: str) -> str:
    """The recorded program that shows one finding; raises UsageError for an unknown one or one without a program."""
    if finding not in findings:
        known = ", ".join(list(findings)[:8]) or "none: this report has no findings"
        raise UsageError(f"no finding {finding!r}", hint=did_you_mean(finding, findings) or f"findings: {known}")
    recorded = findings[finding].get("repro")
    if not isinstance(recorded, str) or not recorded.strip():
        outcome = findings[finding].get("outcome", "unknown")
        raise UsageError(f"the finding {finding!r} ({outcome}) was recorded without a reproducer")
    return recorded
