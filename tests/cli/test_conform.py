"""`onboard conform` with bad input: one clear error, the right exit code, and nothing lost."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.device import resolve

PYDEVICE = Path(__file__).parents[1] / "device" / "pydevice.py"


@pytest.fixture
def conform(in_process, tmp_path):
    def call(*arguments, device="cpu"):
        return in_process("conform", "--device", device, "--out", str(tmp_path / "out"), *arguments)

    return call


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("--level", "bringup"), "unknown level 'bringup'", "did you mean bring-up"),
        (("--checks", "runtime.copys"), "unknown check 'runtime.copys'", "did you mean runtime.copies"),
        (("--ops", "sofmax"), "unknown operator 'sofmax'", "did you mean softmax"),
        (("--dtypes", "float32,bfloat61"), "unknown dtype 'bfloat61'", "did you mean bfloat16"),
        (("--checks", "runtime.*", "--ops", "softmax"), "the selection selects nothing", "matches them all"),
        (("--ops", "bitwise_and", "--dtypes", "float32"), "the selection selects nothing", "matches them all"),
    ],
)
def test_a_selection_that_makes_no_sense_is_2_and_writes_nothing(conform, tmp_path, arguments, error, hint):
    ran = conform(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert hint in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()


def test_an_unknown_device_gets_a_suggestion(conform):
    ran = conform(device="cpuu")
    assert ran.code == 2
    assert "unknown device 'cpuu'" in ran.err
    assert "did you mean cpu" in ran.err


def test_a_device_that_is_not_installed_is_3_with_its_profile_and_what_to_run_without_it(conform, monkeypatch):
    monkeypatch.setattr(resolve, "entry_points", lambda group: [])
    ran = conform(device="trn")
    assert ran.code == 3
    for said in ("torch_neuronx", "specs/devices/trn.yaml", "'neuron'", "onboard new-backend trn", "--device cpu"):
        assert said in ran.err


def test_an_unwritable_output_is_3(in_process, tmp_path):
    (tmp_path / "file").touch()
    ran = in_process("conform", "--device", "cpu", "--ops", "relu", "--out", str(tmp_path / "file" / "out"))
    assert ran.code == 3
    assert "cannot write" in ran.err
    assert "--out" in ran.err


def test_a_folder_with_other_files_is_2_and_stays_as_it_was(in_process, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    ran = in_process("conform", "--device", "cpu", "--ops", "relu", "--out", str(tmp_path))
    assert ran.code == 2
    assert "thesis.tex" in ran.err
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def backend(name, code, **files):
    module = f"torch_{name}"
    entries = f"[torch.backends]\n{name} = {module}:_autoload\n[onboard.profiles]\n{name} = {module}:onboard.yaml\n"
    profile = f"profile: {name}\ndevice: {name}\nvendor: Example\nsimulated: true\npackage: {{import: {module}}}\n"
    texts = {"__init__.py": code, "onboard.yaml": profile, **files}
    return (f"torch-{name}", "1.0", entries, {f"{module}/{path}": text for path, text in texts.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("raises", "raise ImportError('libraises.so.3: cannot open shared object file')", "libraises.so.3"),
        ("exits", "import sys; sys.exit(7)", "SystemExit"),
        ("vanishes", "import os; os._exit(5)", "exit code 5"),
        ("segfaults", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("registers_nothing", "def _autoload(): pass", "torch has no device 'registers_nothing'"),
    ],
)
def test_a_backend_that_does_not_come_up_is_3_and_says_why(onboard, install, tmp_path, name, code, said):
    path = install(backend(name, code))
    ran = onboard("conform", "--device", name, "--out", str(tmp_path / "out"), "--json", PYTHONPATH=path)
    assert (ran.code, ran.out) == (3, "")
    assert said in ran.err
    assert ran.err.count("error:") == 1
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_a_second_backend_beside_the_first_is_not_even_imported(onboard, install, tmp_path):
    first = backend(
        "npy", "from torch_npy import pydevice\npydevice.register()\ndef _autoload(): pass\n",
        **{"pydevice.py": PYDEVICE.read_text(encoding="utf-8")},
    )  # fmt: skip
    path = install(first, backend("other", "raise RuntimeError('imported')"))
    ran = onboard(
        "conform", "--device", "npy", "--checks", "operators.forward", "--ops", "relu", "--dtypes", "float32",
        "--workers", "1", "--out", str(tmp_path / "out"), "--json", PYTHONPATH=path,
    )  # fmt: skip
    outcomes = json.loads(ran.out)["outcomes"]
    assert outcomes["error"] > 0  # a device of eight kernels has none for these inputs, and says so
    assert outcomes["crash"] == outcomes["missing"] == outcomes["timeout"] == 0
    assert json.loads((tmp_path / "out" / "environment.json").read_text())["device"]["type"] == "npy"


@pytest.mark.slow
def test_what_failed_is_run_again_alone(onboard, install, tmp_path):
    path = install(backend(
        "npy", "from torch_npy import pydevice\npydevice.register()\ndef _autoload(): pass\n",
        **{"pydevice.py": PYDEVICE.read_text(encoding="utf-8")},
    ))  # fmt: skip
    named = ("--device", "npy", "--workers", "1", "--out", str(tmp_path / "out"), "--json")
    selected = ("--checks", "runtime.[mc]*")
    first = json.loads(onboard("conform", *named, *selected, PYTHONPATH=path).out)
    failed = first["planned"] - first["outcomes"]["pass"]
    assert 0 < failed < first["planned"]
    again = onboard("conform", *named, "--last-failed", PYTHONPATH=path)
    report = json.loads(again.out)
    assert again.code == 1
    assert report["narrowed"] is True
    assert report["planned"] == failed
    assert report["outcomes"]["pass"] == 0
    nothing = onboard("conform", "--device", "npy", "--last-failed", "--out", str(tmp_path / "none"), PYTHONPATH=path)
    assert nothing.code == 2
    assert "holds no results" in nothing.err


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured_and_signs_nothing(onboard, tmp_path):
    out, key, secret = tmp_path / "out", tmp_path / "key.pem", tmp_path / "passphrase"
    secret.write_text("a long passphrase")
    secret.chmod(0o600)
    named = ("--name", "Example", "--devices", "cpu", "--passphrase-file", str(secret))
    assert onboard("key", "new", "--out", str(key), *named).code == 0
    command = [sys.executable, "-m", "onboard", "conform", "--device", "cpu", "--ops", "*", "--json", "--out", str(out)]
    running = subprocess.Popen(
        [*command, "--key", str(key), "--passphrase-file", str(secret)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    journal = out / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size > 100_000):
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    printed, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert "was not signed" in said
    assert "Traceback" not in said
    report = json.loads(printed)
    with gzip.open(out / "results.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    missing = sum(row["outcome"] == "missing" for row in rows)
    assert report["verdict"] == "incomplete"
    assert report["complete"] is False
    assert len(rows) == report["planned"] == sum(report["outcomes"].values())
    assert 0 < missing < len(rows)
    assert "missing" not in {finding["outcome"] for finding in report["findings"]}  # nobody's fault
    assert not (out / "report.dsse.json").exists()
    assert onboard("verify", str(out), "--trust", str(tmp_path / "none.toml")).code != 0


@pytest.mark.slow
def test_a_smoke_run_says_that_it_judges_no_level(onboard, tmp_path):
    ran = onboard("conform", "--device", "cpu", "--smoke", "--json", "--out", str(tmp_path / "out"))
    report = json.loads(ran.out)
    assert ran.code == 0
    assert report["narrowed"] is True
    assert 100 < report["planned"] == report["outcomes"]["pass"] + report["outcomes"]["unsupported"]
