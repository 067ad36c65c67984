"""Each stage of specs/stages.yaml has its page, and the page ends in the command that proves the stage."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.main import get_command

from conformance.data import specs_dir
from conformance.spec.suite import load_suite
from conformance.spec.yamlfile import read_yaml
from onboard.cli.app import app

ROOT = specs_dir().parent
STAGES = [
    {name: field.text() for name, field in stage.record(["stage", "page", "proof"], []).items()}
    for stage in read_yaml(specs_dir() / "stages.yaml").record(["stages"], [])["stages"].items()
]
each = pytest.mark.parametrize("stage", STAGES, ids=[stage["stage"] for stage in STAGES])


def test_the_stages_are_those_of_the_way_to_a_certified_backend():
    assert [stage["stage"] for stage in STAGES] == [
        "external-backend",
        "operator-adaptation",
        "compile-integration",
        "precision-verification",
        "continuous-integration",
        "certification",
    ]


@each
def test_the_page_ends_in_the_command_that_proves_the_stage(stage):
    page = (ROOT / stage["page"]).read_text(encoding="utf-8")
    assert page.endswith(f"\n```sh\n{stage['proof']}\n```\n")


@each
def test_the_command_has_every_option_that_it_is_given(stage):
    program, name, *arguments = shlex.split(stage["proof"])
    assert program == "onboard"
    command = get_command(app).commands[name]
    parsed = command.make_context(name, arguments).params
    levels = {*(parsed.get("level") or ()), *filter(None, [parsed.get("require")])}
    assert levels <= set(load_suite().levels)


@each
def test_links_lead_somewhere(stage):
    page = ROOT / stage["page"]
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]
