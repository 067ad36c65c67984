"""A backend rendered from the template, and built once for all of these tests."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Measured:
    """What `onboard conform` said on stdout, how it ended, and the rows that it kept."""

    code: int
    report: dict
    rows: list[dict]

    def wrong(self):
        """The operators, as a set, that a finding of a wrong result names: as its cause or beside it."""
        found = [f for f in self.report["findings"] if f["outcome"] == "wrong"]
        return {name for f in found for name in (f["operator"], *f["also"])}

    def executions(self, operator):
        return {row["execution"] for row in self.rows if row["operator"] == operator} - {None}


@dataclass(frozen=True)
class Backend:
    package: Path  # the rendered source tree
    python: Path  # of the environment that it is installed in
    log: str  # of the build

    def run(self, *arguments, cwd, timeout, **variables):
        """Run the environment's python and give the finished process, whatever its exit code."""
        lost = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TORCH_DEVICE_BACKEND_AUTOLOAD", "TORCH_TRN_CPU_FALLBACK")
        environment = {k: v for k, v in os.environ.items() if k not in lost}
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=cwd,
            env={**environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def conform(self, folder, *arguments, timeout=300, **variables):
        out = folder / "results"
        command = ("-m", "onboard", "conform", "--device", "trn", "--json", "--out", str(out), *arguments)
        done = self.run(*command, cwd=folder, timeout=timeout, **variables)
        assert done.stdout.startswith("{"), f"exit code {done.returncode}: {done.stdout}{done.stderr}"
        (results,) = out.glob("results.jsonl*")
        with gzip.open(results, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        return Measured(done.returncode, json.loads(done.stdout), rows)

    def rebuild(self):
        """What the package's README calls the quicker way: only what changed is compiled."""
        (folder,) = (self.package / "build").iterdir()
        site = Path(self.python).parents[1].joinpath(*self._site())
        install = ["--install", str(folder), "--component", "trn", "--prefix", str(site)]
        for step in (["--build", str(folder)], install):
            done = self.run("-m", "cmake", *step, cwd=self.package, timeout=300)
            assert done.returncode == 0, done.stdout + done.stderr

    @staticmethod
    def _site():
        return ("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


@pytest.fixture(scope="session")
def backend(tmp_path_factory):
    """The template, rendered and installed as a user would, in an environment that borrows what the tests run on."""
    top = tmp_path_factory.mktemp("backend")
    venv.create(top / "env", with_pip=False)
    (site,) = (top / "env").glob("lib/python*/site-packages")
    lent = [str(ROOT), *(p for p in sys.path if p.endswith("site-packages"))]
    (site / "lent.pth").write_text("\n".join(lent) + "\n")
    unbuilt = Backend(top / "torch-trn", top / "env" / "bin" / "python", "")
    made = unbuilt.run("-m", "onboard", "new-backend", "trn", "--output", str(top), "--no-input", cwd=top, timeout=60)
    assert made.returncode == 0, made.stderr
    options = ("-v", "--disable-pip-version-check", "--no-build-isolation", "--no-deps")
    built = unbuilt.run("-m", "pip", "install", *options, "-e", str(unbuilt.package), cwd=top, timeout=900)
    log = built.stdout + built.stderr
    assert built.returncode == 0, log
    yield Backend(unbuilt.package, unbuilt.python, log)
    shutil.rmtree(top)  # half a gigabyte, most of it the precompiled header
