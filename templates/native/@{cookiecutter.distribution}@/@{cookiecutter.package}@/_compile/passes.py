"""What Inductor gets wrong for a device that it doesn't know by name, put right in the graph before it is lowered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphModulePass, get_hash_for_files

import @{ cookiecutter.package }@._C as _C

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        """Key of all that writes code for this device and of the library that the code calls, for Inductor's caches.

        They outlive an installation: without the key, code that another version wrote would be run.
        """
        writers = sorted(str(path) for path in Path(__file__).parent.glob("*.py"))
        return get_hash_for_files(tuple(writers), extra=_C.__file__)


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
    mixable = torch.Tag.pointwise in target.tags or target in _INDEXING or _is_foreach(target)
    return mixable and {"cpu", "@{ cookiecutter.device }@"} <= devices


def _is_foreach(target: torch._ops.OpOverload) -> bool:
    return target.namespace == "aten" and target._schema.name.startswith("aten::_foreach_")


def _move_cpu_operands(node: fx.Node) -> None:
    """Copy what is on the CPU to the device first: no kernel can read it, and Inductor might run it on the CPU."""
    if _is_foreach(node.target):
        # Tensors at the same place of the lists belong together, and may be on another device than those at the next.
        lists = [place for place, argument in enumerate(node.args) if isinstance(argument, (list, tuple))]
        columns = list(zip(*(node.args[place] for place in lists), strict=True))
        rows = zip(*(_on_one_device(node, column) for column in columns), strict=True)
        for place, row in zip(lists, rows, strict=True):
            node.update_arg(place, list(row))
        return
    operands = node.all_input_nodes
    for before, after in zip(operands, _on_one_device(node, operands), strict=True):
        node.replace_input_with(before, after)


def _on_one_device(node: fx.Node, operands: Sequence[object]) -> list[object]:
    """Operands of a node, with those on the CPU copied to the device that another one is on."""
    devices = [operand.meta["val"].device for operand in operands if _device_type(operand) == "@{ cookiecutter.device }@"]
    if not devices:
        return list(operands)
    with node.graph.inserting_before(node):
        return [
            _call(node.graph, torch.ops.prims.device_put.default, operand, devices[0])
            if _device_type(operand) == "cpu"
            else operand
            for operand in operands
        ]


def _device_type(operand: object) -> str | None:
    value = operand.meta.get("val") if isinstance(operand, fx.Node) else None
    return value.device.type if isinstance(value, torch.Tensor) else None


def _call(graph: fx.Graph, target: torch._ops.OpOverload, *args: object) -> fx.Node:
    """Insert a call, with the value that Inductor expects in `meta`."""
    node = graph.call_function(target, args)
    node.meta["val"] = target(*torch.fx.map_arg(args, lambda operand: operand.meta["val"]))
    return node
