"""What the documents tell a reader to type can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
import yaml

from onboard.cli.app import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
COMMANDS = typer.main.get_command(app)


def calls(text):
    """Each `onboard COMMAND ...` of a document, as words; a comment, a pipe or a quote ends it."""
    for found in re.finditer(r"\bonboard ((?:[a-z][a-z-]*)(?: [^\n`#|&;\"()]*)?)", text):
        yield found[1].split()


def command_of(words):
    command = COMMANDS
    for word in words:
        if not hasattr(command, "commands") or word not in command.commands:
            break
        command = command.commands[word]
    return command


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_that_is_named_exists(path):
    for words in calls(path.read_text(encoding="utf-8")):
        command = command_of(words)
        if command is COMMANDS:
            continue  # a sentence about the project
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)} | {
            "--help"
        }
        asked = {word.partition("=")[0].rstrip(".,:") for word in words if re.match(r"--[a-z]", word)}
        assert not asked - known - {"--debug"}, " ".join(words)


def test_the_recipes_are_yaml():
    text = (ROOT / "docs" / "how-to" / "long-runs.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    job, workflow = blocks
    pod = job["spec"]["template"]["spec"]
    assert job["spec"]["completionMode"] == "Indexed"
    assert pod["containers"][0]["env"] == [{"name": "ONBOARD_SHARDS", "value": str(job["spec"]["completions"])}]
    shards = workflow["jobs"]["conform"]["strategy"]["matrix"]["shard"]
    assert f"/{len(shards)} --out" in workflow["jobs"]["conform"]["steps"][0]["run"]
