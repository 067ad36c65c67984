"""ATen overloads by name, and the groups of them that a defect tends to have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload

ARITHMETIC = (
    "add.Tensor sub.Tensor mul.Tensor div.Tensor add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor "
    "add.out sub.out mul.out div.out"
)
COMPARISON = (
    "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor "
    "eq.Tensor_out ne.Tensor_out lt.Tensor_out le.Tensor_out gt.Tensor_out ge.Tensor_out"
)
MATMUL = "mm bmm addmm baddbmm mm.out bmm.out addmm.out baddbmm.out addmm_ baddbmm_"
ATTENTION = (
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable "
    "_scaled_dot_product_attention_math scaled_dot_product_attention"
)
CONVOLUTION = "convolution convolution_overrideable"
SORT = "sort sort.stable sort.values sort.values_stable"


def resolve(op: OpOverload | str) -> OpOverload:
    """The overload that a name like `aten::cumsum` or `cumsum.out` stands for; AttributeError for an unknown name."""
    if isinstance(op, OpOverload):
        return op
    base, _, overload = op.removeprefix("aten::").partition(".")
    found: OpOverload = getattr(getattr(torch.ops.aten, base), overload or "default")
    return found


def full_name(op: OpOverload) -> str:
    """The name of an overload as `resolve` takes it: `aten::cumsum`, `aten::cumsum.out`."""
    return str(op.name())  # type: ignore[no-untyped-call]


def arguments_of(op: OpOverload) -> Any:
    """The arguments in the overload's schema."""
    return op._schema.arguments  # noqa: SLF001 - torch has no public name for it


@dataclass(frozen=True)
class Healthy:
    """The right implementation of an overload, as a fault sees it."""

    op: OpOverload
    function: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """`aten::copy_`: the operator without its overload."""
        return str(self.op._schema.name)  # noqa: SLF001

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the schema, without defaults."""
        names = [argument.name for argument in arguments_of(self.op)]
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def recall(self, bound: dict[str, Any]) -> Any:
        """Call with arguments by name (see `bind`), each by position as long as none before it is missing."""
        args = []
        kwargs = {}
        gap = False
        for argument in arguments_of(self.op):
            if argument.name not in bound:
                gap = True
            elif argument.kwarg_only or gap:
                kwargs[argument.name] = bound[argument.name]
            else:
                args.append(bound[argument.name])
        return self(*args, **kwargs)
