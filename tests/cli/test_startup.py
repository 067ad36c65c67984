"""Help and version come at once: nothing heavy is imported for them."""

from __future__ import annotations

import re

import pytest

HEAVY = {"torch", "cookiecutter", "yaml", "jinja2", "cryptography", "numpy", "requests"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("new-backend", "--help"),
        ("conform", "--help"),
        ("needs", "--help"),
        ("verify", "--help"),
    ],
)
def test_help_and_version_import_nothing_heavy(onboard, arguments):
    ran = onboard(*arguments, python=("-X", "importtime"))
    assert ran.code == 0
    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in ran.err.splitlines() if "|" in line}
    assert "typer" in imported  # the listing was read at all
    assert imported & HEAVY == set()


def test_help_has_the_four_panels_with_their_commands(onboard):
    ran = onboard("--help")
    assert ran.code == 0
    assert ran.err == ""
    panels: dict[str, list[str]] = {}
    for line in ran.out.splitlines():
        if title := re.match(r"╭─ (\w+) ─", line):
            commands = panels.setdefault(title[1], [])
        elif command := re.match(r"│ ([a-z][a-z-]*) ", line):
            commands.append(command[1])
    del panels["Options"]
    assert list(panels.items()) == [
        ("Build", ["new-backend"]),
        ("Measure", ["conform", "merge", "needs", "repro", "self-test", "spec"]),
        ("Attest", ["verify", "key"]),
        ("Look", ["devices", "doctor"]),
    ]


def test_no_arguments_show_help(onboard):
    for arguments in ((), ("key",), ("spec",)):
        ran = onboard(*arguments)
        assert ran.code == 0
        assert "Usage: onboard" in ran.out


@pytest.mark.parametrize("forced", [{}, {"NO_COLOR": "1"}, {"GITHUB_ACTIONS": "true"}])
def test_piped_help_fits_80_columns_and_holds_no_escape(onboard, forced):
    ran = onboard("--help", TERMINAL_WIDTH="80", **forced)
    assert "\x1b" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_the_version_is_that_of_the_package(onboard):
    from onboard import __version__

    assert onboard("--version").out == f"onboard {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "offered"), [("onboard con", "conform"), ("onboard key n", "new"), ("onboard doctor --js", "--json")]
)
def test_the_shell_completes(onboard, typed, offered):
    words = typed.split()
    ran = onboard(
        _ONBOARD_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1), TYPER_SHELL="bash"
    )
    assert offered in ran.out.split()
