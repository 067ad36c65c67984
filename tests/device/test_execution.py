"""How an operator was served, on a device whose kernels are known; each run is a process, for a registration lasts."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conformance.device import execution
from conformance.device.execution import could_not_run, judge, observe
from conformance.device.trace import Operand, Span

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: What the scenarios of observe_pydevice.py are: execution, outermost overload, who fell back, what the kernels are.
SCENARIOS = {
    "out": ("native", "aten::add.Tensor", [], ["aten::add.out"]),
    "in-place": ("native", "aten::add_.Tensor", [], ["aten::add.out"]),
    "scalar": ("native", "aten::add.Tensor", [], ["aten::add.out"]),
    "kernel": ("native", "aten::relu", [], ["aten::relu"]),
    "explicit": ("fallback", "aten::sub.Tensor", ["aten::sub.Tensor"], []),
    "by-hand": ("fallback", "aten::exp", ["aten::exp"], []),
    "past-aten": ("fallback", "aten::mul.Tensor", ["aten::mul.Tensor"], []),
    "host-memory": ("fallback", "aten::abs", ["aten::abs"], []),
    "one-by-one": ("fallback", "aten::ceil", ["aten::ceil"], []),
    "one-element": ("fallback", "aten::exp", ["aten::exp"], []),
    "factory": ("composite", "aten::full", [], ["aten::fill_.Scalar"]),
    "host-factory": ("fallback", "aten::randperm", ["aten::randperm"], []),
    "composite": ("fallback", "aten::softmax.int", ["aten::_softmax"], []),
    "native-composite": ("composite", "aten::clone", [], ["aten::_copy_from"]),
    "readback": ("native", "aten::nonzero", [], ["aten::nonzero"]),
    "item": ("composite", "aten::item", [], ["aten::_local_scalar_dense"]),
    "to-host": ("composite", "aten::to.dtype_layout", [], ["aten::_copy_from"]),
    "to-host-as": ("composite", "aten::to.device", [], ["aten::_copy_from"]),
    "to-device": ("composite", "aten::to.dtype_layout", [], []),
    "python-fallback": ("fallback", "aten::cos", ["aten::cos"], ["aten::_copy_from"]),
    "wrong-shape": (None, "aten::view", [], ["aten::view"]),
}


@functools.cache
def observations(*arguments):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}"}
    command = [sys.executable, str(HERE / "observe_pydevice.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "the profiler speaks"
    return json.loads(done.stdout)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("fallback", [(), ("fallback",)], ids=["without", "with"])
def test_a_call_is_told_by_what_it_did(scenario, fallback):
    found = observations(*fallback)[scenario]
    assert (found["execution"], found["overload"], found["fell_back"], found["kernels"]) == SCENARIOS[scenario]


def test_an_operator_without_kernel_is_absent():
    found = observations()["missing"]
    assert (found["execution"], found["kernels"], found["fell_back"]) == ("absent", ["aten::cumsum.out"], [])
    assert found["error"].startswith("NotImplementedError: Could not run 'aten::cumsum.out'")


def test_the_global_fallback_is_charged_to_the_innermost_overload():
    found = observations("fallback")["missing"]
    assert (found["execution"], found["overload"], found["fell_back"]) == (
        "fallback", "aten::cumsum", ["aten::cumsum.out"],
    )  # fmt: skip
    assert found["error"] is None


@pytest.mark.parametrize(
    ("call", "served", "overload", "kernel"),
    [
        (lambda x: x + x, "native", "aten::add.Tensor", "aten::add.Tensor"),
        (lambda x: torch.nn.functional.linear(x, x), "composite", "aten::linear", "aten::addmm"),
        (lambda x: x.to(torch.float64).cpu(), "composite", "aten::to.dtype", None),
    ],
    ids=["add", "linear", "to"],
)
def test_the_cpu_never_falls_back(call, served, overload, kernel):
    x = torch.ones(64, 64)
    found = observe(lambda: call(x), torch.device("cpu"))
    assert (found.execution, found.overload, found.fell_back, found.error) == (served, overload, (), None)
    if kernel == "aten::addmm":
        assert set(found.kernels) & {"aten::addmm", "aten::mm"}
    elif kernel:
        assert found.kernels == (kernel,)


def test_an_exception_that_says_nothing_is_not_absent():
    found = observe(lambda: torch.ones(2) @ torch.ones(3), torch.device("cpu"))
    assert found.execution is None
    assert found.error.startswith("RuntimeError: ")


def test_what_is_no_exception_passes_through():
    with pytest.raises(KeyboardInterrupt):
        observe(lambda: (_ for _ in ()).throw(KeyboardInterrupt()), torch.device("cpu"))
    assert observe(lambda: torch.ones(2), torch.device("cpu")).execution == "composite"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (NotImplementedError("Could not run 'aten::exp.out' with arguments from the 'trn' backend."), "aten::exp.out"),
        (NotImplementedError("Could not run 'trn::my_op' from the 'trn' device."), "trn::my_op"),
        (NotImplementedError("The operator 'aten::foo' is not currently implemented for the MPS device."), "aten::foo"),
        (
            NotImplementedError("convolution_overrideable not implemented. You are likely triggering this"),
            "aten::convolution_overrideable",
        ),
        (RuntimeError("Could not run 'aten::_to_sparse' with arguments from the 'x' backend."), "aten::_to_sparse"),
        (RuntimeError("\"exp_vml_cpu\" not implemented for 'Int'"), None),
        (NotImplementedError("no words"), None),
        (ValueError("Could not run 'aten::exp.out' with arguments from the 'trn' backend."), None),
    ],
)
def test_an_error_names_the_overload_only_when_it_is_certain(error, name):
    assert could_not_run(error) == name


def test_torch_itself_words_its_errors_as_read_here():
    with pytest.raises(NotImplementedError) as raised:
        torch.ops.aten._cudnn_init_dropout_state(0.5, True, 1, dtype=torch.float32, device="cpu")
    assert could_not_run(raised.value) == "aten::_cudnn_init_dropout_state"
    with pytest.raises(NotImplementedError) as raised:
        torch.ops.aten.convolution_overrideable(
            torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
        )
    assert could_not_run(raised.value) == "aten::convolution_overrideable"


def operand(device, elements=64):
    return Operand(device, torch.strided, elements, elements * 4)


def span(name, operands=(), inner=(), host_bytes=0):
    return Span(name, tuple(operands), host_bytes, tuple(inner))


HERE_, THERE = operand("cpu"), operand("cuda")


@pytest.mark.usefixtures("registered")
def test_a_composite_of_torch_may_read_lengths_back():
    """`ctc_loss.Tensor` fetches its lengths on every accelerator; that is PyTorch's own doing."""
    fetch = span("aten::to.device", [THERE], [span("aten::copy_", [HERE_, THERE])])
    found = judge((span("aten::ctc_loss.Tensor", [THERE, THERE], [fetch]),), "cuda")
    assert found.fell_back == ()


def test_host_conversion_on_the_way_up_is_part_of_the_copy():
    convert = span("aten::copy_", [HERE_, HERE_], host_bytes=4096)
    found = judge((span("aten::copy_", [THERE, HERE_], [convert]),), "cuda")
    assert found.fell_back == ()


@pytest.fixture
def registered(monkeypatch):
    """Let everything but what torch registers for any backend be a kernel of the device."""

    def resolve(overload, key):
        return "math" if overload == "aten::ctc_loss.Tensor" else "default" if overload == "aten::clone" else "kernel"

    monkeypatch.setattr(execution, "resolve", resolve)


@pytest.mark.usefixtures("registered")
def test_a_copy_within_the_device_by_way_of_the_host_is_a_fallback():
    down, up = span("aten::copy_", [HERE_, THERE]), span("aten::copy_", [THERE, HERE_])
    work = span("aten::_copy_from", [THERE, THERE], [down, up])
    found = judge((span("aten::clone", [THERE], [work]),), "cuda")
    assert (found.execution, found.fell_back) == ("fallback", ("aten::_copy_from",))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("fetched", "served"), [(1, "native"), (2, "fallback"), (0, "native")], ids=["one", "two", "none"]
)
def test_one_element_is_a_readback_and_two_are_not(fetched, served):
    down = span("aten::copy_", [operand("cpu", fetched), operand("cuda", fetched)])
    assert judge((span("aten::nonzero", [THERE], [down]),), "cuda").execution == served


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("taken", "inputs", "served"),
    [(256, 0, "fallback"), (255, 0, "native"), (256, 1024, "native"), (1024, 1024, "fallback")],
)
def test_host_memory_counts_from_the_size_of_the_inputs(taken, inputs, served):
    found = judge((span("aten::sort", [THERE], host_bytes=taken),), "cuda", inputs_bytes=inputs)
    assert found.execution == served


@pytest.mark.usefixtures("registered")
def test_small_arithmetic_on_the_host_is_bookkeeping():
    sizes = span("aten::cumsum", [operand("cpu", 3)])
    assert judge((span("aten::cat", [THERE, THERE], [sizes]),), "cuda").execution == "native"


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("owner", "sent", "served"),
    [
        ([operand("cuda", 0)], 5, "fallback"),
        ([], 2, "fallback"),
        ([], 1, "native"),
        ([operand("cuda", 64)], 64, "fallback"),
        ([operand("cuda", 64)], 63, "native"),
        ([operand("cuda", 64), operand("cpu", 64)], 64, "native"),
    ],
    ids=["out", "factory", "scalar", "whole", "table", "given"],
)
def test_a_result_that_is_copied_up_was_made_on_the_host(owner, sent, served):
    up = span("aten::copy_", [operand("cuda", sent), operand("cpu", sent)])
    assert judge((span("aten::linspace.out", owner, [up]),), "cuda").execution == served


@pytest.mark.usefixtures("registered")
def test_a_kernel_that_also_copies_is_named():
    moved = span("aten::copy_", [THERE, THERE])
    assert judge((span("aten::add_.Tensor", [THERE, THERE], [moved]),), "cuda").kernels == ("aten::add_.Tensor",)
    assert judge((span("aten::copy_", [THERE, THERE]),), "cuda").kernels == ("aten::copy_",)


@pytest.mark.usefixtures("registered")
def test_a_fallback_is_charged_once_and_inside():
    inner = span("aten::resize_", [THERE], [span("aten::_to_cpu", [THERE])])
    found = judge((span("aten::add.out", [THERE, THERE, THERE], [inner]),), "cuda")
    assert (found.execution, found.fell_back) == ("fallback", ("aten::resize_",))
    assert found.kernels == ("aten::add.out",)


def test_marks_of_autograd_and_compilers_are_looked_through():
    work = span("aten::add.Tensor", [HERE_, HERE_])
    marks = (
        span("Torch-Compiled Region: 0/0", (), [work]),
        span("## Call CompiledFxGraph abc ##"),
        span("autograd::engine::evaluate_function: AddBackward0"),
    )
    found = judge(marks, "cpu")
    assert found.kernels == ("aten::add.Tensor",)
