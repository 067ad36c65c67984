"""`onboard needs` and `conform --model`: the answer, its form, and what is said of what is not a model."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MODELS = TESTS / "needs" / "models.py"

#: A device that is wrong, dead, slow and incomplete, each in one operator of the model `inference`.
BACKEND = """
import os, signal
import numpy as np
import torch
import pydevice

pydevice.register()
pydevice.serve("abs", lambda tensor: pydevice.wrap(np.abs(pydevice.payload(tensor)) * np.float32(1.001)))
pydevice.serve("exp", lambda tensor: os.kill(os.getpid(), signal.SIGSEGV))
pydevice.serve("cos", pydevice.by_to_cpu(torch.ops.aten.cos.default))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backend")
    (folder / "faulty_npy.py").write_text(BACKEND)
    return os.pathsep.join([str(folder), str(TESTS / "device"), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture(scope="module")
def surveyed(onboard, path):
    """The model on the faulty device, as data and as a page."""
    command = ("needs", f"{MODELS}:inference", "--device", "npy", "--import", "faulty_npy")
    return onboard(*command, "--json", PYTHONPATH=path), onboard(*command, PYTHONPATH=path, COLUMNS="80")


def test_a_model_that_is_served_is_0(onboard):
    ran = onboard("needs", f"{MODELS}:mlp", "--device", "cpu", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["ok"] is True
    assert found["counts"]["overloads"] == {"total": len(found["overloads"]), "served": len(found["overloads"])}
    mm = next(need for need in found["overloads"] if need["overload"] == "aten::mm")
    assert (mm["calls"], mm["dtypes"], mm["answer"]) == (
        {"forward": 0, "backward": 3, "compiled": 3}, ["float32"], "right",
    )  # fmt: skip
    assert found["first"] == []
    assert found["whole"]["answer"] == "right"
    assert (found["compiled"], found["failed"]) == ({"graphs": 1, "breaks": []}, {})


def test_each_overload_is_served_and_answered_as_it_is(surveyed):
    ran, _ = surveyed
    assert ran.code == 1
    found = {need["overload"]: need for need in json.loads(ran.out)["overloads"]}
    seen = {name.removeprefix("aten::"): (need["execution"], need["answer"]) for name, need in found.items()}
    assert seen == {
        "add.Tensor": ("native", "right"),
        "relu": ("native", "right"),
        "abs": ("native", "wrong"),
        "cumsum": ("absent", "not measured"),
        "exp": ("native", "crash"),  # by the table: a dead call shows nothing
        "cos": ("fallback", "right"),
    }
    assert found["aten::exp"]["message"] == "the process died: SIGSEGV"
    assert found["aten::exp"]["by_table"] is True
    assert "where" in found["aten::abs"]["message"]


def test_what_blocks_comes_first_and_what_falls_back_last(surveyed):
    document = json.loads(surveyed[0].out)
    assert [(t["overload"], t["do"], t["calls"], t["blocks"]) for t in document["first"]] == [
        ("aten::abs", "correct", 1, True),
        ("aten::cumsum.out", "implement", 1, True),
        ("aten::exp", "repair", 1, True),
        ("aten::cos", "make native", 1, False),
    ]
    assert document["whole"]["answer"] == "not measured"
    assert document["whole"]["message"] == "it can't run: aten::cumsum, aten::exp"
    assert document["listened_as"] == "npy"


def test_the_page_fits_80_columns_without_colour(surveyed):
    _, ran = surveyed
    assert ran.code == 1
    assert "\x1b" not in ran.out
    table, _, rest = ran.out.partition("\n\n")
    assert max(map(len, table.splitlines())) <= 80
    assert table.splitlines()[0].split() == ["overload", "fwd", "bwd", "comp", "dtypes", "served", "answer"]
    assert "aten::exp: crash: the process died: SIGSEGV" in rest
    assert "    1  implement    aten::cumsum.out  (from aten::cumsum)" in rest
    assert "npy (npy) serves 2 of 6 overloads of models.py:inference itself and right" in rest
    assert rest.splitlines()[-1] == "next: correct aten::abs: 1 call of the model waits for it"


def test_what_cannot_be_compiled_is_said(onboard, tmp_path):
    file = tmp_path / "eager.py"
    file.write_text(
        "import torch\n"
        "class Eager(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        if torch.compiler.is_compiling():\n"
        "            return torch.mm(x, x[:1])\n"
        "        return x + 1\n"
        "def build():\n    return Eager(), (torch.ones(3, 3),)\n"
    )
    ran = onboard("needs", f"{file}:build", "--device", "cpu", "--json")
    assert ran.code == 1
    assert set(json.loads(ran.out)["failed"]) == {"compiled"}
    ran = onboard("needs", f"{file}:build", "--device", "cpu", "--no-compile")
    assert ran.code == 0, ran.out
    assert "not compiled: --no-compile" in ran.out


@pytest.mark.parametrize(
    ("model", "error", "hint"),
    [
        ("none.py:build", "no file none.py", "MODEL.py:build names a Python file"),
        (str(MODELS), "does not name a function", "write MODEL.py:build"),
        (f"{MODELS}:mlp:", "does not name a function", "write MODEL.py:build"),
    ],
)
@pytest.mark.parametrize("command", ["needs", "conform"])
def test_what_is_no_target_is_2_at_once(in_process, tmp_path, command, model, error, hint):
    arguments = (model,) if command == "needs" else ("--model", model, "--out", str(tmp_path / "out"))
    ran = in_process(command, *arguments, "--device", "cpu")
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert hint in ran.err


def test_an_unknown_device_is_2_and_an_absent_one_3(in_process):
    ran = in_process("needs", f"{MODELS}:mlp", "--device", "cpuu")
    assert ran.code == 2
    assert "did you mean cpu" in ran.err
    ran = in_process("needs", f"{MODELS}:mlp", "--device", "vulkan", "--import", "nothing_of_that_name")
    assert ran.code == 3


@pytest.mark.parametrize(
    ("model", "error", "hint"),
    [
        ("raising", "the model raises on the host: RuntimeError: mat1 and mat2", "return x @ torch.ones(7, 7)"),
        ("deadly", "its process died: SIGSEGV", "in forward"),
        ("bare", "bare in models.py returns Linear, not (module, args)", "(module, args, kwargs)"),
    ],
)
def test_a_model_that_the_host_cannot_run_is_2(in_process, model, error, hint):
    ran = in_process("needs", f"{MODELS}:{model}", "--device", "cpu")
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert hint in ran.err
    assert "Traceback" not in ran.err


def test_a_backend_that_does_not_load_is_3(onboard, tmp_path):
    (tmp_path / "broken_backend.py").write_text("raise OSError('libdriver.so: not found')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = onboard("needs", f"{MODELS}:mlp", "--device", "npy", "--import", "broken_backend", PYTHONPATH=path)
    assert ran.code == 3
    assert "the backend can't be loaded: OSError: libdriver.so: not found" in ran.err


@pytest.mark.slow
def test_conform_takes_the_groups_of_the_model_and_holds_no_level(onboard, tmp_path):
    command = ("conform", "--device", "cpu", "--model", f"{MODELS}:mlp", "--json", "--out", str(tmp_path / "out"))
    ran = onboard(*command, "--workers", "1")
    report = json.loads(ran.out)
    assert ran.code == 0, ran.err
    assert report["narrowed"] is True
    assert {"mm", "addmm", "nn.functional.relu", "sum"} <= operators(tmp_path / "out")
    assert report["planned"] < 2000  # of 135,000
    assert "no group reaches 1 of them: aten::threshold_backward" in ran.err


def operators(out):
    (results,) = out.glob("results.jsonl*")
    with gzip.open(results, "rt", encoding="utf-8") as lines:
        return {json.loads(line)["operator"] for line in lines}
