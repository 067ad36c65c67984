"""The wheel carries everything: installed elsewhere, without the checkout, it does the main job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An environment of its own in which only the wheel is installed; its dependencies are lent by a path entry."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    lent = [p for p in sys.path if p.endswith("site-packages")]
    finder = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in type(f).__module__.lower()]"
    (site / "lent.pth").write_text("\n".join([*lent, finder]) + "\n")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    return folder / "bin" / "python"


def onboard(python, folder, *arguments):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    command = [str(python), "-P" if sys.version_info >= (3, 11) else "-s", "-m", "onboard", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_two_packages_and_nothing_else_at_top_level(wheel):
    with zipfile.ZipFile(wheel) as packed:
        tops = {name.split("/")[0] for name in packed.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"onboard", "conformance"}


def test_it_runs_from_the_wheel_and_not_from_the_checkout(python, tmp_path):
    done = subprocess.run(
        [str(python), "-c", "import onboard, conformance; print(onboard.__file__, conformance.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(ROOT) not in done.stdout


def test_the_main_job_runs_from_the_wheel(python, tmp_path):
    done = onboard(python, tmp_path, "conform", "--device", "cpu", "--ops", "add", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["plan"]["frozen"]
    assert document["outcomes"]["pass"] == document["planned"] > 0


def test_a_backend_is_scaffolded_from_the_wheel(python, tmp_path):
    done = onboard(python, tmp_path, "new-backend", "acme", "--no-input")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "torch-acme" / "pyproject.toml").is_file()
