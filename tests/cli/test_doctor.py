"""`onboard doctor` tells what is missing, and survives every backend that it looks at."""

from __future__ import annotations

import importlib
import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from onboard.machine import doctor, entrypoints, toolchain
from onboard.machine.child import Answer, ask
from onboard.machine.doctor import check_autoload, check_backends, check_samples, check_torch
from onboard.machine.entrypoints import Entry, Loaded
from onboard.machine.show import doctor_document, doctor_lines

RENAMES = """
import torch
def _autoload():
    torch.utils.rename_privateuse1_backend({name!r})
"""
PROFILE = "profile: alpha\ndevice: alpha\nvendor: Alpha\nsimulated: true\n"


def _backend(name, code, *, profile=None):
    module = f"torch_{name}"
    entries = f"[torch.backends]\n{module} = {module}:_autoload\n"
    files = {f"{module}/__init__.py": code}
    if profile is not None:
        entries += f"[onboard.profiles]\n{name} = {module}:onboard.yaml\n"
    if profile:
        files[f"{module}/onboard.yaml"] = profile
    return (f"torch-{name}", "1.0", entries, files)


@pytest.fixture(scope="module")
def examined(onboard, install):
    """What doctor says with seven backends at once, six of them bad; `import torch` itself fails with them."""
    path = install(
        _backend("alpha", RENAMES.format(name="alpha"), profile=PROFILE),
        _backend("beta", RENAMES.format(name="beta"), profile=""),
        _backend("raises", "raise ImportError('libraises.so.3: cannot open shared object file')"),
        _backend("exits", "import sys; sys.exit(7)"),
        _backend("vanishes", "import os; os._exit(5)"),
        _backend("segfaults", "import ctypes; ctypes.string_at(0)"),
        _backend("lacks", "pass", profile="profile: lacks\ndevice: lacks\nnonsense: 1\n"),
    )
    ran = onboard("doctor", "--json", PYTHONPATH=path)
    return ran, {check["id"]: check for check in json.loads(ran.out)["checks"]}


def test_bad_backends_make_the_machine_unfit(examined):
    ran, _ = examined
    assert ran.code == 3
    assert json.loads(ran.out)["ok"] is False
    assert json.loads(ran.out)["schema"] == "onboard/doctor/1"


def test_a_good_backend_is_ok_with_its_device(examined):
    check = examined[1]["torch.backends:torch_alpha"]
    assert check["status"] == "ok"
    assert "device alpha" in check["detail"]
    assert "torch-alpha" in check["detail"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raises", "libraises.so.3: cannot open shared object file"),
        ("exits", "SystemExit: 7"),
        ("vanishes", "exit code 5"),
        ("segfaults", "SIGSEGV"),
        ("lacks", "AttributeError"),
    ],
)
def test_a_backend_that_cannot_be_loaded_says_why(examined, name, said):
    check = examined[1][f"torch.backends:torch_{name}"]
    assert check["status"] == "broken"
    assert said in check["detail"]
    assert f"torch-{name}" in check["hint"]


def test_the_traceback_is_the_real_one(examined):
    trace = examined[1]["torch.backends:torch_raises"]["trace"]
    assert "torch_raises/__init__.py" in trace
    assert trace.rstrip().endswith("ImportError: libraises.so.3: cannot open shared object file")


def test_two_backends_that_want_privateuse1_are_named_as_the_limit_of_one(examined):
    check = examined[1]["privateuse1"]
    assert check["status"] == "broken"
    assert "alpha (torch-alpha)" in check["detail"]
    assert "beta (torch-beta)" in check["detail"]
    assert "one per process" in check["detail"]


def test_profiles_are_read_without_importing_their_packages(examined):
    checks = examined[1]
    assert checks["onboard.profiles:alpha"]["status"] == "ok"
    assert "SIMULATED DEVICE" in checks["onboard.profiles:alpha"]["detail"]
    assert checks["onboard.profiles:beta"]["status"] == "broken"
    assert "no such file" in checks["onboard.profiles:beta"]["detail"]
    assert "nonsense" in checks["onboard.profiles:lacks"]["detail"]


def test_torch_is_seen_without_its_backends_and_fails_with_them(examined):
    checks = examined[1]
    assert checks["torch"]["status"] == "ok"
    assert checks["opinfo"]["status"] == "ok"
    assert checks["autoload"]["status"] == "broken"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD=0" in checks["autoload"]["hint"]


def test_no_compiler_is_said_with_the_remedy(onboard, tmp_path):
    ran = onboard("doctor", PATH=str(tmp_path), CXX=None)
    assert ran.code == 3
    (line,) = (line for line in ran.out.splitlines() if " compiler " in line)
    assert "missing" in line
    assert "no C++ compiler" in line
    assert "get it: install g++" in ran.out
    assert "to repair: compiler" in ran.out
    assert "\x1b" not in ran.out


def test_a_machine_that_has_everything_is_0():
    checks = [*doctor.toolchain.check_distributions(), toolchain.check_python(), toolchain.check_compiler()]
    assert not any(check.unfit for check in checks)
    assert doctor_document(checks)["ok"] is True
    assert [line.text for line in doctor_lines(checks)][-1] == "this machine has what a backend needs"


def _program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_compiler_that_does_not_compile_is_broken_with_what_it_said(monkeypatch, tmp_path):
    compiler = _program(tmp_path / "g++", 'echo "cannot find -lstdc++" >&2; exit 1')
    monkeypatch.setenv("CXX", str(compiler))
    check = toolchain.check_compiler()
    assert check.status == "broken"
    assert check.trace == "cannot find -lstdc++"


def test_a_compiler_whose_programs_do_not_run_is_broken(monkeypatch, tmp_path):
    script = 'while [ "$1" != "-o" ]; do shift; done; printf "#!/bin/sh\\nexit 3\\n" > "$2"; chmod +x "$2"'
    monkeypatch.setenv("CXX", str(_program(tmp_path / "cxx", script)))
    check = toolchain.check_compiler()
    assert (check.status, check.trace) == ("broken", "exit code 3")


def test_cxx_may_carry_flags(monkeypatch):
    monkeypatch.setenv("CXX", "g++ -O1")
    assert toolchain.check_compiler().status == "ok"
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    assert toolchain.check_compiler().status == "missing"


def test_missing_headers_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    assert toolchain.check_headers().status == "missing"


def test_a_missing_distribution_is_missing_with_its_pip_line(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(toolchain.metadata, "version", version)
    assert [(c.id, c.status, c.hint) for c in toolchain.check_distributions()] == [
        ("numpy", "missing", "pip install numpy"),
        ("expecttest", "missing", "pip install expecttest"),
    ]


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (Answer(error="ModuleNotFoundError: No module named 'torch'"), "missing", "not installed"),
        (Answer(error="OSError: libtorch.so", detail="trace"), "broken", "libtorch.so"),
        (Answer({"version": "2.8.0", "build": "CPU", "headers": True}), "broken", "too old"),
        (Answer({"version": "2.13.0+cpu", "build": "CPU", "headers": False}), "broken", "headers"),
        (Answer({"version": "2.13.0+cpu", "build": "CPU", "headers": True}), "ok", "CPU build"),
    ],
)
def test_torch_is_judged(answer, status, said):
    check = check_torch(answer)
    assert check.status == status
    assert said in check.detail
    assert (check.hint is None) == (status == "ok")


def test_one_backend_is_not_two():
    entry = Entry(entrypoints.BACKENDS, "a", "torch_a:_autoload", "torch-a")
    dynamo = Entry(entrypoints.DYNAMO, "a", "torch_a:backend", "torch-a")
    loaded = [Loaded(one, Answer({"privateuse1": "a"})) for one in (entry, dynamo)]
    assert [check.status for check in check_backends(loaded)] == ["ok", "ok"]


def test_no_backend_is_only_worth_a_warning():
    (check,) = check_backends([])
    assert check.status == "warning"
    assert "new-backend" in check.hint


def test_failures_of_torch_itself_keep_their_trace():
    for judge in (check_samples, check_autoload):
        check = judge(Answer(error="boom", detail="the trace"))
        assert (check.status, check.trace) == ("broken", "the trace")


def test_a_probe_that_hangs_is_ended_with_its_children(monkeypatch, tmp_path):
    """The child starts a process of its own; neither outlives the deadline."""
    note = tmp_path / "pid"
    (tmp_path / "torch.py").write_text(
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(note)!r}, 'w').write(str(p.pid)); print('busy', flush=True); time.sleep(600)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    answer = ask("torch", deadline=4)
    assert answer.error == "no answer after 4 seconds"
    assert "busy" in answer.detail
    assert _ends(int(note.read_text()), within=10)


def _ends(pid, within):
    """Whether a process ends in so many seconds: a kill is delivered when the machine comes to it, not at once."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            line = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
        except FileNotFoundError:
            return True
        if line.rpartition(")")[2].split()[0] == "Z":  # dead, and not yet reaped by its new parent
            return True
        time.sleep(0.05)
    return False


def test_a_probe_may_print_what_it_likes(install, monkeypatch):
    code = "import os\nos.write(1, b'{\"error\": 1}\\n')\ndef _autoload():\n    print('{')\n"
    monkeypatch.syspath_prepend(install(_backend("prints", code)).split(os.pathsep)[0])
    argument = json.dumps(["torch.backends", "torch_prints", "torch_prints:_autoload"])
    assert ask("entry-point", argument) == Answer({"privateuse1": None})


def test_the_working_directory_does_not_shadow_torch(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise RuntimeError('the wrong torch')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in {"", "."}])
    assert ask("torch").error is None


def test_a_question_that_no_probe_knows_is_an_error():
    assert ask("no-such-probe").error == "KeyError: 'no-such-probe'"
