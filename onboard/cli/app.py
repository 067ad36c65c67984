"""The commands put together, and the one place where an error becomes text and an exit code."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from conformance.errors import OnboardError
from onboard import __version__, console
from onboard.cli import conform, devices, doctor, key, merge, needs, new_backend, repro, self_test, spec, verify
from onboard.cli.options import ATTEST, BUILD, LOOK, MEASURE

#: What Typer raises for a line it can't parse. Typer exports no name for the base class in every version supported.
_ParseError: type[Exception] = typer.BadParameter.__mro__[1]

INTERNAL = 4
INTERRUPTED = 130
CLOSED_PIPE = 141  # what a shell reports for a program that died of SIGPIPE

app = typer.Typer(
    name="onboard",
    help="Scaffold, measure and certify out-of-tree PyTorch backends.",
    epilog="Exit codes: 0 ok, 1 the thing checked failed, 2 usage, 3 environment, 4 internal error, 130 interrupted.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.out(f"onboard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - acted upon by its callback
        bool,
        typer.Option(
            "--version", metavar="", is_eager=True, callback=_show_version, help="Show the version and leave."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", metavar="", help="Show tracebacks of errors; anywhere on the line, or ONBOARD_DEBUG=1."
        ),
    ] = False,
) -> None:
    if debug:
        os.environ["ONBOARD_DEBUG"] = "1"
    if context.invoked_subcommand is None:
        console.out(context.get_help())


app.command("new-backend", rich_help_panel=BUILD)(new_backend.new_backend)
app.command("conform", rich_help_panel=MEASURE)(conform.conform)
app.command("merge", rich_help_panel=MEASURE)(merge.merge)
app.command("needs", rich_help_panel=MEASURE)(needs.needs)
app.command("repro", rich_help_panel=MEASURE)(repro.repro)
app.command("self-test", rich_help_panel=MEASURE)(self_test.self_test)
app.add_typer(spec.app, name="spec", rich_help_panel=MEASURE)
app.command("verify", rich_help_panel=ATTEST)(verify.verify)
app.add_typer(key.app, name="key", rich_help_panel=ATTEST)
app.command("devices", rich_help_panel=LOOK)(devices.devices)
app.command("doctor", rich_help_panel=LOOK)(doctor.doctor)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error is shown here and nowhere else."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale without UTF-8 must not turn a message into a crash
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=_debug_first(arguments), prog_name="onboard", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # Typer and Rich turn a closed pipe into an exit with 1, which here means that a check failed.
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at exit
        return CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort, reported as a defect of ours
        return _failed(error)
    if code == INTERRUPTED:
        console.say("interrupted")
    return code if isinstance(code, int) else 0


def _failed(error: Exception) -> int:
    debug = os.environ.get("ONBOARD_DEBUG") == "1"
    if debug and not isinstance(error, _ParseError):
        console.say("".join(traceback.format_exception(error)))
    if isinstance(error, OnboardError):
        console.report_error(error.message, error.hint)
        return error.exit_code
    if isinstance(error, _ParseError):
        return _parse_failed(error)
    console.report_error(
        f"internal error: {type(error).__name__}: {' '.join(str(error).split()) or 'without a message'}",
        None if debug else "this is a defect of onboard: run again with --debug for the traceback, and report it",
    )
    return INTERNAL


def _parse_failed(error: Exception) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "onboard"
    console.report_error(" ".join(message.split()), f"{path} --help shows what there is")
    return int(getattr(error, "exit_code", 2))


def _debug_first(arguments: Sequence[str]) -> list[str]:
    """`--debug` is taken anywhere on the line, up to a bare `--`."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    own, rest = list(arguments[:end]), list(arguments[end:])
    if "--debug" not in own:
        return [*own, *rest]
    return ["--debug", *(word for word in own if word != "--debug"), *rest]
