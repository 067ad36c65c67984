"""What `onboard conform` says of the template as it is: where operators run, and that it reaches bring-up."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

OPERATORS = "a[dt][da]*"  # add, and atan2 for which there is no kernel


def test_a_kernel_is_native_and_a_missing_one_falls_back(backend, tmp_path):
    measured = backend.conform(tmp_path, "--ops", OPERATORS, "--dtypes", "float32")
    assert measured.executions("add") == {"native"}
    assert measured.executions("atan2") == {"fallback"}


def test_without_the_fallback_a_missing_kernel_is_absent(backend, tmp_path):
    measured = backend.conform(tmp_path, "--ops", OPERATORS, "--dtypes", "float32", TORCH_TRN_CPU_FALLBACK="0")
    assert measured.executions("add") == {"native"}
    assert measured.executions("atan2") == {"absent"}
    assert measured.report["execution"]["fallback"] == 0
    assert measured.report["execution"]["absent"] > 0


def test_the_template_passes_bring_up(backend, tmp_path):
    measured = backend.conform(tmp_path, "--level", "bring-up", timeout=600)
    assert measured.report["findings"] == []
    assert measured.report["verdict"] == "pass"
    assert measured.code == 0
