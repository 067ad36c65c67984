"""`onboard new-backend`: arguments to answers, answers to a folder, errors to exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def template(tmp_path, monkeypatch):
    """Replace the templates by one of two files, so that what is tested is the command."""
    root = tmp_path / "templates"
    top = root / "native" / "@{cookiecutter.distribution}@"
    top.mkdir(parents=True)
    marks = {"variable_start_string": "@{", "variable_end_string": "}@"}
    (root / "native" / "cookiecutter.json").write_text(json.dumps({"device": "", "_jinja2_env_vars": marks}))
    lines = ("vendor", "description", "author", "email", "license", "version", "package")
    text = "".join(f"{name}=@{{ cookiecutter.{name} }}@\n" for name in lines)
    (top / "answers").write_text(text)
    (top / "pyproject.toml").write_text('[build-system]\nrequires = ["maker>=1", "ninja"]\n')
    monkeypatch.setattr("onboard.scaffold.templates.templates_dir", lambda: root)
    return root


def test_every_answer_has_a_flag(in_process, template, tmp_path):
    ran = in_process(
        "new-backend", "acme", "--output", str(tmp_path / "out"), "--package", "acme_torch",
        "--distribution", "acme-torch", "--vendor", "Acme", "--description", "Fast", "--author", "A. Cme",
        "--email", "a@acme.example", "--license", "MIT", "--version", "1.2.3", "--no-input",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.err == ""
    assert (tmp_path / "out" / "acme-torch" / "answers").read_text() == (
        "vendor=Acme\ndescription=Fast\nauthor=A. Cme\nemail=a@acme.example\nlicense=MIT\nversion=1.2.3\n"
        "package=acme_torch\n"
    )


def test_it_says_the_three_commands_that_come_next(in_process, template, tmp_path):
    ran = in_process("new-backend", "acme", "--output", str(tmp_path), "--no-input")
    steps = ran.out.split("next:\n")[1].splitlines()
    assert len(steps) == 3
    build = f"python -m pip install --no-build-isolation -e {tmp_path / 'torch-acme'}"
    assert steps[0].strip() == f"python -m pip install 'maker>=1' ninja && {build}"
    assert "device='acme'" in steps[1]
    assert steps[2].strip() == "onboard conform --device acme"


def test_json_is_the_only_thing_on_stdout(in_process, template, tmp_path):
    ran = in_process("new-backend", "acme", "--output", str(tmp_path), "--json")
    document = json.loads(ran.out)
    assert document["schema"] == "onboard/new-backend/1"
    assert document["folder"] == str(tmp_path / "torch-acme")
    assert set(document["files"]) == {"answers", "pyproject.toml"}
    assert len(document["next"]) == 3


@pytest.mark.parametrize(
    "name", ["int", "class", "std", "cuda", "privateuseone", "../x", "Trn", "a" * 40, "", "trn;rm", "@{x}@"]
)
def test_a_bad_name_is_2_and_writes_nothing(in_process, template, tmp_path, name):
    output = tmp_path / "out"
    ran = in_process("new-backend", "--output", str(output), "--no-input", "--", name)
    assert ran.code == 2
    assert ran.out == ""
    assert re.match(r"error: .+\nhint: .+\n\Z", ran.err)
    assert not output.exists()


@pytest.mark.parametrize(
    "vendor", ["{{ 7 * 7 }}", "@{ cookiecutter }@", "@% raw %@", "{% x %}", "two\nlines", "\x1b[2J", ""]
)
def test_a_template_in_an_answer_is_2_and_writes_nothing(in_process, template, tmp_path, vendor):
    ran = in_process("new-backend", "acme", "--vendor", vendor, "--output", str(tmp_path / "out"), "--no-input")
    assert ran.code == 2
    assert ran.err.startswith("error: vendor: ")
    assert not (tmp_path / "out").exists()


def test_a_taken_place_is_2_and_stays_as_it_was(in_process, template, tmp_path):
    (tmp_path / "torch-acme").mkdir()
    (tmp_path / "torch-acme" / "mine").write_text("mine")
    ran = in_process("new-backend", "acme", "--output", str(tmp_path), "--no-input")
    assert ran.code == 2
    assert "not empty" in ran.err
    assert [path.name for path in (tmp_path / "torch-acme").iterdir()] == ["mine"]


def test_an_unwritable_place_is_3(in_process, template):
    ran = in_process("new-backend", "acme", "--output", "/proc/onboard", "--no-input")
    assert ran.code == 3
    assert "can't be written" in ran.err
    assert "--output" in ran.err


def test_nothing_is_asked_where_there_is_no_terminal(onboard, tmp_path):
    """Standard input is empty here: a prompt would end the command."""
    ran = onboard("new-backend", "acme", "--output", str(tmp_path))
    assert ran.code == 0, ran.err
    assert (tmp_path / "torch-acme" / ".onboard" / "scaffold.json").is_file()


def test_on_a_terminal_the_missing_answers_are_asked_and_bad_ones_asked_again(tmp_path):
    replies = ["", "", "@{ bad }@", "Acme & Sons", "", "", "", "MIT", ""]
    arguments = ["new-backend", "acme", "--output", str(tmp_path)]
    code, shown = _on_terminal(arguments, "".join(f"{reply}\n" for reply in replies))
    assert code == 0, shown
    assert "template delimiter" in shown
    record = json.loads((tmp_path / "torch-acme" / ".onboard" / "scaffold.json").read_text())
    assert record["answers"]["vendor"] == record["answers"]["author"] == "Acme & Sons"
    assert record["answers"]["license"] == "MIT"


def test_on_a_terminal_no_input_asks_nothing(tmp_path):
    code, shown = _on_terminal(["new-backend", "acme", "--output", str(tmp_path), "--no-input"], "")
    assert code == 0, shown
    assert "Vendor" not in shown


def test_ctrl_c_at_a_question_is_130_and_writes_nothing(tmp_path):
    code, shown = _on_terminal(
        ["new-backend", "acme", "--output", str(tmp_path / "out")], "\x03", after="Python package"
    )
    assert code == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()


def test_the_end_of_input_at_a_question_writes_nothing(tmp_path):
    code, shown = _on_terminal(
        ["new-backend", "acme", "--output", str(tmp_path / "out")], "\x04", after="Python package"
    )
    assert code == 130
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_an_error_is_coloured_on_a_terminal_that_wants_it(variables, coloured):
    code, shown = _on_terminal(["new-backend", "int"], "", **variables)
    assert code == 2
    assert ("\x1b" in shown) is coloured
    assert "error:" in shown


def _on_terminal(arguments, typed, *, after="", **variables):
    """Run the command on a pseudo-terminal; returns its exit code and what it showed.

    What is typed comes at once, or as the answer to the first question when the text `after` has been shown.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        for name in ("NO_COLOR", "FORCE_COLOR", "ONBOARD_DEBUG"):
            os.environ.pop(name, None)
        os.environ.update({"TERM": "xterm", **variables})
        os.execv(sys.executable, [sys.executable, "-m", "onboard", *arguments])
    shown, deadline, pending = b"", time.monotonic() + 60, typed.encode()
    while time.monotonic() < deadline:
        if pending and (not after or after.encode() in shown):
            os.write(terminal, pending)
            pending = b""
        if select.select([terminal], [], [], 1)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # Linux reports the end of a pseudo-terminal as an error
                break
            if not piece:
                break
            shown += piece
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", errors="replace")


def test_the_templates_are_found_from_here():
    from onboard.scaffold.templates import templates_dir

    assert (Path(templates_dir()) / "native" / "cookiecutter.json").is_file()
