"""`onboard needs`: what a model of the user's own asks of a device."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onboard.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from conformance.needs.report import Need, Report
    from onboard.console import Line

SHOWN_TASKS = 12
SHOWN_PROBLEMS = 10
SHOWN_BREAKS = 4
SHOWN_CALLERS = 4


def needs(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL.py:build", help="A Python file, and in it a function without arguments that returns "
            "(module, args) or (module, args, kwargs), on the host. It runs backward too where an output needs a "
            "gradient: module.requires_grad_(False) leaves that out.",
        ),
    ],
    *,
    device: Annotated[str, typer.Option(metavar="NAME", help="A profile or a torch device: trn, cuda, cpu.")],
    no_compile: Annotated[
        bool, typer.Option("--no-compile", metavar="", help="Leave torch.compile out.")
    ] = False,
    profile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the device profile from this file.")
    ] = None,
    import_: Annotated[
        str | None, typer.Option("--import", metavar="MODULE", help="Import this for a backend without entry point.")
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """List the overloads that your model calls, how the device serves each, and what to implement first.

    Each distinct call is recorded with its arguments on the host, made on the device, and judged by the float64 answer.
    """
    from conformance.needs.api import NeedsOptions, find_needs
    from onboard import console

    options = NeedsOptions(model, device, compiled=not no_compile, profile=profile, import_module=import_)
    report = find_needs(options, console.say)
    if json:
        console.write_json(report.document())
    else:
        _show(report)
    raise typer.Exit(0 if report.ok else 1)


def _show(report: "Report") -> None:
    from onboard import console
    from onboard.console import Line

    if report.simulated:
        console.print_lines([Line("SIMULATED DEVICE: this says nothing about any hardware", "simulated"), Line("")])
    console.console().print(_table(report))
    console.print_lines(_lines(report))


def _table(report: "Report") -> "Table":
    """One row per overload, the most called first; names fold, so that it is whole at 80 columns."""
    from rich.table import Table
    from rich.text import Text

    from onboard.console import visible

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("overload", overflow="fold", min_width=20)
    for title in ("fwd", "bwd", "comp"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("dtypes", overflow="fold", min_width=8)
    table.add_column("served", no_wrap=True)
    table.add_column("answer", no_wrap=True)
    for need in report.needs:
        calls = [str(need.calls[phase] or ".") for phase in ("forward", "backward", "compiled")]
        served = f"{need.execution} *" if need.by_table else need.execution
        answer = "-" if need.execution == "absent" and need.answer == "not measured" else need.answer
        cells = (need.overload.removeprefix("aten::"), *calls, ", ".join(need.dtypes) or "-", served, answer)
        table.add_row(*(Text(visible(cell)) for cell in cells), style=_style(need))
    return table


def _style(need: "Need") -> str:
    if need.served:
        return ""
    from conformance.needs.report import BROKEN

    return "red" if need.execution == "absent" or need.answer in BROKEN else "yellow"


def _lines(report: "Report") -> "Iterator[Line]":
    from conformance.needs.report import BROKEN
    from onboard.console import Line

    if any(need.by_table for need in report.needs):
        yield Line("* by the dispatch table alone: no call could show it")
    yield Line("")
    yield from _problems(report)
    yield from _tasks(report)
    for note in report.notes:
        yield Line(note, "warning")
    for phase, why in report.failed.items():
        yield Line(f"{phase}: could not be followed: {why}", "failed")
    if report.graphs is not None:
        yield Line(f"compiled: {_count(report.graphs, 'graph')}, {_count(len(report.breaks), 'break')}", "ok")
        yield from (Line(f"  {reason}") for reason in report.breaks[:SHOWN_BREAKS])
    whole = report.whole
    status = "ok" if whole["answer"] == "right" else "failed" if whole["answer"] in BROKEN else "unknown"
    yield Line(f"whole model: {whole['answer']}{_figures(whole)}{_because(whole['message'])}", status)
    yield Line(_verdict(report), "ok" if report.ok else "failed")
    if report.tasks:
        first = report.tasks[0]
        yield Line(
            f"next: {first.do} {first.overload}: {_count(first.calls, 'call')} of the model {_waits(first.calls)}"
        )


def _problems(report: "Report") -> "Iterator[Line]":
    """Why an answer is not right, but for what is absent: that is said where it is to be implemented."""
    from onboard.console import Line

    open_ = [need for need in report.needs if need.answer != "right" and need.execution != "absent"]
    for need in open_[:SHOWN_PROBLEMS]:
        yield Line(f"{need.overload}: {need.answer}{_because(need.message)}",
                   "unknown" if need.answer == "not measured" else "failed")  # fmt: skip
        yield Line(f"  {need.overload}({need.example})")
    if len(open_) > SHOWN_PROBLEMS:
        yield Line(f"and {len(open_) - SHOWN_PROBLEMS} more of {len(open_)}: see --json")
    if open_:
        yield Line("")


def _tasks(report: "Report") -> "Iterator[Line]":
    from onboard.console import Line

    if not report.tasks:
        return
    yield Line("first things to implement, by the calls that wait for them:")
    for task in report.tasks[:SHOWN_TASKS]:
        callers = ", ".join(task.callers[:SHOWN_CALLERS])
        more = f" and {len(task.callers) - SHOWN_CALLERS} more" if len(task.callers) > SHOWN_CALLERS else ""
        called = f"  (from {callers}{more})" if callers else ""
        yield Line(f"{task.calls:5}  {task.do:11}  {task.overload}{called}")
    if len(report.tasks) > SHOWN_TASKS:
        yield Line(f"       and {len(report.tasks) - SHOWN_TASKS} more of {len(report.tasks)}: see --json")
    yield Line("")


def _verdict(report: "Report") -> str:
    """The whole verdict in one line, every count with its denominator."""
    counts = report.counts()
    total = counts["overloads"]["total"]
    served, answers = (
        ", ".join(f"{n} {name}" for name, n in counts[kind].items() if n) for kind in ("execution", "answer")
    )
    mark = "SIMULATED DEVICE " if report.simulated else ""
    return (
        f"{mark}{report.profile} ({report.device}) serves {counts['overloads']['served']} of {total} overloads of "
        f"{report.model} itself and right: {served}; answers: {answers}; {report.seconds:.0f} s"
    )


def _figures(whole: "dict[str, object]") -> str:
    if whole["error"] is None:
        return ""
    return f", error {float(str(whole['error'])):.3g} with a bound of {float(str(whole['bound'])):.3g}"


def _because(message: str) -> str:
    return f": {message.splitlines()[0]}" if message else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _waits(calls: int) -> str:
    return "waits for it" if calls == 1 else "wait for it"
