"""The template that ships: whatever a vendor is called, every file of it is what its kind has to be."""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import re
import subprocess
import sys

import pytest
import yaml

from onboard.scaffold.answers import LICENSES, complete
from onboard.scaffold.render import render
from onboard.scaffold.templates import templates_dir

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

HOSTILE = "O'Neil \"); } \\ # */ --> <b>&x; $(id) ${x} %s ??/ 漢字"


@pytest.fixture(scope="module", params=LICENSES)
def package(request, tmp_path_factory):
    from onboard.scaffold.answers import TorchVersion

    answers = complete(
        {"device": "acme", "vendor": HOSTILE, "author": HOSTILE, "description": HOSTILE, "license": request.param}
    )
    output = tmp_path_factory.mktemp("native")
    return render(templates_dir() / "native", answers, TorchVersion("2.13.0", "2.13"), output)


def _files(package, pattern):
    found = sorted(path for path in package.folder.rglob(pattern) if path.is_file())
    assert found, pattern
    return found


def test_every_python_file_parses(package):
    for path in _files(package, "*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("command", [("check",), ("format", "--check")])
def test_the_package_holds_to_its_own_rules_of_style(tmp_path, torch_version, command):
    package = render(templates_dir() / "native", complete({"device": "trn"}), torch_version, tmp_path)
    ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", str(package.folder)]
    done = subprocess.run(ruff, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_toml_file_parses_and_holds_the_text_as_it_was_given(package):
    for path in _files(package, "*.toml"):
        tomllib.loads(path.read_text(encoding="utf-8"))
    project = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "torch-acme"
    assert project["description"] == HOSTILE
    assert project["authors"][0]["name"] == HOSTILE


def test_every_yaml_file_parses_and_the_profile_names_the_vendor(package):
    for path in [*_files(package, "*.yaml"), *package.folder.rglob("*.yml")]:
        yaml.safe_load(path.read_text(encoding="utf-8"))
    (profile,) = _files(package, "onboard.yaml")
    assert yaml.safe_load(profile.read_text(encoding="utf-8"))["vendor"] == HOSTILE


def test_the_profile_is_one_that_conform_reads_as_simulated(package):
    from conformance.device.profile import load_profile

    profile = load_profile(_files(package, "onboard.yaml")[0])
    assert (profile.name, profile.device, profile.simulated) == ("acme", "acme", True)
    assert (profile.import_module, profile.distribution) == ("torch_acme", "torch-acme")


def test_the_entry_points_make_it_found(package):
    project = tomllib.loads((package.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]
    assert set(points["onboard.profiles"]) == {"acme"}
    module, _, name = points["onboard.profiles"]["acme"].partition(":")
    assert (package.folder / module / name).is_file()
    assert points["torch.backends"]


def test_nothing_is_left_of_the_template(package):
    for path in _files(package, "*"):
        text = path.read_bytes()
        assert not re.search(rb"@\{\s*cookiecutter|@%|%@|@#|#@", text), path
        assert b"cookiecutter" not in text, path
        assert "cookiecutter" not in str(path)


def test_free_text_stands_in_cpp_only_inside_a_literal_or_not_at_all(package):
    for path in [*_files(package, "*.cpp"), *_files(package, "*.h"), *_files(package, "CMakeLists.txt")]:
        assert HOSTILE not in path.read_text(encoding="utf-8"), path


def test_the_record_holds_every_file_with_its_digest(package):
    record = json.loads((package.folder / ".onboard" / "scaffold.json").read_text())
    names = {path.relative_to(package.folder).as_posix() for path in _files(package, "*")}
    assert set(record["files"]) == names - {".onboard/scaffold.json"}
    for name, digest in record["files"].items():
        assert hashlib.sha256((package.folder / name).read_bytes()).hexdigest() == digest
