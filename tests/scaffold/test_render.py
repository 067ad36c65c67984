"""A template is rendered whole or not at all, and nothing in an answer is ever taken for template."""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import os
import stat
import sys

import pytest
import yaml

from conformance.errors import EnvironmentFailure, UsageError
from onboard.scaffold import render as module
from onboard.scaffold.answers import complete
from onboard.scaffold.render import render

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

CPP = "int a[2][2] = {{1, 2}, {3, 4}};  // {% {# ${{ x }}\nnamespace @{ cookiecutter.device }@ {}\n"


def test_cpp_braces_and_actions_expressions_survive(make_template, answers, torch_version, output):
    made = render(make_template({"src/a.cpp": CPP, "ci.yml": "run: ${{ matrix.x }}\n"}), answers, torch_version, output)
    expected = CPP.replace("@{ cookiecutter.device }@", "trn")
    assert (made.folder / "src" / "a.cpp").read_text() == expected
    assert (made.folder / "ci.yml").read_text() == "run: ${{ matrix.x }}\n"
    assert made.folder == output / "torch-trn"


def test_names_modes_and_trailing_line_breaks_are_kept(make_template, answers, torch_version, output):
    template = make_template(
        {"@{cookiecutter.package}@/__init__.py": "x = 1\n", "no_newline": "x", "run.sh": "#!/bin/sh\n"}
    )
    (template / "@{cookiecutter.distribution}@" / "run.sh").chmod(0o755)
    folder = render(template, answers, torch_version, output).folder
    assert (folder / "torch_trn" / "__init__.py").read_bytes() == b"x = 1\n"
    assert (folder / "no_newline").read_bytes() == b"x"
    assert (folder / "run.sh").stat().st_mode & stat.S_IXUSR
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~_umask()


@pytest.mark.parametrize(
    "text",
    [
        'O\'Neil "and" \\ sons',
        '"); import os; ("',
        "value: [x] # y",
        "'''",
        "C:\\new\\table",
        "Söhne 漢字 🚀",
        "$(id) `id` ${HOME} %s",
    ],
)
def test_free_text_is_the_same_text_in_every_kind_of_file(make_template, torch_version, output, text):
    template = make_template(
        {
            "a.py": "VENDOR = @{ cookiecutter.vendor | py_string }@\n",
            "a.toml": "vendor = @{ cookiecutter.vendor | toml_string }@\n",
            "a.yaml": "vendor: @{ cookiecutter.vendor | yaml_string }@\n",
        }
    )
    answers = complete({"device": "trn", "vendor": text})
    folder = render(template, answers, torch_version, output).folder
    (assignment,) = ast.parse((folder / "a.py").read_text(encoding="utf-8")).body
    assert ast.literal_eval(assignment.value) == text
    assert tomllib.loads((folder / "a.toml").read_text(encoding="utf-8")) == {"vendor": text}
    assert yaml.safe_load((folder / "a.yaml").read_text(encoding="utf-8")) == {"vendor": text}


def test_an_answer_is_never_rendered_even_where_validation_would_let_it_through(
    make_template, torch_version, output, monkeypatch
):
    """Two walls: were a delimiter to pass the first, the answers still don't go through the engine as templates."""
    monkeypatch.setattr("onboard.scaffold.answers.DELIMITERS", ())
    answers = complete({"device": "trn", "vendor": "@{ 7 * 7 }@ {{ 7 * 7 }}"})
    folder = render(make_template({"a.txt": "@{ cookiecutter.vendor }@"}), answers, torch_version, output).folder
    assert (folder / "a.txt").read_text() == "@{ 7 * 7 }@ {{ 7 * 7 }}"


def test_hooks_of_a_template_do_not_run(make_template, answers, torch_version, output, tmp_path):
    template = make_template({"a.txt": "a"})
    (template / "hooks").mkdir()
    for hook in ("pre_prompt", "pre_gen_project", "post_gen_project"):
        (template / "hooks" / f"{hook}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    render(template, answers, torch_version, output)
    assert not (tmp_path / "ran").exists()


def test_the_users_configuration_and_home_are_not_touched(
    make_template, answers, torch_version, output, tmp_path, monkeypatch
):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".cookiecutterrc").write_text("default_context: {vendor: Someone Else}\n")
    monkeypatch.setenv("HOME", str(home))
    folder = render(make_template({"a": "@{ cookiecutter.vendor }@"}), answers, torch_version, output).folder
    assert (folder / "a").read_text() == answers.vendor
    assert [path.name for path in home.iterdir()] == [".cookiecutterrc"]


def test_the_record_says_what_was_rendered_from_what(make_template, answers, torch_version, output):
    made = render(make_template({"a.txt": "a", "b/c.txt": "c"}), answers, torch_version, output)
    record = json.loads((made.folder / ".onboard" / "scaffold.json").read_text())
    assert record["answers"]["device"] == "trn"
    assert record["torchVersion"] == "2.13.0"
    assert record["template"] == "template"
    assert (
        record["files"]
        == made.files
        == {
            "a.txt": hashlib.sha256(b"a").hexdigest(),
            "b/c.txt": hashlib.sha256(b"c").hexdigest(),
        }
    )


def test_an_existing_folder_with_something_in_it_is_refused_and_stays(make_template, answers, torch_version, output):
    target = output / "torch-trn"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        render(make_template({"a": "a"}), answers, torch_version, output)
    assert _names(output) == ["torch-trn"]
    assert _names(target) == ["mine.txt"]


def test_an_empty_folder_is_taken(make_template, answers, torch_version, output):
    (output / "torch-trn").mkdir()
    assert (render(make_template({"a": "a"}), answers, torch_version, output).folder / "a").is_file()


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_a_file_or_a_link_in_the_place_is_refused(make_template, answers, torch_version, output, tmp_path, kind):
    target, elsewhere = output / "torch-trn", tmp_path / "elsewhere"
    if kind == "file":
        target.write_text("mine")
    else:
        if kind == "link":
            elsewhere.mkdir()
        target.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="not a folder"):
        render(make_template({"a": "a"}), answers, torch_version, output)
    assert not elsewhere.exists() or _names(elsewhere) == []


def test_a_folder_that_fills_while_rendering_is_not_overwritten(
    make_template, answers, torch_version, output, monkeypatch
):
    target = output / "torch-trn"
    write_record = module._write_record

    def meanwhile(*arguments):
        write_record(*arguments)
        target.mkdir()
        (target / "theirs.txt").write_text("theirs")

    monkeypatch.setattr(module, "_write_record", meanwhile)
    with pytest.raises(UsageError, match="not empty"):
        render(make_template({"a": "a"}), answers, torch_version, output)
    assert _names(output) == ["torch-trn"]
    assert _names(target) == ["theirs.txt"]


@pytest.mark.parametrize(
    "files",
    [
        {"a.txt": "good", "b.txt": "@{ cookiecutter.nothing }@"},
        {"a.txt": "good", "b.txt": "@% if %@"},
        {"a.txt": "good", "b.txt": "@{ cookiecutter.vendor | no_filter }@"},
        {"a.txt": "good", "@{cookiecutter.nothing}@.txt": "x"},
        {"a.txt": "good", "@{'.' ~ '.'}@/b.txt": "outside"},
        {"a.txt": "good", "b.bin": "\x00\x01\x02@{ cookiecutter.vendor }@"},
    ],
    ids=["unknown variable", "syntax", "unknown filter", "unknown variable in a name", "escape", "taken for binary"],
)
def test_a_broken_template_leaves_nothing_behind(make_template, answers, torch_version, tmp_path, files):
    output = tmp_path / "new" / "deep"
    with pytest.raises(EnvironmentFailure, match="template"):
        render(make_template(files), answers, torch_version, output)
    assert not (tmp_path / "new").exists()


def test_a_template_that_asks_for_more_than_there_is_is_refused(make_template, answers, torch_version, output):
    with pytest.raises(EnvironmentFailure, match="colour"):
        render(make_template({"a": "a"}, colour="red"), answers, torch_version, output)
    assert _names(output) == []


def test_settings_that_the_engine_does_not_take_are_an_error_of_the_template(
    make_template, answers, torch_version, output
):
    template = make_template({"a": "a"}, _jinja2_env_vars={"no_such_setting": True})
    with pytest.raises(EnvironmentFailure, match="no_such_setting"):
        render(template, answers, torch_version, output)
    assert _names(output) == []


def test_an_interrupt_leaves_nothing_behind(make_template, answers, torch_version, output, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_write_record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        render(make_template({"a": "a"}), answers, torch_version, output)
    assert _names(output) == []


def test_missing_parents_of_the_output_are_made(make_template, answers, torch_version, tmp_path):
    folder = render(make_template({"a": "a"}), answers, torch_version, tmp_path / "x" / "y").folder
    assert folder == tmp_path / "x" / "y" / "torch-trn"
    assert _names(folder.parent) == ["torch-trn"]


def test_an_output_path_with_a_delimiter_is_refused_since_cookiecutter_renders_it(
    make_template, answers, torch_version, tmp_path
):
    with pytest.raises(UsageError, match="delimiter"):
        render(make_template({"b/a": "a"}), answers, torch_version, tmp_path / "@{ 7 * 7 }@")


def test_an_output_that_is_a_file_is_an_error_of_the_environment(make_template, answers, torch_version, tmp_path):
    (tmp_path / "file").write_text("x")
    for output in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(EnvironmentFailure, match="can't be written"):
            render(
                make_template({"a": "a"}) if output.name == "file" else tmp_path / "template",
                answers,
                torch_version,
                output,
            )


def test_an_unwritable_output_is_an_error_of_the_environment(make_template, answers, torch_version, tmp_path):
    """/proc refuses new folders to everybody, the superuser included."""
    with pytest.raises(EnvironmentFailure, match="can't be written"):
        render(make_template({"a": "a"}), answers, torch_version, module.Path("/proc/onboard"))


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
