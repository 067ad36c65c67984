"""Every error is `error:` and `hint:` on stderr with its exit code; a traceback only on request."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conformance.errors import CheckFailure, EnvironmentFailure, UsageError
from onboard import console


@pytest.fixture
def failing(monkeypatch):
    """Make `onboard devices` raise."""

    def fail(error):
        def listing():
            raise error

        monkeypatch.setattr("onboard.machine.profiles.list_profiles", listing)

    return fail


@pytest.mark.parametrize(("kind", "code"), [(CheckFailure, 1), (UsageError, 2), (EnvironmentFailure, 3)])
def test_our_errors_have_their_exit_codes(in_process, failing, kind, code):
    failing(kind("it is so", hint="do this"))
    ran = in_process("devices")
    assert (ran.code, ran.out, ran.err) == (code, "", "error: it is so\nhint: do this\n")


def test_an_unexpected_error_is_one_line_and_says_how_to_get_the_traceback(in_process, failing):
    failing(ZeroDivisionError("division\nby zero"))
    ran = in_process("devices")
    assert ran.code == 4
    assert ran.out == ""
    error, hint = ran.err.splitlines()
    assert error == "error: internal error: ZeroDivisionError: division by zero"
    assert hint.startswith("hint: ")
    assert "--debug" in hint


@pytest.mark.parametrize(
    "arguments", [("--debug", "devices"), ("devices", "--debug"), ("devices", "--json", "--debug")]
)
def test_debug_anywhere_on_the_line_shows_the_traceback(in_process, failing, arguments):
    failing(UsageError("it is so"))
    ran = in_process(*arguments)
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert "error: it is so" in ran.err
    assert ran.out == ""


def test_the_variable_shows_the_traceback_too(in_process, failing, monkeypatch):
    failing(ZeroDivisionError("x"))
    monkeypatch.setenv("ONBOARD_DEBUG", "1")
    assert "Traceback" in in_process("devices").err


def test_an_interrupt_is_130(in_process, failing):
    failing(KeyboardInterrupt())
    ran = in_process("devices")
    assert ran.code == 130
    assert ran.err == "interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "word", "hint"),
    [
        (("conferm",), "conform", "onboard --help"),
        (("devices", "--jsn"), "--json", "onboard devices --help"),
        (("new-backend",), "NAME", "onboard new-backend --help"),
        (("conform", "--device", "cpu", "--workers", "many"), "--workers", "onboard conform --help"),
        (("conform", "--device", "cpu", "--workers", "0"), "--workers", "onboard conform --help"),
        (("key", "nwe"), "new", "onboard key --help"),
    ],
)
def test_a_line_that_cannot_be_parsed_is_2_in_the_same_words(in_process, arguments, word, hint):
    ran = in_process(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    error, second = ran.err.splitlines()
    assert error.startswith("error: ")
    assert word in error
    assert second.startswith(f"hint: {hint}")


def test_text_of_a_user_is_neither_markup_nor_obeyed_by_the_terminal(in_process, failing):
    failing(UsageError("[red]x[/red] \x1b[2J\x07 :smile: \u202e", hint="[link=http://x]y[/link]"))
    ran = in_process("devices")
    assert ran.err == ("error: [red]x[/red] \\x1b[2J\\x07 :smile: \\u202e\nhint: [link=http://x]y[/link]\n")


def test_an_argument_with_an_escape_is_shown_written_out(in_process):
    ran = in_process("new-backend", "x\x1b[31m", "--no-input")
    assert ran.code == 2
    assert "\x1b" not in ran.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_of_the_terminal_breaks_a_message(onboard, encoding):
    ran = onboard("new-backend", "漢字", PYTHONIOENCODING=encoding, PYTHONUTF8="1")
    assert ran.code == 2
    assert ran.err.startswith("error: device: ")
    assert "Traceback" not in ran.err


def test_a_closed_pipe_is_no_error_of_ours():
    script = f"{sys.executable} -m onboard spec list --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() in {"0", "141"}  # 0 when the pipe took all before it was closed


def test_a_pipe_closed_before_the_first_byte_is_141():
    code = (
        "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
        "from onboard.cli.app import run; sys.exit(run(['--version']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_signs_are_plain_where_the_encoding_has_no_better():
    class Stream:
        encoding = "ascii"

    assert console.glyph("ok", Stream()) == "+"
    Stream.encoding = "utf-8"
    assert console.glyph("ok", Stream()) == "✓"


def test_json_refuses_what_is_no_json(capsys):
    with pytest.raises(ValueError, match="JSON"):
        console.write_json({"value": float("nan")})
    assert capsys.readouterr().out == ""
