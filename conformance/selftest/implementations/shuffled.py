"""The host's kernels with the terms of their sums in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.selftest.implementations.bits import carried_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.selftest.inject import Hits

#: Products: the positions of the two factors, and the dimension of each that is summed over.
_PRODUCTS: Mapping[str, tuple[int, int, int, int]] = {
    "mm": (0, -1, 1, -2),
    "bmm": (0, -1, 1, -2),
    "addmm": (1, -1, 2, -2),
    "baddbmm": (1, -1, 2, -2),
    "addbmm": (1, -1, 2, -2),
    "mv": (0, -1, 1, -1),
    "addmv": (1, -1, 2, -1),
    "dot": (0, -1, 1, -1),
    "vdot": (0, -1, 1, -1),
}
#: Reductions of the first argument over `dim`, or over everything.
_REDUCTIONS = frozenset({
    "sum", "nansum", "mean", "prod", "logsumexp", "linalg_vector_norm", "norm", "var", "std", "var_mean", "std_mean",
})  # fmt: skip
#: Functions of the first argument along `dim` whose result has its place for each element.
_ALONG = frozenset({"_softmax", "_log_softmax"})
#: Below this number of terms, every order of summation gives the same.
_FEWEST = 3


class Shuffled(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it lasts, sums add up in another order: the same answer but for rounding.

    The order depends on the number of terms alone, so that a call repeated gives the same bits. A call is a hit when at
    least three terms changed places.
    """

    def __init__(self, hits: Hits) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._hits = hits

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        if not tensors or any(tensor.layout is not torch.strided for tensor in tensors):
            return func(*args, **kwargs)
        args, kwargs = carried_out(func, args, kwargs)
        return self._call(func, list(args), kwargs)

    def _call(self, func: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        name = func.overloadpacket.__name__.removesuffix("_") if func.namespace == "aten" else ""
        if name in _PRODUCTS:
            left, left_dim, right, right_dim = _PRODUCTS[name]
            self._together(args, (left, left_dim), (right, right_dim))
        elif name == "convolution" and not _argument(func, args, kwargs, "transposed") and args[-1] == 1:
            # The channels of the input, of one group: the weight has them in its second dimension.
            self._together(args, (0, 1 - args[1].dim()), (1, 1))
        elif name in _REDUCTIONS:
            for dim in _dims(args[0], _argument(func, args, kwargs, "dim")):
                args[0] = args[0].index_select(dim, self._order(args[0].shape[dim]))
        elif name in _ALONG and args[0].dim() and "out" not in kwargs:
            dim, order = args[1], self._order(args[0].shape[args[1]])
            args[0] = args[0].index_select(dim, order)
            return func(*args, **kwargs).index_select(dim, order.argsort())
        return func(*args, **kwargs)

    def _together(self, args: list[Any], *places: tuple[int, int]) -> None:
        order = None
        for position, dim in places:
            order = self._order(args[position].shape[dim]) if order is None else order
            args[position] = args[position].index_select(dim, order)

    def _order(self, terms: int) -> torch.Tensor:
        if terms < _FEWEST:
            return torch.arange(terms)
        self._hits.count += 1
        order = torch.randperm(terms, generator=torch.Generator().manual_seed(terms))
        # A last term that stays the last may be added to the very same partial sum.
        return order.flip(0) if order[-1] == terms - 1 else order


def _argument(func: Any, args: list[Any], kwargs: dict[str, Any], name: str) -> Any:
    for position, argument in enumerate(func._schema.arguments):  # noqa: SLF001
        if argument.name == name:
            return args[position] if position < len(args) else kwargs.get(name)
    return None


def _dims(tensor: torch.Tensor, dim: Any) -> list[int]:
    if not tensor.dim():
        return []
    listed = [dim] if isinstance(dim, int) else list(dim or ())
    return listed or list(range(tensor.dim()))
