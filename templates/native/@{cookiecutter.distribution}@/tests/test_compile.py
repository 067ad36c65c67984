"""torch.compile: generated kernels run on the device, through the driver, and answer as float64 on the CPU does."""

from __future__ import annotations

import ctypes
import inspect
from typing import TYPE_CHECKING

import pytest
import torch
from torch._dynamo.device_interface import DeviceInterface, get_interface_for_device
from torch._dynamo.testing import CompileCounterWithBackend
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config
from torch._inductor.utils import run_and_get_code
from torch.nn import functional

from @{ cookiecutter.package }@ import _C
from @{ cookiecutter.package }@._compile.launch import launch
from @{ cookiecutter.package }@._compile.passes import @{ cookiecutter.class_name }@Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BACKENDS = ("eager", "aot_eager", "inductor", "@{ cookiecutter.device }@")
# PyTorch's own compiler imports what PyTorch itself deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
COPIES = ("host_to_device_copies", "device_to_host_copies", "device_to_device_copies")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def work_of(run: Callable[[], object]) -> dict[str, int]:
    """What the driver does while something runs."""
    torch.@{ cookiecutter.device }@.synchronize()
    before = torch.@{ cookiecutter.device }@._driver_counters()
    run()
    torch.@{ cookiecutter.device }@.synchronize()
    return {name: count - before[name] for name, count in torch.@{ cookiecutter.device }@._driver_counters().items()}


def to_device(tensor: torch.Tensor, device: str = "@{ cookiecutter.device }@") -> torch.Tensor:
    """The same tensor on the device, with the same strides and offset into its storage."""
    whole = torch.as_strided(tensor, (tensor.untyped_storage().nbytes() // tensor.itemsize,), (1,), 0).to(device)
    return torch.as_strided(whole, tensor.shape, tensor.stride(), tensor.storage_offset())


def assert_as_float64(function: Callable[..., torch.Tensor], *inputs: torch.Tensor, **options: object) -> None:
    """Compiled on the device, forward and backward, against eager in float64 on the CPU."""

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().requires_grad_(tensor.is_floating_point())

    exact = [leaf(tensor.double() if tensor.is_floating_point() else tensor) for tensor in inputs]
    ours = [leaf(to_device(tensor)) for tensor in inputs]
    for mine, given in zip(ours, inputs, strict=True):
        assert (mine.stride(), mine.storage_offset()) == (given.stride(), given.storage_offset())
    expected = function(*exact)
    result = torch.compile(function, fullgraph=True, **options)(*ours)
    assert result.device == torch.device("@{ cookiecutter.device }@", 0)
    dtype = result.dtype
    tolerance = TOLERANCE.get(dtype, 0)
    torch.testing.assert_close(result.cpu(), expected.to(dtype), rtol=tolerance, atol=tolerance)
    if not result.requires_grad:
        return
    gradient = torch.randn(expected.shape).to(dtype)
    expected.backward(gradient.double())
    result.backward(gradient.to("@{ cookiecutter.device }@"))
    for mine, reference in zip(ours, exact, strict=True):
        if reference.grad is not None:
            assert mine.grad.device == mine.device
            torch.testing.assert_close(mine.grad.cpu(), reference.grad.to(mine.dtype), rtol=tolerance, atol=tolerance)


def pointwise_and_reduction(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (torch.sin(x) * y + torch.exp(-x)).sum(-1)


def model(x: torch.Tensor, first: torch.Tensor, bias: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    hidden = functional.layer_norm(functional.linear(x, first, bias), (first.shape[0],))
    return torch.softmax(functional.linear(torch.relu(hidden), second), -1)


MODEL_INPUTS = ((8, 16), (32, 16), (32,), (4, 32))


@pytest.mark.parametrize("backend", BACKENDS)
def test_forward_and_backward_of_a_model(backend: str) -> None:
    assert_as_float64(model, *map(torch.randn, MODEL_INPUTS), backend=backend)


def test_a_fused_kernel_is_launched_and_nothing_goes_through_the_host() -> None:
    x, y = torch.randn(16, 33), torch.randn(16, 33)
    ours = [tensor.to("@{ cookiecutter.device }@").requires_grad_() for tensor in (x, y)]
    compiled = torch.compile(pointwise_and_reduction, fullgraph=True)
    with inductor_config.patch(fx_graph_cache=False), functorch_config.patch(enable_autograd_cache=False):
        result, sources = run_and_get_code(lambda: compiled(*ours))
    (forward,) = (source for source in sources if "sin" in source)
    assert forward.count('extern "C" int kernel(void* const* buffers') == 1  # sin, exp, mul, add and sum in one
    assert "launch(@{ cookiecutter.device }@_fused_" in forward
    assert "extern_kernels." not in forward
    result.sum().backward()  # compiles the backward

    gradient = torch.ones(16, device="@{ cookiecutter.device }@")
    outputs = []
    forward_work = work_of(lambda: outputs.append(compiled(*ours)))
    assert forward_work["launches"] == 1
    assert [forward_work[kind] for kind in COPIES] == [0, 0, 0]
    backward_work = work_of(lambda: torch.autograd.grad(outputs[0], ours, gradient))
    assert backward_work["launches"] == 1
    assert [backward_work[kind] for kind in COPIES] == [0, 0, 0]


def test_a_training_step_learns() -> None:
    network = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    ).to("@{ cookiecutter.device }@")
    inputs = torch.randn(32, 8, device="@{ cookiecutter.device }@")
    labels = torch.randint(0, 3, (32,)).to("@{ cookiecutter.device }@")

    @torch.compile(fullgraph=True)
    def loss_of(inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.nll_loss(torch.log_softmax(network(inputs), -1), labels)

    losses = []
    for _ in range(20):
        loss = loss_of(inputs, labels)
        network.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= 0.5 * parameter.grad
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(lambda x: x[2:, 1:], id="offset"),
        pytest.param(lambda x: x[::2, ::3], id="stepped"),
        pytest.param(lambda x: x.t()[1:7, 3:9], id="transposed"),
        pytest.param(lambda x: x[:1].expand(6, 12), id="expanded"),
        pytest.param(lambda x: x.view(2, 5, 12).permute(2, 0, 1)[1:], id="permuted"),
    ],
)
def test_views(layout: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x, y = layout(torch.randn(10, 12)), layout(torch.randn(10, 12))
    assert_as_float64(pointwise_and_reduction, x, y)


def test_what_is_compiled_for_contiguous_inputs_is_right_for_others() -> None:
    compiled = torch.compile(pointwise_and_reduction, fullgraph=True)
    whole = torch.randn(6, 6)
    for view in (whole, whole.t(), whole[::2], whole[1:, 2:]):
        ours = to_device(view)
        expected = pointwise_and_reduction(view.double(), view.double())
        torch.testing.assert_close(compiled(ours, ours).cpu().double(), expected, rtol=1e-5, atol=1e-5)


def test_dtypes() -> None:
    low = [torch.randn(8, 33).bfloat16() for _ in range(2)]
    assert_as_float64(pointwise_and_reduction, *low)
    whole = torch.arange(-20, 20).view(5, 8)
    assert_as_float64(lambda x, y: (x * 3 + y // 7).sum(0), whole, whole + 1)
    assert_as_float64(lambda x: (x > 0).logical_not().sum(-1), torch.randn(4, 9))


def test_one_compilation_for_many_sizes() -> None:
    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(lambda x: torch.softmax(x * x.shape[0], -1).sum(0), backend=counter, dynamic=True)
    for rows, columns in ((3, 5), (17, 40), (64, 33)):
        x = torch.randn(rows, columns)
        expected = torch.softmax(x.double() * rows, -1).sum(0)
        torch.testing.assert_close(compiled(x.to("@{ cookiecutter.device }@")).cpu().double(), expected, rtol=1e-5, atol=1e-5)
    assert counter.frame_count == 1


def test_backward_of_dynamic_shapes() -> None:
    assert_as_float64(model, *map(torch.randn, MODEL_INPUTS), dynamic=True)


def test_the_second_device() -> None:
    x = torch.randn(4, 6)
    result = torch.compile(lambda x: torch.softmax(x @ x.t(), -1))(x.to("@{ cookiecutter.device }@:1"))
    assert result.device == torch.device("@{ cookiecutter.device }@", 1)
    torch.testing.assert_close(result.cpu(), torch.softmax(x @ x.t(), -1))


def test_a_stream_of_ones_own() -> None:
    compiled = torch.compile(pointwise_and_reduction, fullgraph=True)
    x = torch.randn(64, 64)
    ours = x.to("@{ cookiecutter.device }@")
    torch.@{ cookiecutter.device }@.synchronize()
    stream = torch.@{ cookiecutter.device }@.Stream()
    with torch.@{ cookiecutter.device }@.stream(stream):
        result = compiled(ours, ours)
    stream.synchronize()
    torch.testing.assert_close(result.cpu(), pointwise_and_reduction(x, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x, scalar, _: scalar * x, id="scalar first"),
        pytest.param(lambda x, scalar, _: torch.where(x > 0, x, scalar), id="where"),
        pytest.param(lambda x, _, index: x[index] + 1, id="index"),
    ],
)
def test_operands_on_the_cpu_are_brought_to_the_device(function: Callable[..., torch.Tensor]) -> None:
    x, scalar, index = torch.randn(4, 6), torch.tensor(3.0), torch.tensor([2, 0])
    result = torch.compile(function, fullgraph=True)(x.to("@{ cookiecutter.device }@"), scalar, index)
    assert result.device.type == "@{ cookiecutter.device }@"
    torch.testing.assert_close(result.cpu(), function(x, scalar, index))


def test_a_graph_on_the_device_and_on_the_cpu() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second = x.sin().sum(-1, keepdim=True), y.cos().sum(-1, keepdim=True)
        return x.exp() * first, y.exp() * second

    x, y = torch.randn(5, 7), torch.randn(5, 7)
    results = torch.compile(function, fullgraph=True)(x.to("@{ cookiecutter.device }@"), y)
    assert [result.device.type for result in results] == ["@{ cookiecutter.device }@", "cpu"]
    for result, expected in zip(results, function(x, y), strict=True):
        torch.testing.assert_close(result.cpu(), expected, rtol=1e-5, atol=1e-5)


def test_an_optimizer_that_counts_its_steps_on_the_cpu() -> None:
    start = torch.randn(8, 8)

    def train(device: str, compiler: Callable[..., Callable[[], None]]) -> torch.Tensor:
        parameter = start.to(device, copy=True).requires_grad_()
        optimizer = torch.optim.Adam([parameter], lr=0.1, foreach=True)
        parameter.grad = torch.ones_like(parameter)
        step = compiler(optimizer.step)
        step()
        step()
        return parameter.detach().cpu()

    torch.testing.assert_close(train("@{ cookiecutter.device }@", torch.compile), train("cpu", lambda step: step), rtol=1e-4, atol=1e-4)


def test_a_graph_with_several_streams_is_refused() -> None:
    def function(x: torch.Tensor, stream: torch.Stream) -> torch.Tensor:
        with stream:
            y = x * 2
        return y + x

    with pytest.raises(torch._inductor.exc.InductorError, match="change streams around the compiled function"):
        torch.compile(function, fullgraph=True)(torch.ones(4, device="@{ cookiecutter.device }@"), torch.@{ cookiecutter.device }@.Stream())


def test_a_kernel_never_gets_memory_of_the_host() -> None:
    ours = torch.ones(4, device="@{ cookiecutter.device }@")
    with pytest.raises(RuntimeError, match="not a device address"):
        launch(ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0), [ours, torch.ones(4)])


def test_argmax_counts_in_logical_order() -> None:
    x = torch.randn(4, 6).t()
    for function in (torch.argmax, torch.argmin):
        compiled = torch.compile(lambda x, function=function: function(x, keepdim=True), fullgraph=True)
        assert torch.equal(compiled(to_device(x)).cpu(), function(x, keepdim=True))


def test_loops_in_another_order_are_not_fused_into_wrong_ones() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + 1, (x.transpose(0, 1) * 2).contiguous(), x.sum(1), (x.permute(2, 0, 1) - 3).contiguous()

    x = torch.randn(4, 8, 4)
    for ours, expected in zip(torch.compile(function)(x.to("@{ cookiecutter.device }@")), function(x), strict=True):
        torch.testing.assert_close(ours.cpu(), expected)


def test_a_failing_kernel_is_an_error_of_the_stream() -> None:
    compiled = torch.compile(lambda x, y: x // y, fullgraph=True)
    x = torch.arange(8, device="@{ cookiecutter.device }@")
    with pytest.raises(RuntimeError, match="kernel failed"):
        compiled(x, torch.zeros_like(x)).cpu()
    torch.@{ cookiecutter.device }@.synchronize()  # reported once
    assert compiled(x, torch.full_like(x, 2)).cpu().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("wrapper", ["fx_wrapper", "cpp_wrapper"])
def test_the_other_wrappers(wrapper: str, dynamic: bool) -> None:
    with inductor_config.patch({wrapper: True}):
        assert_as_float64(model, *map(torch.randn, MODEL_INPUTS), dynamic=dynamic)


def test_what_another_installation_compiled_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = @{ cookiecutter.class_name }@Pass().uuid()
    monkeypatch.setattr(_C, "__file__", "/elsewhere/_C.so")
    assert @{ cookiecutter.class_name }@Pass().uuid() != before


def test_the_interface_answers_everything_that_dynamo_may_ask() -> None:
    interface = get_interface_for_device("@{ cookiecutter.device }@")
    index = interface.current_device()
    stream = interface.current_stream()
    answers = {
        "current_device": 0,
        "device_count": 2,
        "is_available": True,
        "is_bf16_supported": True,
        "is_triton_capable": False,
    }
    assert {name: getattr(interface, name)() for name in answers} == answers
    assert interface.get_raw_stream(index) == stream.native_handle
    assert interface.get_device_properties().name == torch.@{ cookiecutter.device }@.get_device_name()
    assert interface.exchange_device(1) == 0
    assert interface.maybe_exchange_device(0) == 1
    interface._set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)
    assert interface.current_stream() == stream
    inherited = {
        name
        for name, function in inspect.getmembers(DeviceInterface)
        if not name.startswith("__")
        and inspect.getattr_static(interface, name) is inspect.getattr_static(DeviceInterface, name)
    }
    assert inherited == {"get_device_properties", "is_dtype_supported", "raise_if_triton_unavailable"}


IN_A_NEW_PROCESS = {
    "importing torch imports no compiler": """
import sys, torch
assert torch.@{ cookiecutter.device }@.is_available()
assert not {"torch._dynamo", "torch._inductor"} & set(sys.modules)
""",
    "a compiler that is imported first": """
import os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch, torch._inductor.compile_fx
from torch._inductor.codegen.common import init_backend_registration
init_backend_registration()
import @{ cookiecutter.package }@
x = torch.ones(4, device="@{ cookiecutter.device }@")
assert torch.compile(lambda x: x.exp() * 2 - x, fullgraph=True)(x).device.type == "@{ cookiecutter.device }@"
""",
    "no setting of the compiler is changed": """
import os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch, torch._dynamo.config, torch._inductor.config
configs = torch._dynamo.config, torch._inductor.config
before = [config.get_config_copy() for config in configs]
import @{ cookiecutter.package }@
torch.compile(lambda x: x.exp() * 2, backend="@{ cookiecutter.device }@")(torch.ones(4, device="@{ cookiecutter.device }@"))
assert [config.get_config_copy() for config in configs] == before
""",
    "the device is there for whoever asks Inductor": """
import torch
from torch._inductor.codegen.common import get_scheduling_for_device, get_wrapper_codegen_for_device
from torch._inductor.codegen.common import get_device_op_overrides, init_backend_registration
init_backend_registration()
assert get_scheduling_for_device("@{ cookiecutter.device }@").__module__.startswith("@{ cookiecutter.package }@")
for options in ({}, {"cpp_wrapper": True}, {"fx_wrapper": True}):
    assert get_wrapper_codegen_for_device("@{ cookiecutter.device }@", **options).__module__.startswith("@{ cookiecutter.package }@")
assert type(get_device_op_overrides("@{ cookiecutter.device }@")).__module__.startswith("@{ cookiecutter.package }@")
""",
    "the wrapper that registration waits for is imported first": """
import torch
from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen
x = torch.ones(4, device="@{ cookiecutter.device }@")
assert torch.compile(lambda x: x.exp() * 2 - x, fullgraph=True)(x).device.type == "@{ cookiecutter.device }@"
""",
    "the backend is listed": """
import torch
assert "@{ cookiecutter.device }@" in torch._dynamo.list_backends()
""",
}


@pytest.mark.parametrize("case", IN_A_NEW_PROCESS)
def test_in_a_new_process(case: str, fresh_python: Callable[..., str]) -> None:
    fresh_python(IN_A_NEW_PROCESS[case])
