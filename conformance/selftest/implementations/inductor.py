"""Calls compiled by Inductor, each on its own."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.selftest.inject import Hits


class Inductor(TorchFunctionMode):
    """While it lasts, a call of a torch function is compiled for its arguments, and the compiled code is called.

    A call is a hit when Inductor generated a kernel for it: what it has no code for, it hands to the host's kernels.
    """

    def __init__(self, hits: Hits) -> None:
        super().__init__()
        self._hits = hits

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not any(isinstance(leaf, torch.Tensor) for leaf in tree_flatten((args, kwargs))[0]) or _attribute(func):
            return func(*args, **kwargs)
        compiled, kernels = _compiled(func, args, kwargs)
        result = compiled(*args, **kwargs)
        self._hits.count += kernels() > 0
        return result


def _attribute(func: Any) -> bool:
    return getattr(func, "__name__", "") in ("__get__", "__set__", "__len__", "__hash__", "__bool__", "size", "dim")


_LATEST: dict[str, tuple[Callable[..., Any], Callable[[], int]]] = {}


def _compiled(func: Any, args: Any, kwargs: Any) -> tuple[Callable[..., Any], Callable[[], int]]:
    """The function compiled for these arguments, and what counts its kernels once it has been called.

    The latest is kept, for operators whose draws are many calls of one kind.
    """
    from torch._dynamo import reset
    from torch._inductor import config, metrics
    from torch._logging._internal import set_logs

    leaves, tree = tree_flatten((args, kwargs))
    key = f"{id(func)} {tree} {[_described(leaf) for leaf in leaves]}"
    if key not in _LATEST:
        _LATEST.clear()
        reset()  # else it gives up after some variants of a function, and calls the host
        config.compile_threads = 1  # the worker is one process of several
        set_logs(dynamo=logging.CRITICAL, inductor=logging.CRITICAL)  # of calls that it gives back
        metrics.reset()

        def call(*a: Any, **k: Any) -> Any:
            return func(*a, **k)

        _LATEST[key] = torch.compile(call, backend="inductor", dynamic=False), lambda: metrics.generated_kernel_count
    return _LATEST[key]


def _described(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        place = leaf.stride() if leaf.layout is torch.strided else leaf.layout
        return f"{leaf.dtype} {tuple(leaf.shape)} {place} {leaf.is_conj()} {leaf.is_neg()}"
    return repr(leaf)
