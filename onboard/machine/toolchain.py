"""What a backend is compiled with, tried rather than looked up."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

from onboard.machine.check import Check

_PROGRAM = "#include <optional>\nint main() { if constexpr (true) { std::optional<int> x{0}; return *x; } }\n"
_COMPILERS = ("c++", "g++", "clang++")
_HOW_COMPILER = "install g++ 9 or newer (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++), or set CXX"
_DEADLINE = 60


def check_python() -> Check:
    """Python is new enough when this runs at all; which one it is decides where everything else is looked for."""
    return Check("python", "ok", f"{platform.python_version()} ({sys.executable})")


def check_system() -> Check:
    system = platform.system()
    if system != "Linux":
        return Check("system", "warning", f"{system} is not tried", "conformance runs are made for Linux")
    return Check("system", "ok", f"Linux {platform.machine()}, {os.cpu_count()} processors")


def check_compiler() -> Check:
    """A C++17 program is compiled and run: a compiler that is found may still lack its library or its linker."""
    command = _compiler()
    if command is None:
        wanted = os.environ.get("CXX") or ", ".join(_COMPILERS)
        return Check("compiler", "missing", f"no C++ compiler: {wanted} not found on PATH", _HOW_COMPILER)
    shown = shlex.join(command)
    with tempfile.TemporaryDirectory(prefix="onboard-compiler-") as folder:
        source, program = Path(folder, "try.cpp"), Path(folder, "try")
        source.write_text(_PROGRAM, encoding="utf-8")
        failure = _attempt([*command, "-std=c++17", str(source), "-o", str(program)]) or _attempt([str(program)])
    if failure is not None:
        detail = f"{shown} does not build a C++17 program that runs"
        return Check("compiler", "broken", detail, _HOW_COMPILER, failure)
    return Check("compiler", "ok", f"{shown}: {_first_line([*command, '--version'])}")


def check_headers() -> Check:
    """Python.h, which distributions ship apart from Python."""
    folder = Path(sysconfig.get_paths()["include"])
    if not (folder / "Python.h").is_file():
        return Check(
            "python-headers", "missing", f"no Python.h in {folder}",
            "install Python's development files (Debian, Ubuntu: apt install python3-dev)",
        )  # fmt: skip
    return Check("python-headers", "ok", str(folder))


def check_ninja() -> Check:
    return _tool("ninja", needed=True, how="pip install ninja")


def check_cmake() -> Check:
    return _tool("cmake", needed=False, how="pip install cmake, if your backend builds with it")


def check_distributions() -> list[Check]:
    """The Python packages without which nothing can be measured: OpInfo imports numpy and expecttest."""
    return [_distribution(name) for name in ("numpy", "expecttest")]


def _compiler() -> list[str] | None:
    """CXX may carry a launcher or flags (`ccache g++`)."""
    wanted = os.environ.get("CXX")
    if wanted:
        words = shlex.split(wanted)
        return words if words and shutil.which(words[0]) else None
    return next(([name] for name in _COMPILERS if shutil.which(name)), None)


def _attempt(command: list[str]) -> str | None:
    """None when the command succeeds, else what it said."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_DEADLINE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).decode("utf-8", errors="replace").strip()
    return said[-2000:] or f"exit code {done.returncode}"


def _tool(name: str, *, needed: bool, how: str) -> Check:
    beside = Path(sys.executable).parent / name  # in an environment that is used without being activated
    path = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else None)
    if path is None:
        return Check(name, "missing" if needed else "warning", "not found", how)
    failure = _attempt([path, "--version"])
    if failure is not None:
        return Check(name, "broken" if needed else "warning", f"{path} does not run", how, failure)
    return Check(name, "ok", f"{_first_line([path, '--version'])} ({path})")


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_DEADLINE, check=False)
    lines = done.stdout.decode("utf-8", errors="replace").strip().splitlines()
    return lines[0] if lines else "no version given"


def _distribution(name: str) -> Check:
    try:
        return Check(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, "missing", "not installed; PyTorch's operator samples need it", f"pip install {name}")
