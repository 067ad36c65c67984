"""The calls of the check `operators.promotion`: two dtypes in one call, and which of them the result has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.operators.calls import optional_dtypes, required_dtypes
from conformance.checks.operators.derived import Call
from conformance.checks.operators.run import FUNCTION
from conformance.inputs import catalogue
from conformance.inputs.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.spec.operators import OperatorSpec

#: Operators whose results have the dtype that both arguments are promoted to, or come of numbers of that dtype.
PROMOTING = ("add", "sub", "mul", "div.no_rounding_mode", "maximum", "remainder", "eq", "cat", "where")
#: What every device has, and so may stand beside any dtype.
BESIDE = ("float32", "bfloat16", "int64", "bool")
#: Which of the two has dimensions: a tensor without any weighs less.
_SHAPES: dict[str, tuple[bool, bool]] = {"both": (True, True), "left": (True, False), "right": (False, True)}


def promoted_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    """Every dtype that the operator has, where it promotes."""
    return (*required_dtypes(spec), *optional_dtypes(spec)) if spec.name in PROMOTING else ()


def of_promotion(spec: OperatorSpec, dtype: str, _: int) -> Iterator[Call]:
    """A tensor of the dtype beside one of another, in both orders, each also without dimensions.

    The host's results have the dtype of torch.result_type. All values are whole numbers that every format holds.
    """
    function = catalogue.function_of(spec.name)
    own, others = getattr(torch, dtype), {name: getattr(torch, name) for name in BESIDE}
    for name, other in others.items():
        for shape, (first, second) in _SHAPES.items():
            left = torch.tensor([1, 2, 3] if first else 2).to(own)
            right = torch.tensor([2, 1, 2] if second else 1).to(other)
            yield Call(f"with-{name}-{shape}", FUNCTION, partial(_made, spec.name, function, left, right))
            yield Call(f"after-{name}-{shape}", FUNCTION, partial(_made, spec.name, function, right, left))


def _made(
    operator: str, function: Callable[..., Any], left: torch.Tensor, right: torch.Tensor
) -> tuple[Callable[..., Any], Sample]:
    if operator == "cat":
        return function, Sample(([left.reshape(-1), right.reshape(-1)],), {})
    if operator == "where":  # the entry's function takes the condition second
        return function, Sample((left, torch.tensor([True, False, True]), right), {})
    return function, Sample((left, right), {})
