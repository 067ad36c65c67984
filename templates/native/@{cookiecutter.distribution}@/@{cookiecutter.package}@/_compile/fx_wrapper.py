"""Compiled graphs as FX graphs instead of source code: what Inductor uses with `config.fx_wrapper`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._inductor.codecache import LambdaFuture, PyCodeCache
from torch._inductor.codegen import wrapper, wrapper_fxir
from torch._inductor.codegen.common import FileBackedGraphModule

from @{ cookiecutter.package }@._compile import kernels
from @{ cookiecutter.package }@._compile.launch import address_of

if TYPE_CHECKING:
    import sympy


class _LaunchingConverter(wrapper_fxir.FxConverter):
    """Turns the lines of a wrapper into FX nodes; a kernel becomes a call of `torch.ops.@{ cookiecutter.package }@.launch`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._addresses: dict[str, int] = {}  # of kernels; their libraries stay loaded while the process lives

    def _generate_kernel_definition(self, line: wrapper.WrapperLine) -> None:
        assert isinstance(line, wrapper.KernelDefinitionLine)  # noqa: S101 (narrows Inductor's type)
        code = wrapper.PythonWrapperCodegen._format_kernel_definition(line.kernel_name, line.kernel_body, line.metadata)
        kernel: Any = getattr(PyCodeCache.load(f"{self.prologue}\n{code}"), line.kernel_name)
        if isinstance(kernel, LambdaFuture):
            kernel = kernel.result()
        self._addresses[line.kernel_name] = address_of(kernel)

    def _generate_kernel_call(self, line: wrapper.WrapperLine) -> None:
        assert isinstance(line, wrapper.KernelCallLine)  # noqa: S101 (narrows Inductor's type)
        if line.kernel_name not in self._addresses:
            super()._generate_kernel_call(line)
            return
        call = kernels.split_call(line.call_args, line.arg_types)
        if "f" in call.value_format:
            msg = f"{line.kernel_name} takes a number that is known at run time only, which an FX graph can't pass on"
            raise NotImplementedError(msg)
        symbols: dict[str, sympy.Expr] = {str(symbol): symbol for symbol in self.expr_to_proxy}
        self.gm.graph.call_function(
            torch.ops.@{ cookiecutter.package }@.launch.default,
            args=(
                self._addresses[line.kernel_name],
                [self.buffer_to_node[name] for name in call.buffers],
                call.value_format,
                [self._generate_sym_node(symbols[value]) for value in call.values],
            ),
        )


class WrapperFxCodegen(wrapper_fxir.WrapperFxCodegen):
    """Writes the FX graph that runs a compiled graph."""

    def write_header(self) -> None:
        super().write_header()
        self.imports.writeline("from @{ cookiecutter.package }@._compile.build import build")

    def _generate(self, is_inference: bool) -> tuple[FileBackedGraphModule, None]:  # noqa: FBT001 (as inherited)
        self.run_wrapper_ir_passes(is_inference)
        module = _LaunchingConverter(
            lines=self.lines,
            prologue=f"{self.imports.getvalue()}\n{self.header.getvalue()}",
            graph_inputs=self.get_fx_graph_inputs(),
            graph_outputs=self.get_graph_outputs(),
            subgms=self.subgms,
            is_subgraph=self.is_subgraph,
        ).generate()
        return FileBackedGraphModule(module, self.compile_graph(module)), None
