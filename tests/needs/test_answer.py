"""The answer to one call, and to the whole model, on the host as the device: it has to be right, and measured."""

from __future__ import annotations

import sys

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.needs import answer as module
from conformance.needs.answer import answer
from conformance.needs.calls import Book, Call, function_of, load
from conformance.needs.model import Target
from conformance.needs.passes import listen
from conformance.needs.whole import whole
from conformance.oracle.overloads import oracle_of
from conformance.spec.suite import load_suite

CPU = torch.device("cpu")
SUITE = load_suite()


def call(overload, *args, **kwargs):
    return Call(overload, Sample(args, kwargs), frozenset(), to_host=False)


@pytest.mark.parametrize("model", ["mlp", "block", "conv", "branching", "dropping"])
def test_every_call_of_a_model_is_right_on_the_host(target, tmp_path, model):
    book = Book(tmp_path)
    listen(target(model), CPU, book)
    answers = {seen.text: answer(load(tmp_path, key), CPU, SUITE) for key, seen in book.seen.items()}
    assert {a.answer for a in answers.values()} == {"right"}, answers
    assert {a.execution for a in answers.values()} <= {"native", "composite"}
    assert all(a.rung and a.error <= a.bound for a in answers.values())


@pytest.fixture
def faulty(monkeypatch):
    """Let the device's side of a call, and not the host's, return something else."""

    def put(change):
        real = module._call

        def call_faulty(call, function, device):
            found, sent = real(call, function, device)
            return change(found), sent

        monkeypatch.setattr(module, "_call", call_faulty)

    return put


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: [found[0] * 1.0001, *found[1:]], "where"),
        (lambda found: [found[0] * float("nan"), *found[1:]], "nan"),
        (lambda found: [torch.zeros_like(found[0]), *found[1:]], "where"),
        (lambda found: [found[0][:-1], *found[1:]], "shape [3, 8] where [4, 8] is due"),
        (lambda found: [found[0].double(), *found[1:]], "dtype float64 where float32 is due"),
        (lambda found: [found[0].to("meta"), *found[1:]], "device meta where cpu is due"),
    ],
    ids=["off", "nan", "zero", "truncated", "dtype", "device"],
)
@pytest.mark.parametrize("overload", ["aten::gelu", "aten::mm"])
def test_a_wrong_answer_is_wrong(faulty, change, message, overload):
    torch.manual_seed(0)
    faulty(change)
    args = (torch.randn(4, 8),) if overload == "aten::gelu" else (torch.randn(4, 6), torch.randn(6, 8))
    found = answer(call(overload, *args), CPU, SUITE)
    assert found.answer == "wrong"
    assert message in found.message


def test_an_argument_that_was_written_to_is_wrong(faulty):
    def scribble(found):
        found[1].add_(1)
        return found

    faulty(scribble)
    found = answer(call("aten::gelu", torch.randn(4)), CPU, SUITE)
    assert (found.answer, found.message) == ("wrong", "the call wrote to its tensor argument 0")


def test_a_copy_where_a_view_is_due_is_wrong(faulty):
    faulty(lambda found: [found[0].clone(), *found[1:]])
    found = answer(call("aten::t", torch.randn(4, 3)), CPU, SUITE)
    assert (found.answer, found.message) == ("wrong", "a copy where a view is due")


def test_what_the_device_raises_is_an_error(monkeypatch):
    def raising(call, function, device):
        raise module._DeviceError(ValueError("out of tiles"))

    monkeypatch.setattr(module, "_call", raising)
    found = answer(call("aten::gelu", torch.randn(4)), CPU, SUITE)
    assert (found.answer, found.message) == ("error", "ValueError: out of tiles")


def test_what_the_host_cannot_answer_is_not_measured():
    found = answer(call("aten::mm", torch.randn(2, 3), torch.randn(2, 3)), CPU, SUITE)
    assert found.answer == "not measured"
    assert found.message.startswith("the host has no answer: RuntimeError: mat1 and mat2")


def test_draws_are_judged_by_their_law(faulty):
    args = (torch.empty(4096), 0.25)
    found = answer(call("aten::bernoulli_.float", *args), CPU, SUITE)
    assert (found.answer, found.rung) == ("right", "random")
    faulty(lambda found: [torch.ones_like(found[0]), *found[1:]])
    assert answer(call("aten::bernoulli_.float", *args), CPU, SUITE).answer == "wrong"


@pytest.mark.parametrize(
    ("overload", "dtype", "args", "rung"),
    [
        ("aten::mm", "float32", (), "dot"),
        ("aten::convolution_backward", "float32", (), "dot"),
        ("aten::relu", "float32", (), "exact"),
        ("aten::t", "float32", (), "exact"),
        ("aten::sgn", "float32", (), "exact"),
        ("aten::sgn", "complex64", (), "conditioned"),  # a quotient, where the sign of a real number is exact
        ("aten::native_layer_norm_backward", "float32", (), "conditioned"),
        ("aten::rand_like", "float32", (), "random"),
        ("aten::_fused_dropout", "float32", (), "unjudged"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "float32", (None, None, None, 0.0), "conditioned"),
    ],
)
def test_each_overload_has_the_rung_of_its_operator(overload, dtype, args, rung):
    assert oracle_of(function_of(overload), Sample(args, {}), dtype, SUITE.operators).rung == rung


@pytest.mark.parametrize("model", ["mlp", "block"])
def test_the_whole_model_is_right_on_the_host(target, model):
    found = whole(target(model), CPU)
    assert (found.answer, found.message, found.rung) == ("right", "", "conditioned"), found
    assert 0 < found.error <= found.bound


def test_a_gradient_that_cancels_says_nothing_and_does_not_hide_the_others(target):
    found = whole(target("conv"), CPU)
    assert (found.answer, found.rung) == ("right", "conditioned"), found
    assert found.message.startswith("1 of 10 results are not judged: the bound exceeds the value itself on 100%")


def test_a_whole_model_that_is_off_is_wrong(tmp_path, monkeypatch):
    """The second time that it runs in float32, which is on the device, it computes something else."""
    monkeypatch.setattr(sys, "runs_in_float32", [], raising=False)
    file = tmp_path / "drifting.py"
    file.write_text(
        "import sys\nimport torch\n"
        "class Drifting(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        if x.dtype == torch.float32:\n"
        "            sys.runs_in_float32.append(x)\n"
        "        return x * (1 + 1e-4 * (len(sys.runs_in_float32) > 1 and x.dtype == torch.float32))\n"
        "def build():\n    return Drifting(), (torch.ones(3),)\n"
    )
    found = whole(Target(file, "build"), CPU)
    assert len(sys.runs_in_float32) == 2
    assert found.answer == "wrong"
    assert "3 of 3 elements" in found.message


def test_a_model_that_float64_does_not_suit_is_not_measured_as_a_whole(tmp_path):
    file = tmp_path / "single.py"
    file.write_text(
        "import torch\n"
        "class Single(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x @ torch.ones(3, 3, dtype=torch.float32)\n"
        "def build():\n    return Single(), (torch.ones(3),)\n"
    )
    found = whole(Target(file, "build"), CPU)
    assert found.answer == "not measured"
    assert found.message.startswith("the host can't run it in float64: RuntimeError")
