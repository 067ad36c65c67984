"""Autoload, on packages that register a Python device: one that does it right, and the ways of doing it wrong."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.runtime import autoload
from conformance.device.profile import Profile

DEVICE = Path(__file__).parents[1] / "device" / "pydevice.py"
ROOT = Path(__file__).parents[2]

GUARDED = """
import os
before = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
if before is None:
    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
else:
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = before
from fake_accel import pydevice
pydevice.register()
def _autoload():
    pass
"""
NAIVE = """
import torch
from fake_accel import pydevice
pydevice.register()
def _autoload():
    pass
"""
LEAKY = GUARDED.replace('if before is None:\n    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]\nelse:', "if before:")
SILENT = """
def _autoload():
    pass
"""
HANGING = """
import time
time.sleep(60)
def _autoload():
    pass
"""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    def run(text, order, entry_point=True, **profile):
        package = tmp_path / "fake_accel"
        package.mkdir()
        (package / "__init__.py").write_text(text)
        shutil.copy(DEVICE, package / "pydevice.py")
        info = tmp_path / "fake_accel-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-accel\nVersion: 1.0\n")
        if entry_point:
            (info / "entry_points.txt").write_text("[torch.backends]\nfake_accel = fake_accel:_autoload\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
        monkeypatch.setenv(autoload.SWITCH, "0")  # a worker has it; the fresh interpreter must not
        fields = {"import_module": "fake_accel", **profile}
        # In this process nothing is registered, so that the default name stands for the backend's.
        device = SimpleNamespace(type=torch._C._get_privateuse1_backend_name())
        return autoload.perform(Context(device, Profile("fake", "npy", **fields), None, 0), order)

    return run


@pytest.mark.parametrize("order", ["torch-first", "package-first", "disabled"])
def test_a_guarded_package_passes(judged, order):
    found = judged(GUARDED, order)
    assert (found.outcome, found.message) == ("pass", "")


@pytest.mark.parametrize("order", ["torch-first", "package-first", "disabled"])
def test_another_backend_that_is_installed_is_not_held_against_it(judged, tmp_path, order):
    (tmp_path / "other_accel.py").write_text("raise RuntimeError('of the other')\n")
    info = tmp_path / "other_accel-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-accel\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\nother_accel = other_accel:_autoload\n")
    found = judged(GUARDED, order)
    assert (found.outcome, found.message) == ("pass", "")


@pytest.mark.parametrize(
    ("text", "order", "message"),
    [
        (NAIVE, "package-first", "partially initialized module 'fake_accel'"),
        (LEAKY, "package-first", "left TORCH_DEVICE_BACKEND_AUTOLOAD=0"),
        (SILENT, "torch-first", "npy"),
        ("raise OSError('no driver')\n", "torch-first", "OSError: no driver"),
    ],
    ids=["naive", "leaky", "silent", "broken"],
)
def test_each_way_of_failing_is_told(judged, text, order, message):
    found = judged(text, order)
    assert found.outcome == "wrong"
    assert found.message.startswith(f"{order}: ")
    assert message in found.message


def test_an_import_that_hangs_is_a_timeout(judged, monkeypatch):
    monkeypatch.setattr(autoload, "SECONDS", 1.0)
    found = judged(HANGING, "package-first", timing=2.0)
    assert (found.outcome, found.message) == ("timeout", "package-first: the interpreter did not end within 2 s")


def test_without_an_entry_point_there_is_nothing_to_look_at(judged):
    found = judged(GUARDED, "torch-first", entry_point=False)
    assert (found.outcome, found.message) == ("unsupported", "fake_accel has no torch.backends entry point")


def test_a_profile_without_a_package_has_nothing_to_load(judged):
    assert judged(GUARDED, "torch-first", import_module=None).outcome == "unsupported"


def test_a_device_of_torch_has_nothing_to_load():
    found = autoload.perform(Context(torch.device("cpu"), Profile("cpu", "cpu"), None, 0), "torch-first")
    assert (found.outcome, found.message) == ("unsupported", "in-tree device, nothing to autoload")


def test_the_reproducer_is_what_ran():
    profile = Profile("fake", "npy", import_module="fake_accel")
    for order in ("torch-first", "package-first", "disabled"):
        text = autoload.script(profile, order)
        compile(text, order, "exec")
        assert 'torch.tensor([1.0, 2.0]).to("npy")' in text
        assert "{" not in text.replace("{found", "").replace("{left", "").replace("{name", "")
