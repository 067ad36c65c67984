from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from onboard.cli.app import run


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def in_process(capsys, monkeypatch):
    """Run a command line in this process."""
    monkeypatch.setenv("ONBOARD_DEBUG", "0")  # --debug sets it; the fixture puts it back

    def call(*arguments):
        code = run(list(arguments))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def onboard():
    """Run a command line in a process of its own; environment variables are added, or removed where None."""

    def call(*arguments, python=(), cwd=None, **variables):
        environment = {**os.environ, "_TYPER_FORCE_DISABLE_TERMINAL": "1", "TERMINAL_WIDTH": "100", **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        command = [sys.executable, *python, "-m", "onboard", *arguments]
        done = subprocess.run(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def install(tmp_path_factory):
    """Put distributions with entry points into a new folder for PYTHONPATH, as an installer would."""

    def put(*distributions):
        site = tmp_path_factory.mktemp("site")
        for name, version, entries, modules in distributions:
            info = site / f"{name.replace('-', '_')}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            (info / "entry_points.txt").write_text(entries)
            for path, text in modules.items():
                (site / path).parent.mkdir(parents=True, exist_ok=True)
                (site / path).write_text(text)
        return os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

    return put
