"""`MODEL.py:build`: what is taken, and what is said of what is not."""

from __future__ import annotations

import sys

import pytest
import torch

from conformance.errors import UsageError
from conformance.needs.model import Target, build, parse_target
from conformance.needs.passes import run_plainly


@pytest.fixture(autouse=True)
def imports(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_model_is_a_module_its_arguments_and_keywords(target):
    made = build(target("block"))
    assert isinstance(made.module, torch.nn.Module)
    assert [tuple(a.shape) for a in made.args] == [(2, 5, 16)]
    assert made.kwargs == {"scale": 0.5}
    assert build(target("mlp")).kwargs == {}


def test_a_model_is_built_the_same_each_time(target):
    first, second = build(target("mlp")), build(target("mlp"))
    assert all(torch.equal(a, b) for a, b in zip(first.module.parameters(), second.module.parameters(), strict=True))
    assert torch.equal(first.args[0], second.args[0])


@pytest.mark.parametrize(
    ("function", "error", "hint"),
    [
        ("bare", "returns Linear, not (module, args)", "(module, args) or (module, args, kwargs)"),
        ("three_things", "returns tuple of 4, not (module, args)", "(module, args)"),
        ("no_module", "where the torch.nn.Module is due", "(module, args)"),
        ("no_tuple", "returns Tensor where the tuple of arguments is due", "(module, args)"),
        ("no_dictionary", "returns list of 1 where the dictionary", "(module, args)"),
        ("failing", "failing in models.py raises KeyError: 'weights'", "models.py, line"),
        ("with_argument", "missing 1 required positional argument", "without arguments"),
        ("mpl", "models.py has no function 'mpl'", "did you mean mlp"),
    ],
)
def test_what_is_no_model_is_said(target, function, error, hint):
    with pytest.raises(UsageError) as raised:
        build(target(function))
    assert error in raised.value.message
    assert hint in raised.value.hint


def test_a_file_that_cannot_be_imported_is_said_with_its_line(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("\nimport nothing_of_that_name\n")
    with pytest.raises(UsageError, match=r"broken\.py cannot be imported: ModuleNotFoundError") as raised:
        build(Target(file, "build"))
    assert "broken.py, line 2: import nothing_of_that_name" in raised.value.hint


@pytest.mark.parametrize("text", ["model.py", ":build", "model.py:", "model.py:a b", "none/of/that.py:build"])
def test_a_target_names_a_file_and_a_function(text):
    with pytest.raises(UsageError):
        parse_target(text)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("raising", "the model raises on the host: RuntimeError: mat1 and mat2 shapes"),
        ("overwriting", "the backward of the model raises on the host: RuntimeError: one of the variables"),
        ("numberless", "the model returns no tensor"),
    ],
)
def test_a_model_that_the_host_cannot_run_is_said(target, function, error):
    with pytest.raises(UsageError) as raised:
        run_plainly(target(function))
    assert raised.value.message.startswith(error)


def test_gradients_are_asked_for_where_an_output_needs_them(target):
    assert run_plainly(target("mlp"))
    assert not run_plainly(target("inference"))
