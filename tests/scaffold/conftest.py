from __future__ import annotations

import json

import pytest

from onboard.scaffold.answers import TorchVersion, complete

MARKS = {
    "variable_start_string": "@{",
    "variable_end_string": "}@",
    "block_start_string": "@%",
    "block_end_string": "%@",
    "comment_start_string": "@#",
    "comment_end_string": "#@",
}
VARIABLES = [
    "device",
    "package",
    "distribution",
    "DEVICE",
    "class_name",
    "vendor",
    "description",
    "author",
    "email",
    "license",
    "version",
    "torch_version",
    "torch_minor",
    "onboard_version",
    "year",
]


@pytest.fixture
def torch_version():
    return TorchVersion("2.13.0", "2.13")


@pytest.fixture
def answers():
    return complete({"device": "trn"})


@pytest.fixture
def make_template(tmp_path):
    """Write a template from a mapping of paths below its top folder to text, and return its folder."""

    def make(files, **declared):
        root = tmp_path / "template"
        top = root / "@{cookiecutter.distribution}@"
        top.mkdir(parents=True)
        settings = {
            **dict.fromkeys(VARIABLES, ""),
            "_extensions": ["onboard.scaffold.filters.EscapeFilters"],
            "_jinja2_env_vars": MARKS,
            **declared,
        }
        (root / "cookiecutter.json").write_text(json.dumps(settings))
        for name, text in files.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    return make


@pytest.fixture
def output(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
