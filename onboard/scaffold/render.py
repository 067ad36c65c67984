"""A template and answers become a folder, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure, UsageError
from onboard import __version__
from onboard.scaffold.answers import DELIMITERS, Answers, TorchVersion, template_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

SCAFFOLD_SCHEMA = "onboard/scaffold/1"
SCAFFOLD_RECORD = PurePosixPath(".onboard/scaffold.json")


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was written: the folder, and the sha256 of each file by its path inside it (the record excluded)."""

    folder: Path
    files: dict[str, str]


def render(template: Path, answers: Answers, torch: TorchVersion, output: Path) -> Scaffold:
    """Render `template` into `output`/<distribution>.

    The tree is rendered into a temporary folder beside its place and renamed into it when it is whole; on failure
    nothing is left behind. Raises UsageError when the place is taken or the path can't be used, EnvironmentFailure when
    the folder can't be written, and EnvironmentFailure when the template itself is broken.
    """
    output = Path(output).absolute()
    target = output / answers.distribution
    _check_place(target)
    with _writable(output), _scratch(output, answers.distribution) as scratch:
        tree = _render_tree(template, template_variables(answers, torch), scratch)
        files = _digests(tree)
        _write_record(tree, template.name, answers, torch, files)
        try:
            tree.rename(target)  # atomic; the kernel refuses a folder that has been filled in the meantime
        except (FileExistsError, NotADirectoryError):
            raise _taken(target) from None
        except OSError as error:
            if target.is_dir() and any(target.iterdir()):
                raise _taken(target) from None
            raise error from None
    return Scaffold(target, files)


def _check_place(target: Path) -> None:
    # cookiecutter renders the whole output path as a template, so that a delimiter in it would be evaluated.
    if any(mark in str(target) for mark in DELIMITERS) or not str(target).isprintable():
        raise UsageError(
            f"the output path {str(target)!r} holds a template delimiter or an unprintable character",
            hint=f"use a path without {' '.join(DELIMITERS)}",
        )
    with _writable(target.parent):
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise UsageError(f"{target} exists and is not a folder", hint="choose another --output or --distribution")
        if target.is_dir() and any(target.iterdir()):
            raise _taken(target)


def _taken(target: Path) -> UsageError:
    return UsageError(
        f"{target} exists already and is not empty",
        hint="nothing was written: choose another --output or --distribution, or move the folder away",
    )


@contextlib.contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentFailure(
            f"{folder} can't be written: {error.strerror or error}", hint="choose another folder with --output"
        ) from error


@contextlib.contextmanager
def _scratch(output: Path, name: str) -> Iterator[Path]:
    """A temporary folder in `output`, removed at the end together with the parents that had to be made for it."""
    made = [folder for folder in (output, *output.parents) if not folder.exists()]
    try:
        output.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=output))
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    finally:
        for folder in made:
            with contextlib.suppress(OSError):  # not empty: the result lies in it
                folder.rmdir()


def _render_tree(template: Path, variables: dict[str, str], scratch: Path) -> Path:
    """Render and return the one folder that came out.

    `generate_files` is called in place of `cookiecutter()`: the answers then never pass through the template engine as
    templates, no hook runs, and neither the user's configuration nor a replay file is touched.
    """
    from cookiecutter.exceptions import CookiecutterException
    from cookiecutter.generate import generate_files
    from cookiecutter.utils import create_env_with_context
    from jinja2 import TemplateError

    context = {"cookiecutter": _context(template, variables)}
    try:
        _check_names(template, create_env_with_context(context), context)
        made = generate_files(str(template), context, str(scratch), accept_hooks=False)
    except (CookiecutterException, TemplateError, UnicodeDecodeError, TypeError) as error:  # TypeError: of its settings
        raise EnvironmentFailure(
            f"the template {template.name} can't be rendered: {error}", hint="reinstall torch-onboard"
        ) from error
    tree = Path(made)
    opening = str(context["cookiecutter"].get("_jinja2_env_vars", {}).get("variable_start_string", "{{")).encode()
    _check_tree(template, tree, scratch, re.compile(re.escape(opening) + rb"\s*cookiecutter"))
    return tree


def _check_tree(template: Path, tree: Path, scratch: Path, unrendered: re.Pattern[bytes]) -> None:
    for path in (tree, *tree.rglob("*")):
        if path.is_symlink() or not path.resolve().is_relative_to(scratch.resolve()):
            raise EnvironmentFailure(f"the template {template.name} writes outside its folder: {path}")
        # cookiecutter guesses which files are binary and copies these as they are.
        if path.is_file() and unrendered.search(path.read_bytes()):
            raise EnvironmentFailure(f"the template {template.name} left {path.relative_to(tree)} unrendered")


def _context(template: Path, variables: dict[str, str]) -> dict[str, Any]:
    try:
        declared = json.loads((template / "cookiecutter.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise EnvironmentFailure(f"{template.name}/cookiecutter.json is not JSON: {error}") from None
    unknown = sorted(name for name in declared if not name.startswith("_") and name not in variables)
    if unknown:
        raise EnvironmentFailure(f"the template {template.name} asks for what onboard has not: {', '.join(unknown)}")
    return {**{name: value for name, value in declared.items() if name.startswith("_")}, **variables}


def _check_names(template: Path, environment: Any, context: dict[str, Any]) -> None:
    """Every rendered path has to stay inside the folder, before the first one is written."""
    for path in sorted(template.rglob("*")):
        rendered = environment.from_string(path.relative_to(template).as_posix()).render(**context)
        pure = PurePosixPath(rendered)
        if pure.is_absolute() or ".." in pure.parts or not rendered.isprintable():
            raise EnvironmentFailure(f"the template {template.name} writes outside its folder: {rendered!r}")


def _digests(tree: Path) -> dict[str, str]:
    found = sorted((path.relative_to(tree).as_posix(), path) for path in tree.rglob("*") if path.is_file())
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found}


def _write_record(tree: Path, template: str, answers: Answers, torch: TorchVersion, files: dict[str, str]) -> None:
    record = {
        "schema": SCAFFOLD_SCHEMA,
        "onboardVersion": __version__,
        "template": template,
        "torchVersion": torch.full,
        "answers": asdict(answers),
        "files": files,
    }
    path = tree / SCAFFOLD_RECORD
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
