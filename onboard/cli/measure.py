"""A conformance run as a command: progress while it runs, then the report, a page and a signature to keep."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure
from conformance.results import FAILING, SUMMARY_NAME
from conformance.run.api import run_conformance
from onboard import console
from onboard.publish.page import render_page
from onboard.publish.progress import LiveProgress, PlainProgress, Tally
from onboard.publish.terminal import report_lines

if TYPE_CHECKING:
    from conformance.report import Report
    from conformance.run.api import ConformOptions
    from conformance.spec.select import Selection
    from conformance.spec.suite import Suite
    from onboard.attest.keys import SigningKey

INTERRUPTED = 130


def default_folder(device: str) -> Path:
    """Where results go without --out: a folder of their own in the working directory, per device."""
    return Path("onboard-results") / Path(device).name


def measure(options: ConformOptions, key: SigningKey | None, *, as_json: bool) -> int:
    """Run, show and keep; returns the exit code: 0 unless the judged levels, or the selected cases, do not hold."""
    progress: LiveProgress | PlainProgress | None = None

    def watch(suite: Suite, selection: Selection, simulated: bool) -> LiveProgress | PlainProgress:
        nonlocal progress
        progress = _progress(suite, selection, simulated=simulated)
        return progress

    try:
        report = run_conformance(options, watch, console.say)
    finally:
        if progress is not None:
            progress.close()
    return conclude(report, options.out, key, as_json=as_json)


def conclude(report: Report, out: Path, key: SigningKey | None, *, as_json: bool) -> int:
    """Show a report, write its page, sign it where a key is given; returns the exit code."""
    _write_page(out, report)
    if key is not None and report.complete:
        from onboard.attest.sign import sign_run

        signed = sign_run(out, key)
        console.say(f"signed {signed.path}, report {signed.report}")
    if as_json:
        console.write_json(report.document())
    else:
        console.print_lines(report_lines(report))
        console.out(f"summary: {out / SUMMARY_NAME}")
    if not report.complete:
        said = "the run was interrupted" + (", so it was not signed" if key is not None else "")
        console.report_error(said, f"go on with: onboard conform --resume {shlex.quote(str(out))}")
    return _exit_code(report)


def _exit_code(report: Report) -> int:
    if not report.complete:
        return INTERRUPTED
    if report.narrowed:
        return 1 if any(report.outcomes[bad] for bad in FAILING) else 0
    return 0 if report.verdict == "pass" else 1


def _progress(suite: Suite, selection: Selection, *, simulated: bool) -> LiveProgress | PlainProgress:
    family_of = {name: spec.family for name, spec in suite.operators.items()}
    planned: Counter[str] = Counter()
    for group in selection.groups:
        operator = group.check.startswith("operators.")
        planned[family_of.get(group.operator, group.check) if operator else group.check] += len(group.names)
    mark = "SIMULATED DEVICE: " if simulated else ""
    live = sys.stderr.isatty() and console.colours(sys.stderr)
    return (LiveProgress if live else PlainProgress)(Tally(family_of, planned), mark)


def _write_page(out: Path, report: Report) -> None:
    try:
        (out / SUMMARY_NAME).write_text(render_page(report), encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(f"cannot write {out / SUMMARY_NAME}: {error.strerror}") from None
