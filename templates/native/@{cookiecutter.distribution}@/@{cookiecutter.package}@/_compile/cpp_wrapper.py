"""Compiled graphs as one C++ function, kernels and launches included: what Inductor uses with `config.cpp_wrapper`.

Ahead-of-time compilation (AOTInductor) writes C++ too, and isn't supported: it would need a C shim for the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
from torch._inductor.virtualized import V

import @{ cookiecutter.package }@._C as _C
from @{ cookiecutter.package }@._compile import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._inductor import ir

# The library is loaded already; generated code is loaded after it, and finds the one function that it needs by name.
_LAUNCH = """
#include <dlfcn.h>
static void launch(int (*kernel)(void* const*, const void*), void* const* buffers, int count, const void* params,
                   size_t bytes, int device) {{
    using Launch = const char* (*)(int (*)(void* const*, const void*), void* const*, int, const void*, size_t, int);
    static void* const library = dlopen("{library}", RTLD_NOW | RTLD_NOLOAD);
    static const auto function =
        reinterpret_cast<Launch>(library == nullptr ? nullptr : dlsym(library, "@{ cookiecutter.package }@_launch"));
    if (function == nullptr) {{
        throw std::runtime_error("{library} isn't the library of @{ cookiecutter.device }@ that this process has loaded");
    }}
    if (const char* error = function(kernel, buffers, count, params, bytes, device)) {{
        throw std::runtime_error(std::string("@{ cookiecutter.device }@ driver: ") + error);
    }}
}}
"""


class CppWrapperCodegen(CppWrapperCpu):
    """Writes the C++ code that runs a compiled graph; operators without a generated kernel are dispatched as ever."""

    def __init__(self) -> None:
        if V.graph.aot_mode:
            msg = "AOTInductor is not supported for @{ cookiecutter.device }@; use torch.compile"
            raise NotImplementedError(msg)
        super().__init__()

    @staticmethod
    def create(*_parts: object, **_options: object) -> CppWrapperCodegen:
        """Make a wrapper; subgraphs are written inline."""
        return CppWrapperCodegen()

    def write_header(self) -> None:
        """Add the function that launches kernels to what generated code includes."""
        super().write_header()
        self.header.splice(_LAUNCH.format(library=_C.__file__))

    @staticmethod
    def get_device_include_path_jit(_device: str) -> str:
        """Return the include of what is common to all devices; no header of PyTorch knows this one."""
        return CppWrapperCpu.get_device_include_path_jit("cpu")

    def codegen_device(self, device: torch.device) -> str:
        """Return device type and index as two C++ arguments."""
        if device.type != "@{ cookiecutter.device }@":
            return super().codegen_device(device)
        self.used_cached_devices.add("privateuse1")
        return f"cached_torch_device_type_privateuse1, {device.index or 0}"

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Sequence[str], **details: Any) -> None:
        """Start a kernel: the one place where device memory is handed to a launch."""
        device = details.get("device") or V.graph.get_current_device_or_throw()
        if device.type != "@{ cookiecutter.device }@":
            super()._generate_kernel_call_helper(kernel_name, call_args, **details)
            return
        call = kernels.split_call(call_args, details["arg_types"])
        addresses = ", ".join(f"{buffer}.data_ptr()" for buffer in call.buffers)
        fields = " ".join(kernels.fields(details["arg_types"]))
        launched = f"&{kernel_name}_entry, buffers, {len(call.buffers)}, &params, sizeof params, {device.index or 0}"
        lines = [
            "{",
            f"void* const buffers[] = {{{addresses}}};",
            f"const struct {{ {fields} }} params{{{', '.join(call.values)}}};",
            f"launch({launched});",
            "}",
        ]
        self.writelines(lines)

    def generate_extern_kernel_out(self, node: ir.ExternKernelOut) -> None:
        """Call an operator that writes to a buffer that exists."""
        if not _is_ours(node):
            super().generate_extern_kernel_out(node)
            return
        node.codegen_comment(self)
        arguments = _arguments(node, {"out": node.output_view or node})
        self.generate_fallback_kernel_with_runtime_lookup_boxed(_operator(node), arguments, [], [])

    def generate_extern_kernel_alloc(self, node: ir.ExternKernelAlloc) -> None:
        """Call an operator that makes its result, one tensor."""
        if not _is_ours(node) or getattr(node, "outputs", None):
            super().generate_extern_kernel_alloc(node)
            return
        node.codegen_comment(self)
        self.generate_fallback_kernel_with_runtime_lookup_boxed(
            _operator(node), _arguments(node, {}), [node.get_name()], [node]
        )

    def generate_fallback_kernel(self, node: ir.FallbackKernel) -> None:
        """Call an operator that makes its results."""
        if not _is_ours(node):
            super().generate_fallback_kernel(node)
            return
        self.generate_fallback_kernel_with_runtime_lookup(
            node.get_name(),
            node.python_kernel_name,
            lambda: [*node.codegen_args(), *node.codegen_kwargs()],
            _operator(node),
            node.export_extern_kernel_node(),
            node.outputs or node.mutation_outputs,
        )

    def generate_c_shim_extern_kernel_call(self, kernel: str, args: list[str], device: str, **details: Any) -> None:
        """Call a function of PyTorch's C shim, of which this device has none."""
        if device == "@{ cookiecutter.device }@":
            msg = f"{kernel} can't be called from the C++ wrapper on @{ cookiecutter.device }@; compile without config.cpp_wrapper"
            raise NotImplementedError(msg)
        super().generate_c_shim_extern_kernel_call(kernel, args, device, **details)


def _is_ours(node: ir.ExternKernel) -> bool:
    device = node.get_device()
    return device is not None and device.type == "@{ cookiecutter.device }@"


def _arguments(node: ir.ExternKernel, given: dict[str, Any]) -> list[Any]:
    """Every argument of a node's operator in the order of its schema."""
    positional = [*node.inputs, *node.constant_args]
    rest = {**node.kwargs, **given}
    return [
        positional[place] if place < len(positional) else rest.get(argument.name, argument.default_value)
        for place, argument in enumerate(_operator(node)._schema.arguments)
    ]


def _operator(node: ir.ExternKernel) -> torch._ops.OpOverload:
    if not isinstance(node.op_overload, torch._ops.OpOverload):
        msg = f"{node.python_kernel_name} is not an operator, and can't be called from the C++ wrapper on @{ cookiecutter.device }@"
        raise NotImplementedError(msg)
    return node.op_overload
