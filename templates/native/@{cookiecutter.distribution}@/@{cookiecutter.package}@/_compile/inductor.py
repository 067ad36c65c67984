"""Inductor for @{ cookiecutter.device }@: C++ kernels as for the CPU, compiled with the host's compiler and launched through the driver.

A vendor with a compiler of its own starts here: replace `Scheduling`, which writes the kernels, and keep the wrappers,
which allocate, order and launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import sympy
import torch
from torch._inductor.codegen import common, wrapper
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.utils import Placeholder, get_fused_kernel_name
from torch._inductor.virtualized import V

from @{ cookiecutter.package }@._compile import kernels
from @{ cookiecutter.package }@._compile.cpp_wrapper import CppWrapperCodegen
from @{ cookiecutter.package }@._compile.fx_wrapper import WrapperFxCodegen
from @{ cookiecutter.package }@._compile.op_overrides import @{ cookiecutter.class_name }@OpOverrides
from @{ cookiecutter.package }@._compile.passes import @{ cookiecutter.class_name }@Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._inductor.codegen.cpp import OuterLoopFusedSchedulerNode
    from torch._inductor.ir import GraphPartitionSignature
    from torch._inductor.scheduler import BaseSchedulerNode, FusedSchedulerNode, SchedulerNode


class _LoopSizes(tuple[Any, ...]):
    """The sizes of nested loops. Their product is asked for to split a pointwise loop like a reduction's.

    Inductor does that on every device but the CPU, and C++ loops are not ready for it: no loop has a product of zero.
    """

    __slots__ = ()

    def __mul__(self, _other: object) -> sympy.Expr:
        return sympy.S.Zero


class Scheduling(CppScheduling):
    """Fuses and writes kernels as for the CPU, and gives each an entry point that the driver can launch."""

    def group_fn(self, sizes: Sequence[Sequence[sympy.Expr]]) -> tuple[_LoopSizes, ...]:
        """Return the sizes of the outer and the reduction loops, by which nodes are found that fit into one kernel."""
        return tuple(_LoopSizes(group) for group in super().group_fn(sizes))

    def codegen_node(self, node: OuterLoopFusedSchedulerNode | FusedSchedulerNode | SchedulerNode) -> None:
        """Write a kernel as one for the CPU, which it is; Inductor takes other devices' kernels for Triton."""
        with V.graph.set_current_device(torch.device("cpu")):
            super().codegen_node(node)

    def define_kernel(
        self, src_code: str, nodes: Sequence[BaseSchedulerNode], kernel_args: common.KernelArgs | None = None
    ) -> str:
        """Hand a kernel's source to the wrapper, once however often it is used, and return the kernel's name."""
        code = V.graph.wrapper_code
        if src_code in code.src_to_kernel:
            return code.src_to_kernel[src_code]
        name = "_".join(("@{ cookiecutter.device }@", get_fused_kernel_name(nodes, "original_aten"), code.next_kernel_suffix()))
        code.src_to_kernel[src_code] = name
        _, _, arg_types = (kernel_args or self.kernel_group.args).cpp_argdefs()
        source = src_code.replace(str(Placeholder.KERNEL_NAME), name).replace(str(Placeholder.DESCRIPTIVE_NAME), name)
        source = source.replace("#pragma CMT", "//")
        if V.graph.cpp_wrapper:
            entry = f"{name}_entry"
            body = source + kernels.entry_point(name, entry, arg_types)
            declaration = f'extern "C" int {entry}(void* const* buffers, const void* params);\n'
            code.define_kernel(name, body, gpu=False, cpp_definition=declaration)
        else:
            body = f"build(async_compile, r'''\n{source}{kernels.entry_point(name, 'kernel', arg_types)}''')"
            code.define_kernel(name, body, gpu=False)
        return name


class _LaunchingWrapper(wrapper.PythonWrapperCodegen):
    """What generated Python does differently on this device: where it allocates, and how it starts a kernel."""

    def write_header(self) -> None:
        super().write_header()
        self.imports.writeline("from struct import pack")
        self.imports.writeline("from @{ cookiecutter.package }@._compile.build import build")
        self.imports.writeline("from @{ cookiecutter.package }@._compile.launch import launch")

    def make_allocation(
        self,
        name: str,
        device: torch.device,
        dtype: torch.dtype,
        shape: Sequence[Any],
        stride: Sequence[Any],
        allocation_shape: Sequence[Any] | None = None,
        is_pinned: bool = False,  # noqa: FBT001, FBT002 (Inductor's signature)
    ) -> str:
        """Allocate on the very device; without its index that would be the current one."""
        if device.type != "@{ cookiecutter.device }@":
            return super().make_allocation(name, device, dtype, shape, stride, allocation_shape, is_pinned)
        sizes = self.codegen_python_shape_tuple(shape)
        strides = self.codegen_python_shape_tuple(stride)
        allocated = sizes if allocation_shape is None else self.codegen_python_shape_tuple(allocation_shape)
        view = "" if allocated == sizes else f".as_strided({sizes}, {strides})"
        return f"{name} = empty_strided({allocated}, {strides}, device='{device}', dtype={dtype}){view}"

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Sequence[str], **details: Any) -> None:
        """Start a kernel: the one place where device memory is handed to a launch."""
        device = details.get("device") or V.graph.get_current_device_or_throw()
        if device.type != "@{ cookiecutter.device }@":
            _refuse_device_memory(kernel_name, call_args)
            super()._generate_kernel_call_helper(kernel_name, call_args, **details)
            return
        call = kernels.split_call(call_args, details["arg_types"])
        params = f", pack({call.value_format!r}, {', '.join(call.values)})" if call.values else ""
        self.writeline(f"launch({kernel_name}, [{', '.join(call.buffers)}]{params})")

    def codegen_cuda_stream_enter(self, stream_idx: int) -> NoReturn:
        """Refuse a graph that uses several streams: Inductor declares them for the devices only that it knows."""
        msg = f"stream {stream_idx} in a compiled graph: @{ cookiecutter.device }@ has none; change streams around the compiled function"
        raise NotImplementedError(msg)


def _refuse_device_memory(kernel_name: str, call_args: Sequence[str]) -> None:
    """Raise if a kernel that runs on the host is about to be given an address that only the device can read."""
    for argument in call_args:
        buffer = V.graph.try_get_buffer(argument)
        if buffer is not None and buffer.get_device().type == "@{ cookiecutter.device }@":
            msg = f"{kernel_name} runs on the CPU and would read {argument}, which is on {buffer.get_device()}"
            raise RuntimeError(msg)


class PythonWrapperCodegen(_LaunchingWrapper):
    """Writes the Python code that runs a compiled graph."""

    @classmethod
    def create(
        cls,
        is_subgraph: bool,  # noqa: FBT001 (Inductor's signature)
        subgraph_name: str | None,
        parent_wrapper: wrapper.PythonWrapperCodegen | None,
        partition_signatures: GraphPartitionSignature | None = None,
    ) -> wrapper.PythonWrapperCodegen:
        """Make a wrapper for a graph, or for a part of one."""
        if is_subgraph:
            return _SubgraphWrapper(subgraph_name, parent_wrapper, partition_signatures)
        return cls()


class _SubgraphWrapper(_LaunchingWrapper, wrapper.SubgraphPythonWrapperCodegen):
    """Writes the part of the code that runs a subgraph."""

    def write_header(self) -> None:
        """Write nothing: the graph that this is a part of has the imports."""


def register() -> None:
    """Register the device with Inductor."""
    common.register_device_op_overrides("@{ cookiecutter.device }@", @{ cookiecutter.class_name }@OpOverrides())
    common.register_backend_for_device(
        "@{ cookiecutter.device }@", Scheduling, PythonWrapperCodegen, CppWrapperCodegen, WrapperFxCodegen, @{ cookiecutter.class_name }@Pass()
    )
