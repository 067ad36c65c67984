"""The denominators on file are those of the installed torch, and every rule that cuts them says what it cuts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conformance.coverage.installed import installed, kernel_keys
from conformance.device.census import census
from conformance.errors import UsageError
from conformance.inputs.catalogue import entries
from conformance.spec.denominators import (
    PARTS,
    Denominators,
    Overload,
    Rule,
    denominators_path,
    load_rules,
    nearest,
    read_denominators,
    rule_for,
    write_denominators,
)
from conformance.spec.suite import load_suite


@pytest.fixture(scope="module")
def suite():
    return load_suite()


@pytest.fixture(scope="module")
def rules(suite):
    return load_rules(suite.root)


@pytest.fixture(scope="module")
def now(rules):
    return installed(rules)


def test_every_overload_and_every_entry_of_the_installed_torch_is_on_file(suite, now):
    """Fails for a newer torch: what it adds is new upstream until the suite takes it up."""
    known = nearest(suite.root, torch.__version__)
    assert not {one.name for one in now.overloads} - {one.name for one in known.overloads}
    assert not set(now.opinfo) - set(known.opinfo)


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="the file is that of torch 2.13")
def test_the_file_says_what_the_dispatcher_says(suite, now):
    assert read_denominators(denominators_path(suite.root, torch.__version__)) == now


def test_every_entry_of_the_catalogue_is_an_entry_of_the_suite(suite):
    assert not set(entries()) - set(suite.operators)


def test_the_parts_are_those_of_the_census(now):
    taken = census("PrivateUse2")
    assert [one.name for one in now.part("kernel")] == list(taken.needs_kernel)
    assert [one.name for one in now.part("core")] == list(taken.core)
    assert len(now.part("backend")) == taken.total - taken.counts["math"]
    assert len(now.part("aten")) == taken.total


def test_no_core_overload_is_outside(now):
    assert [one.name for one in now.part("core") if one.rule is not None] == []


def test_what_the_host_can_run(now):
    host = {one.name: one.host for one in now.overloads}
    assert [host[f"aten::{name}"] for name in ("mm", "mm.dtype", "linear", "clone")] == [True, False, True, True]


def test_every_rule_cuts_something(now, rules):
    assert {one.rule for one in now.overloads} - {None} == {rule.id for rule in rules}


def test_every_glob_of_a_rule_fits_something(now, rules):
    names = [one.name.removeprefix("aten::") for one in now.overloads]
    idle = [
        (rule.id, glob)
        for rule in rules
        for glob in rule.names
        if not any(replace_names(rule, glob).fits(n, ()) for n in names)
    ]
    assert idle == []


def replace_names(rule, glob):
    return replace(rule, names=(glob,), only=frozenset())


def test_what_is_called_deprecated_has_no_entry_in_the_catalogue(now):
    cut = {one.name.removeprefix("aten::").partition(".")[0] for one in now.overloads if one.rule == "deprecated"}
    assert "range" in cut
    assert not cut & set(entries())


def test_keys_are_those_with_a_kernel():
    assert kernel_keys("aten::_dimI") == {"SparseCPU"}
    assert kernel_keys("aten::linear_backward") == {"NestedTensorCPU", "NestedTensorHPU"}
    assert "CPU" in kernel_keys("aten::mm")
    assert not kernel_keys("aten::_thnn_fused_lstm_cell")


def test_the_first_rule_that_fits_counts():
    rules = (Rule("a", "", ("mm*",)), Rule("b", "", only=frozenset({"SparseCPU"})), Rule("c", "", ("*",)))
    assert rule_for(rules, "aten::mm.out", {"SparseCPU"}) == "a"
    assert rule_for(rules, "aten::hspmm", {"SparseCPU"}) == "b"
    assert rule_for(rules, "aten::add", {"SparseCPU", "CPU"}) == "c"
    assert rule_for(rules[:2], "aten::add", ()) is None, "without a kernel anywhere it is not for some keys only"


FEW = Denominators(
    "2.13",
    (
        Overload("aten::add.Tensor", "default", core=True),
        Overload("aten::add.out", "kernel", core=False),
        Overload("aten::linear", "math", core=False),
        Overload("aten::cudnn_convolution", "kernel", core=False, rule="other-devices", host=False),
    ),
    ("add", "nn.functional.linear"),
)


def test_parts():
    assert {part: len(FEW.part(part)) for part in PARTS} == {"core": 1, "kernel": 2, "backend": 3, "aten": 4}


def test_they_read_back(tmp_path):
    path = denominators_path(tmp_path, "2.13.0+cpu")
    write_denominators(path, FEW)
    assert read_denominators(path) == FEW


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("overload aten::add.out kernel - host -\n", ""),
        ("opinfo add\n", ""),
        ("aten::add.out kernel", "aten::add.out math"),
        ("- other-devices", "- -"),
        ("digest ", "digits "),
    ],
)
def test_a_trimmed_file_is_refused(tmp_path, old, new):
    path = denominators_path(tmp_path, "2.13")
    write_denominators(path, FEW)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError):
        read_denominators(path)


def test_a_newer_torch_is_compared_with_the_newest_before_it(tmp_path):
    for minor in ("2.9", "2.13"):
        write_denominators(denominators_path(tmp_path, minor), replace(FEW, torch=minor))
    assert nearest(tmp_path, "2.14.1").torch == "2.13"
    assert nearest(tmp_path, "2.12.0").torch == "2.9"
    assert nearest(tmp_path, "2.8.0") is None


def test_a_rule_that_can_fit_nothing_is_refused(tmp_path):
    (tmp_path / "denominators").mkdir()
    (tmp_path / "denominators" / "rules.yaml").write_text("rules:\n  idle:\n    why: For no reason.\n")
    with pytest.raises(UsageError, match="fits nothing"):
        load_rules(tmp_path)
