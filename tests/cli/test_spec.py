"""`onboard spec`: what the suite declares, and how much of torch it covers."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from conformance.coverage.witnesses import read_witnesses, witnesses_path, write_witnesses
from conformance.data import specs_dir


@pytest.fixture
def other_suite(tmp_path, monkeypatch):
    """A copy of the suite that a test may change."""
    root = tmp_path / "specs"
    shutil.copytree(specs_dir(), root)
    monkeypatch.setattr("conformance.spec.suite.specs_dir", lambda: root)
    return root


def test_coverage_prints_the_denominators(in_process):
    ran = in_process("spec", "coverage", "--json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["schema"] == "onboard/coverage/1"
    found = {row["name"]: row for row in document["denominators"]}
    assert list(found) == ["opinfo", "core", "kernel", "backend", "aten"]
    if torch.__version__.startswith("2.13."):
        assert [found[name]["total"] for name in ("opinfo", "core", "kernel", "aten")] == [702, 193, 866, 3110]
    for row in found.values():
        assert 0 < row["reached"] <= row["inside"] == row["total"] - row["outside"]
    assert document["new_upstream"] == {"overloads": [], "opinfo": [], "gone": []}
    listed = document["missing"]["overloads"]
    for name in ("core", "kernel", "backend", "aten"):
        inside = [one for one in listed if name in one["denominators"] and one["rule"] is None]
        assert len(inside) == found[name]["inside"] - found[name]["reached"]
    assert all(one["why"] for one in listed if one["rule"])


def test_coverage_lists_what_is_missing_with_the_rule(in_process):
    ran = in_process("spec", "coverage", "--missing", "--of", "kernel")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "aten::cudnn_convolution  [kernel]  outside: other-devices" in lines
    assert "aten::mm.dtype  [kernel]  the host has no kernel to run it with" in lines
    assert any(line.endswith("no planned case calls it") for line in lines)
    assert not any(line.startswith("opinfo") for line in lines)


def test_an_unknown_denominator_is_a_usage_error(in_process):
    ran = in_process("spec", "coverage", "--of", "kernels")
    assert ran.code == 2
    assert "unknown denominator 'kernels'" in ran.err
    assert "kernel" in ran.err


def test_what_the_suite_does_not_know_is_new_upstream(in_process, other_suite):
    from conformance.spec.denominators import denominators_path, read_denominators, write_denominators

    path = denominators_path(other_suite, torch.__version__)
    known = read_denominators(path)
    fewer = tuple(one for one in known.overloads if one.name != "aten::add.Tensor")
    write_denominators(path, type(known)(known.torch, fewer, tuple(n for n in known.opinfo if n != "exp")))
    ran = in_process("spec", "coverage")
    assert ran.code == 0
    assert "new upstream: exp, aten::add.Tensor" in ran.out


def test_coverage_of_another_plan_is_not_passed_off(in_process, other_suite):
    path = witnesses_path(other_suite, torch.__version__)
    seen = read_witnesses(path)
    write_witnesses(path, type(seen)(seen.torch, "0" * 64, seen.overloads, seen.opinfo))
    ran = in_process("spec", "coverage", "--of", "core")
    assert ran.code == 1
    assert "not the frozen one: run `onboard spec freeze`" in ran.out


def test_without_a_measurement_nothing_is_claimed(in_process, other_suite):
    witnesses_path(other_suite, torch.__version__).unlink()
    ran = in_process("spec", "coverage", "--json")
    document = json.loads(ran.out)
    assert ran.code == 0
    assert document["measured"] is document["missing"] is None
    assert {row["percent"] for row in document["denominators"]} == {None}


def test_show_an_operator(in_process):
    document = json.loads(in_process("spec", "show", "relu", "--json").out)
    assert (document["operator"], document["family"]) == ("nn.functional.relu", "activation")
    assert document["cases"]["operators.forward"]["float32"] > 0
    assert document["dtypes"]["float32"]["rung"]
    assert "nn.functional.relu: activation" in in_process("spec", "show", "nn.functional.relu").out


def test_show_an_overload(in_process):
    reached = json.loads(in_process("spec", "show", "aten::exp", "--json").out)
    assert reached["reached_by"].startswith("operators.")
    assert reached["entries"] == ["exp"]
    assert "outside      other-devices: " in in_process("spec", "show", "aten::cudnn_convolution").out


@pytest.mark.parametrize(("name", "near"), [("softmx", "softmax"), ("aten::exq", "aten::exp")])
def test_show_something_unknown(in_process, name, near):
    ran = in_process("spec", "show", name)
    assert ran.code == 2
    assert near in ran.err
