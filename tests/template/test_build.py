"""The template builds without a warning, loads by itself, and passes the tests that it comes with."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow

MATMUL = "import torch; print((torch.ones(2, 2, device='trn') @ torch.ones(2, 2, device='trn')).cpu().tolist())"


def test_every_file_is_compiled_with_warnings_on_and_none_appears(backend):
    (compiled,) = backend.package.glob("build/*/compile_commands.json")
    commands = [entry["command"] for entry in json.loads(compiled.read_text(encoding="utf-8"))]
    assert commands
    assert all(" -Wall " in command and " -Wextra " in command and " -w " not in command for command in commands)
    assert "Building CXX object" in backend.log, "the log holds the compiler's output"
    assert "warning:" not in backend.log


@pytest.mark.parametrize("before", ["", "import torch_trn; "])
def test_a_matmul_needs_no_other_import(backend, tmp_path, before):
    done = backend.run("-W", "error", "-c", before + MATMUL, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[2.0, 2.0], [2.0, 2.0]]\n"


def test_the_package_passes_its_own_tests(backend):
    # Two at a time: most of the time goes into the kernels that torch.compile has the host's compiler build.
    done = backend.run("-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", cwd=backend.package, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
