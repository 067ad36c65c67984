"""Calls replaced by what torch says they mean: its Python references and its decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch._decomp import decomposition_table
from torch._prims.context import TorchRefsMode
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.selftest.implementations.bits import carried_out

if TYPE_CHECKING:
    from conformance.selftest.inject import Hits


def references(hits: Hits) -> TorchRefsMode:
    """While it lasts, a function or method of torch is the function of that name in torch._refs, if there is one.

    What a reference calls is replaced likewise. Composites in C++ call past it: see Decompositions.
    """

    def counted(*_: Any) -> bool:
        hits.count += 1
        return False  # do not fall back

    return TorchRefsMode(should_fallback_fn=counted)


class Decompositions(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it lasts, an aten overload is its decomposition, if there is one, and what that calls is one likewise.

    A decomposition may refuse some arguments (NotImplemented): those go to the kernel, and are no hit.
    """

    def __init__(self, hits: Hits) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._hits = hits

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        definition = decomposition_table.get(func)
        if definition is None:
            return func(*args, **kwargs)
        args, kwargs = carried_out(func, args, kwargs)
        with self:
            result = definition(*args, **kwargs)
        if result is NotImplemented:
            return func(*args, **kwargs)
        self._hits.count += 1
        return result
