"""How a call of an aten overload is judged: by the suite's rung for its operator, else by the conditioned one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from conformance.oracle.laws import LAWS
from conformance.spec.operators import Oracle, operator_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch._ops import OpOverload

    from conformance.inputs.samples import Sample
    from conformance.spec.operators import OperatorSpec

#: How terms are counted by the arguments of the operator itself, not those of the suite's entry.
_PORTABLE_TERMS = (None, "ones", "inputs")
_OPEN = frozenset({"random", "unjudged"})
_VIEW = Oracle("exact")
_CONDITIONED = Oracle("conditioned")
_RANDOM = Oracle("unjudged", why="its values are random, and the suite has no law for them")


def oracle_of(function: OpOverload, sample: Sample, dtype: str, operators: Mapping[str, OperatorSpec]) -> Oracle:
    """The oracle for one call of an overload at one dtype.

    The bounds of the suite hold for an operator of that name and these arguments; what it judges by the conditioned
    rung, and what it does not have, is judged by that rung.
    """
    if function.is_view:
        return _VIEW
    namespace, _, name = str(function.name()).partition("::")  # type: ignore[no-untyped-call]
    known = operator_named(name.partition(".")[0], operators) if namespace == "aten" else None
    spec = operators.get(known or "")
    found = _CONDITIONED if spec is None else spec.oracle_for(dtype)
    if spec is not None and dtype.startswith("complex") and not any(d.startswith("complex") for d in spec.dtypes):
        # What the suite says of real numbers need not hold for complex ones: their sign is a quotient, and rounded.
        found = found if found.judge == "metadata" or found.rung in _OPEN else _CONDITIONED
    if found.rung == "random":
        return found if found.law in LAWS else _RANDOM
    if torch.Tag.nondeterministic_seeded in function.tags and _draws(function, sample):
        return _RANDOM
    if found.rung == "dot" and found.terms not in _PORTABLE_TERMS:
        return _CONDITIONED
    return found


def _draws(function: OpOverload, sample: Sample) -> bool:
    """Whether a call that may draw does: attention without dropout is as certain as a product."""
    names = [argument.name for argument in function._schema.arguments]  # noqa: SLF001
    if "dropout_p" not in names:
        return True
    position = names.index("dropout_p")
    given = sample.args[position] if position < len(sample.args) else sample.kwargs.get("dropout_p", 0.0)
    return bool(given != 0.0)
