"""The tree of an operator's arguments or results: lists, tuples and dictionaries whose leaves are anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """The same tree with `function` applied to each leaf; the kind of every container is kept."""
    if isinstance(value, dict):
        return {key: tree_map(function, child) for key, child in value.items()}
    if isinstance(value, list):
        return [tree_map(function, child) for child in value]
    if type(value) is tuple:
        return tuple([tree_map(function, child) for child in value])
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
    if isinstance(value, dict):
        for child in value.values():
            _collect(child, found)
    elif isinstance(value, (list, tuple)) and not is_size(value):
        for child in value:
            _collect(child, found)
    else:
        found.append(value)


def is_size(value: Any) -> bool:
    return isinstance(value, tuple) and type(value).__name__ == "Size" and type(value).__module__ == "torch"


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors among the leaves, in order."""
    import torch

    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]
