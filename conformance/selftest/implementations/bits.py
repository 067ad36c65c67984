"""Lazy conjugation and negation: below a dispatch mode nobody carries them out any more."""

from __future__ import annotations

from typing import Any

import torch

from conformance.inputs.tree import tree_map


def carried_out(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call that a mode was given, each tensor with its bits resolved, but for what is written to.

    Batch norms write to their running statistics, and their schemas do not say so.
    """
    if "batch_norm" in func.overloadpacket.__name__:
        return args, kwargs
    written = {a.name for a in func._schema.arguments if a.alias_info and a.alias_info.is_write}  # noqa: SLF001
    names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
    return (
        tuple([value if name in written else _resolved(value) for name, value in zip(names, args, strict=False)]),
        {name: value if name in written else _resolved(value) for name, value in kwargs.items()},
    )


def _resolved(value: Any) -> Any:
    return tree_map(lambda leaf: leaf.resolve_conj().resolve_neg() if isinstance(leaf, torch.Tensor) else leaf, value)
