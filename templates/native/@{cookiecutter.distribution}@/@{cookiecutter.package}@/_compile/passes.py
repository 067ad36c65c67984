"""What Inductor gets wrong for a device that it doesn't know by name, put right in the graph before it is lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch._inductor.custom_graph_pass import CustomGraphModulePass, get_hash_for_files

if TYPE_CHECKING:
    from torch import fx

aten = torch.ops.aten

# Operators besides the pointwise ones that take CPU tensors beside those of a device.
_INDEXING = frozenset({aten.index.Tensor, aten._unsafe_index.Tensor, aten.index_put.default, aten.index_put_.default})


class @{ cookiecutter.class_name }@Pass(CustomGraphModulePass):
    """Rewrites a graph that has @{ cookiecutter.device }@ tensors; what it means stays the same."""

    def __call__(self, gm: fx.GraphModule) -> None:
        """Rewrite the graph in place."""
        for node in list(gm.graph.nodes):
            if node.target in (aten.argmax.default, aten.argmin.default):
                _reduce_flat(node)
            elif _mixes_devices(node):
                _move_cpu_operands(node)
        gm.graph.lint()

    def uuid(self) -> bytes:
        """Key of what this pass does, for Inductor's cache of compiled graphs."""
        return get_hash_for_files((__file__,))


def _reduce_flat(node: fx.Node) -> None:
    """Let argmax without a dimension count in logical order; Inductor would count in the order of memory."""
    operand, dim, keepdim = (*node.args, *(None, False)[len(node.args) - 1 :])
    value = operand.meta["val"]
    if dim is not None or value.device.type != "@{ cookiecutter.device }@":
        return
    graph = node.graph
    with graph.inserting_before(node):
        flat = _call(graph, aten.reshape.default, operand, [-1])
        result = _call(graph, node.target, flat, 0)
        if keepdim:
            result = _call(graph, aten.reshape.default, result, [1] * value.dim())
    node.replace_all_uses_with(result)
    graph.erase_node(node)


def _mixes_devices(node: fx.Node) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return False
    devices = {_device_type(operand) for operand in node.all_input_nodes}
    return {"cpu", "@{ cookiecutter.device }@"} <= devices and (torch.Tag.pointwise in target.tags or target in _INDEXING)


def _move_cpu_operands(node: fx.Node) -> None:
    """Copy what is on the CPU to the device first: no kernel can read it, and Inductor might run it on the CPU."""
    graph = node.graph
    operands = node.all_input_nodes
    device = next(operand.meta["val"].device for operand in operands if _device_type(operand) == "@{ cookiecutter.device }@")
    with graph.inserting_before(node):
        for operand in operands:
            if _device_type(operand) == "cpu":
                node.replace_input_with(operand, _call(graph, torch.ops.prims.device_put.default, operand, device))


def _device_type(node: fx.Node) -> str | None:
    value = node.meta.get("val")
    return value.device.type if isinstance(value, torch.Tensor) else None


def _call(graph: fx.Graph, target: torch._ops.OpOverload, *args: object) -> fx.Node:
    """Insert a call, with the value that Inductor expects in `meta`."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*torch.fx.map_arg(args, lambda operand: operand.meta["val"]))
    return node
