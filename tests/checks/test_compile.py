"""Compile backends that do it right pass; each way of doing it wrong, or not at all, is told."""

import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch._dynamo import register_backend
from torch._dynamo.backends.registry import _BACKENDS, _COMPILER_FNS

from conformance.checks import compile as compiled
from conformance.checks.compile import NotCompiledError, compiler_setup, perform, run_compiled, script
from conformance.checks.contract import Context
from conformance.checks.programs import BACKWARD, FORWARD, Program, wave, with_gradients
from conformance.device.profile import Profile

CPU = torch.device("cpu")
PROGRAMS = {p.name: p for p in FORWARD}
GRADIENTS = {p.name: p for p in BACKWARD}
SMOKE, BACKWARD_CHECK = compiled.CHECKS


def context(*backends):
    return Context(CPU, Profile("cpu", "cpu", compile_backends=backends), None, 0)


@pytest.fixture
def backend():
    """Register a compile backend for one test: a function of the graph module and the results of its call."""
    names = []

    def register(change, name="under_test"):
        def compiler(graph, _):
            return lambda *inputs: change(graph, inputs)

        register_backend(compiler, name=name)
        names.append(name)
        return name

    yield register
    for name in names:
        _BACKENDS.pop(name, None)
        _COMPILER_FNS.pop(name, None)
    torch._dynamo.reset()


def judged(program, name):
    return perform(program, "own", context(name))


@pytest.mark.parametrize("name", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [*FORWARD, *BACKWARD], ids=lambda p: f"{p.name}-{'b' if p.gradients else 'f'}")
def test_what_torch_brings_along_passes(program, name):
    found = perform(program, name, context())
    assert found.outcome == "pass", found.message
    assert found.rung == "conditioned"
    assert found.error <= found.bound
    assert found.execution in {"native", "composite"}


@pytest.mark.parametrize("program", FORWARD, ids=lambda p: p.name)
def test_a_right_backend_of_ones_own_passes(backend, program):
    assert judged(program, backend(right)).outcome == "pass"


def right(graph, inputs):
    return graph(*inputs)


def to_bfloat16(graph, inputs):
    return tuple(r.to(torch.bfloat16).float() for r in graph(*inputs))


def bfloat16_inputs(graph, inputs):
    return graph(*(t.to(torch.bfloat16).float() if t.dim() == 2 else t for t in inputs))


def ten_bits(tensor):
    return ((tensor.view(torch.int32) + (1 << 12)) & ~((1 << 13) - 1)).view(torch.float32)


def tf32(graph, inputs):
    return graph(*(ten_bits(t) if t.dim() == 2 else t for t in inputs))


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (program, fault)
        for program in FORWARD
        for fault in (to_bfloat16, bfloat16_inputs, tf32)
        if program.name != "views" or fault is to_bfloat16  # its inputs have three dimensions: the others leave them
    ],
    ids=lambda v: v.name if isinstance(v, Program) else v.__name__,
)
def test_reduced_precision_is_wrong(backend, program, fault):
    found = judged(program, backend(fault))
    assert found.outcome == "wrong"
    assert found.error > found.bound


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_wrong_gradients_are_wrong(monkeypatch, name):
    program = GRADIENTS[name]
    real = compiled.run_compiled

    def scaled(*arguments):
        return [((found[0], *(g * 1.0001 for g in found[1:])), spans) for found, spans in real(*arguments)]

    monkeypatch.setattr(compiled, "run_compiled", scaled)
    assert perform(program, "aot_eager", context()).outcome == "wrong"


def test_results_of_the_first_call_given_again_are_wrong(backend):
    kept = []

    def stale(graph, inputs):
        kept.append(graph(*inputs))
        return kept[0]

    found = judged(PROGRAMS["pointwise"], backend(stale))
    assert found.outcome == "wrong"
    assert len(kept) == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda graph, inputs: tuple(r.to("meta") for r in graph(*inputs)), "a result lies on meta where cpu is due"),
        (lambda graph, inputs: tuple(r.double() for r in graph(*inputs)), "result 0 is torch.float64"),
        (lambda graph, inputs: tuple(r[:1] for r in graph(*inputs)), "result 0 is torch.float32 (1, 65) where"),
        (lambda graph, inputs: (graph(*inputs), inputs[0].add_(1))[0], "wrote to its inputs"),
    ],
    ids=["device", "dtype", "shape", "inputs"],
)
def test_results_of_another_kind_are_wrong(backend, fault, message):
    found = judged(PROGRAMS["pointwise"], backend(fault))
    assert found.outcome == "wrong"
    assert message in found.message


def test_a_backend_that_raises_is_an_error(backend):
    def fault(*_):
        raise RuntimeError("the compiler gave up")

    with pytest.raises(RuntimeError, match="the compiler gave up"):
        judged(PROGRAMS["pointwise"], backend(fault))


def test_a_backend_that_is_not_registered_is_wrong():
    found = judged(PROGRAMS["pointwise"], "no_such_backend")
    assert found.outcome == "wrong"
    assert "has no 'no_such_backend'" in found.message


def test_every_own_backend_is_judged(backend):
    good = backend(right, "good")
    bad = backend(to_bfloat16, "bad")
    assert perform(PROGRAMS["pointwise"], "own", context(good, bad)).outcome == "wrong"
    assert perform(PROGRAMS["pointwise"], "own", context(good, "inductor")).outcome == "pass"


def test_no_own_backend_is_no_pass():
    assert perform(PROGRAMS["pointwise"], "own", context("inductor")).outcome == "unsupported"


def test_inductor_is_not_asked_of_a_device_that_claims_another_compiler():
    found = perform(PROGRAMS["pointwise"], "inductor", context("neuron"))
    assert (found.outcome, found.message) == ("unsupported", "the profile claims neuron, not inductor")


def test_eager_instead_of_compiled_is_wrong(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    found = perform(PROGRAMS["pointwise"], "aot_eager", context())
    assert found.outcome == "wrong"
    assert "Dynamo made 0 graphs where 1 is due" in found.message


def test_eager_on_the_second_call_is_wrong(monkeypatch):
    real = torch.compile

    def once(function, **options):
        calls = [real(function, **options)]

        def call(*inputs):
            return (calls.pop() if calls else function)(*inputs)

        return call

    monkeypatch.setattr(torch, "compile", once)
    found = perform(PROGRAMS["pointwise"], "aot_eager", context())
    assert found.outcome == "wrong"
    assert "did not enter a compiled region" in found.message


def breaks(x, y):
    product = x * y
    torch._dynamo.graph_break()
    return (product + 1,)


def test_a_graph_break_is_never_a_pass(monkeypatch):
    program = Program("breaks", breaks, ((4, 4), (4, 4)))
    with pytest.raises(torch._dynamo.exc.Unsupported):
        perform(program, "eager", context())
    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, *, fullgraph, **k: real(f, fullgraph=False, **k))
    found = perform(program, "eager", context())
    assert found.outcome == "wrong"
    assert "graphs where 1 is due" in found.message


def test_a_recompilation_is_wrong(monkeypatch):
    monkeypatch.setattr(Program, "inputs", lambda self, draw: [wave((3 + draw, 4), 1), wave((3 + draw, 4), 2)])
    found = perform(PROGRAMS["pointwise"], "eager", context())
    assert found.outcome == "wrong"
    assert "Dynamo made 2 graphs where 1 is due" in found.message


def test_inductor_that_hands_the_graph_back_is_told(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch's own imports
        monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", lambda graph, *_, **__: graph)
    found = perform(PROGRAMS["pointwise"], "inductor", context())
    assert found.outcome == "wrong"
    assert "what Inductor generated was called 0 times where 1 are due" in found.message


def test_without_a_compiler_inductor_is_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    found = perform(PROGRAMS["pointwise"], "inductor", context())
    assert found.outcome == "error"
    assert "no C++ compiler on this machine" in found.message


def test_a_device_that_inductor_does_not_know_is_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr("torch._inductor.codegen.common.get_scheduling_for_device", lambda _: None)
    found = perform(PROGRAMS["pointwise"], "inductor", context())
    assert found.outcome == "error"
    assert "Inductor has no code generator for cpu" in found.message


def matmul(x, y):
    return (torch.relu(x @ y),)


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")
def test_inductor_generates_code_that_runs():
    with compiler_setup():
        found = perform(PROGRAMS["pointwise"], "inductor", context())
        assert found.outcome == "pass", found.message
        unfused = Program("matmul", matmul, ((8, 8), (8, 8)), sums=True, fused=frozenset({"mm"}))
        with pytest.raises(NotCompiledError, match="Inductor generated no code for mm"):
            run_compiled(unfused, "inductor", CPU)


def test_each_group_has_a_cache_of_its_own():
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    seen = []
    for _ in range(2):
        with compiler_setup():
            folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
            assert not list(Path(folder).iterdir())
            seen.append(folder)
    assert len(set(seen)) == 2
    assert not any(Path(folder).exists() for folder in seen)
    assert os.environ.get("TORCHINDUCTOR_CACHE_DIR") == before


def test_cases_come_in_the_order_of_their_names():
    for check in compiled.CHECKS:
        for group, dtype in check.groups(None):
            assert [c.name for c in check.cases(context(), group, dtype)] == check.names(None, group, dtype)


def test_inputs_are_the_same_everywhere_and_differ_between_draws():
    first, again = wave((3, 5), 2), wave((3, 5), 2)
    assert torch.equal(first, again)
    assert first.abs().max() <= 1
    assert len(set(wave((4000,), 3).tolist())) > 3900
    for program in (*FORWARD, *BACKWARD):
        for left, right in zip(program.inputs(0), program.inputs(1), strict=True):
            assert not torch.equal(left, right)


def test_gradients_are_those_of_the_function():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    result, gradient = with_gradients(lambda t: (t * t,), x)
    assert torch.equal(result, x * x)
    assert torch.equal(gradient, 2 * x * wave((2,), 50).double())


@pytest.mark.parametrize("program", [PROGRAMS["mlp"], GRADIENTS["layer-norm"]], ids=lambda p: p.name)
def test_the_reproducer_runs_and_shows_small_differences(program):
    profile = Profile("cpu", "cpu", compile_backends=("eager",))
    text = script(replace(program), "eager", profile)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [device for device, _ in lines] == ["cpu"] * (1 + (3 if program.gradients else 0))
    assert all(float(error) < 1e-4 for _, error in lines)
