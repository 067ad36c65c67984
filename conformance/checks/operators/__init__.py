"""`operators.*`: every operator of torch's catalogue, in the ways in which it can be called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.checks.operators import calls
from conformance.checks.operators.derived import Derived
from conformance.checks.operators.forward import ANY_DTYPE, SPECIAL, Forward
from conformance.checks.operators.run import Run
from conformance.spec.operators import Oracle

if TYPE_CHECKING:
    from conformance.spec.operators import OperatorSpec

__all__ = ["ANY_DTYPE", "CHECKS", "SPECIAL", "Forward", "Run"]


def _judged(spec: OperatorSpec, dtype: str) -> Oracle | None:
    """The oracle of the operator, where it has one whose answer does not depend on chance."""
    oracle = spec.oracle_for(dtype)
    return None if oracle.rung in ("random", "unjudged") or oracle.judge == "metadata" else oracle


def _gradients(spec: OperatorSpec, dtype: str) -> Oracle | None:
    """How gradients are judged: those of sums of products are such sums, others by the conditioned rung.

    In the half formats they may be added up in the format itself: so PyTorch does where a tensor is used twice, and so
    do its own kernels that scatter.
    """
    oracle = _judged(spec, dtype)
    half = dtype in ("bfloat16", "float16")
    if oracle is not None and spec.gradient is not None:
        known = spec.gradient.host_off or oracle.host_off
        return replace(spec.gradient, rounds="storage" if half else spec.gradient.rounds, host_off=known)
    if oracle is None or (oracle.rung == "dot" and oracle.terms in (None, "ones")):
        # What is linear in each argument has gradients that are, with a scale or an expanded factor on the way.
        return oracle and replace(oracle, extra=oracle.extra + 2, rounds="storage" if half else oracle.rounds)
    rounds = "storage" if half else oracle.rounds
    return Oracle("conditioned", scale=oracle.scale, rounds=rounds, host_off=oracle.host_off)


CHECKS: tuple[Forward | Derived, ...] = (
    Forward(),
    Derived("operators.sizes", calls.first_dtype, calls.of_sizes, _judged),
    Derived("operators.arguments", calls.argument_dtypes, calls.of_arguments, _judged),
    Derived("operators.dtypes", calls.optional_dtypes, calls.of_dtypes, _judged, refuses=False, observes=True),
    Derived("operators.layouts", calls.bit_dtypes, calls.of_layouts, _judged, refuses=False),
    Derived("operators.inplace", calls.required_dtypes, calls.of_inplace, _judged),
    Derived("operators.out", calls.first_dtype, calls.of_out, _judged),
    Derived("operators.backward", calls.required_dtypes, calls.of_backward, _gradients, refuses=False, observes=True),
    Derived("operators.backward-sizes", calls.first_dtype, calls.of_backward_sizes, _gradients, refuses=False),
)
