"""The tree of an operator's arguments or results: lists, tuples and dictionaries whose leaves are anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch


_CONTAINERS = (dict, list, tuple)


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """The same tree with `function` applied to each leaf; the kind of every container is kept."""
    if not isinstance(value, _CONTAINERS):
        return function(value)
    if isinstance(value, dict):
        return {key: tree_map(function, child) for key, child in value.items()}
    # Most trees are a tuple of leaves, and every case walks several: a leaf is not worth a call of its own.
    if isinstance(value, list):
        return [tree_map(function, c) if isinstance(c, _CONTAINERS) else function(c) for c in value]
    if type(value) is tuple:
        return tuple([tree_map(function, c) if isinstance(c, _CONTAINERS) else function(c) for c in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[tree_map(function, child) for child in value])
    if isinstance(value, tuple) and hasattr(value, "n_sequence_fields"):  # torch.return_types.*
        return type(value)([tree_map(function, child) for child in value])
    return function(value)


def leaves(value: Any) -> Iterator[Any]:
    """The leaves in order; a torch.Size is one leaf."""
    found: list[Any] = []
    _collect(value, found)
    return iter(found)


def _collect(value: Any, found: list[Any]) -> None:
    if not isinstance(value, _CONTAINERS) or is_size(value):
        found.append(value)
        return
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, _CONTAINERS):
            _collect(child, found)
        else:
            found.append(child)


def is_size(value: Any) -> bool:
    kind = type(value)
    return kind is not tuple and issubclass(kind, tuple) and kind.__name__ == "Size" and kind.__module__ == "torch"


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors among the leaves, in order."""
    import torch

    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]
