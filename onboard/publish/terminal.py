"""The report on a terminal: levels, a table by family, findings with reproducers, the verdict and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.results import FAILING
from onboard.console import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.findings import Finding
    from conformance.report import FamilyLine, Report

SHOWN_FINDINGS = 10
SHOWN_NAMES = 6
SHOWN_SCRIPTS = 3
_STATUS = {"pass": "ok", "incomplete": "warning", "fail": "failed"}


def report_lines(report: Report) -> Iterator[Line]:
    """The lines of the report, plain and unwrapped; the table fits into 80 columns."""
    if report.simulated:
        yield Line("SIMULATED DEVICE: these results say nothing about any hardware", "simulated")
    yield from _table(report.families)
    yield Line("")
    yield from _unjudged(report)
    yield from _findings(report.findings)
    yield from _levels(report)
    yield Line("")
    yield Line(verdict_line(report), _STATUS[report.verdict])
    yield Line(f"next: {report.next}")


def verdict_line(report: Report) -> str:
    """The whole verdict in one line, every count with its denominator."""
    passed = report.outcomes["pass"]
    other = ", ".join(f"{n} {outcome}" for outcome, n in report.outcomes.items() if n and outcome != "pass")
    scope = "selection only" if report.narrowed else ", ".join(report.judged)
    mark = "SIMULATED DEVICE " if report.simulated else ""
    state = "" if report.complete else " (interrupted)"
    return (
        f"verdict {report.verdict}{state}: {mark}{report.profile} ({report.device}), {scope}: "
        f"{passed} of {report.planned} cases pass{', ' + other if other else ''}, {report.seconds:.0f} s"
    )


def _table(families: Sequence[FamilyLine]) -> Iterator[Line]:
    head = ("family", "ops", "pass", "wrong", "error", "died", "open", "native", "compo", "fallb", "absent")
    yield Line(_columns(head))
    for line in families:
        yield Line(_columns((line.family, line.operators, *_cells(line))))
    total = [sum(cells) for cells in zip(*(_cells(line) for line in families), strict=True)]
    yield Line(_columns(("all", sum(line.operators for line in families), *total)))


def _cells(line: FamilyLine) -> tuple[int, ...]:
    """Outcomes (died = crash, timeout; open = unjudged, unsupported, waived) and operators by execution."""
    o, e = line.outcomes, line.execution
    stopped = o["crash"] + o["timeout"]
    failed = sum(o[name] for name in FAILING) - o["wrong"] - stopped
    still_open = o["unjudged"] + o["unsupported"] + o["waived"]
    return o["pass"], o["wrong"], failed, stopped, still_open, e["native"], e["composite"], e["fallback"], e["absent"]


def _columns(cells: Sequence[object]) -> str:
    first, *rest = (str(cell) if cell != 0 else "." for cell in cells)
    return f"{first[:19]:19} " + " ".join(f"{cell:>{width}}" for cell, width in zip(rest, _WIDTHS, strict=True))


_WIDTHS = (4, 5, 5, 5, 5, 5, 6, 5, 5, 6)


def _unjudged(report: Report) -> Iterator[Line]:
    operators = report.unjudged_operators
    if operators:
        yield Line(f"not judged, so never a pass: {report.outcomes['unjudged']} cases of {len(operators)} operators")
        yield Line(f"  {', '.join(operators)}")
    if report.beside_host:
        of = f"{report.beside_host} cases of {len(report.host_off_operators)} operators"
        yield Line(f"held to the distance of the host, which misses the bound itself: {of}")
    if report.self_compared:
        yield Line(f"compared with the same code, so no evidence: {report.self_compared} of {report.planned} cases")


def _findings(findings: Sequence[Finding]) -> Iterator[Line]:
    scripts = 0
    for finding in findings[:SHOWN_FINDINGS]:
        yield Line("")
        yield Line(f"{finding.title}  [{finding.id}]", "failed")
        yield Line(f"  {finding.outcome}: {_cases(finding)}; first {finding.case}")
        if finding.kernels:
            yield Line(f"  kernels: {_some(finding.kernels)}")
        if finding.also:
            yield Line(f"  also: {_some(finding.also)}")
        if finding.message and finding.message.splitlines()[0] not in finding.title:
            yield Line(f"  {finding.message.splitlines()[0][:300]}")
        if finding.repro and scripts < SHOWN_SCRIPTS:
            scripts += 1
            yield Line("")
            yield from (Line(f"    {text}") for text in finding.repro.rstrip().splitlines())
    if len(findings) > SHOWN_FINDINGS:
        yield Line("")
        yield Line(f"and {len(findings) - SHOWN_FINDINGS} more findings of {len(findings)}: see the summary")
    if findings:
        yield Line("")


def _cases(finding: Finding) -> str:
    return ", ".join([f"{finding.cases} cases", *([_some(finding.dtypes)] if finding.dtypes else [])])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    return f"{shown} and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else shown


def _cut(report: Report) -> str:
    if report.shard is not None:
        return (
            f"no level is judged: shard {report.shard['index']} of {report.shard['of']}; onboard merge judges them all"
        )
    return "no level is judged: --smoke, --checks, --ops, --dtypes, --model or --last-failed narrowed the plan"


def _levels(report: Report) -> Iterator[Line]:
    if report.narrowed:
        yield Line(_cut(report))
        return
    for name, level in report.levels.items():
        kind = "level" if name in report.judged else "next "
        why = f": {'; '.join(level.why)}" if level.why else ""
        text = f"{kind} {name}: {level.verdict}, {level.passed} of {level.required} cases{why}"
        yield Line(text, _STATUS[level.verdict])
