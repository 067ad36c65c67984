"""`operators.*`: every operator of torch's catalogue, in the ways in which it can be called."""

from __future__ import annotations

from conformance.checks.operators import calls
from conformance.checks.operators.cases import case_dtypes, of_cases
from conformance.checks.operators.derived import Derived
from conformance.checks.operators.forward import ANY_DTYPE, SPECIAL, Forward
from conformance.checks.operators.overloads import of_overloads
from conformance.checks.operators.promotion import of_promotion, promoted_dtypes
from conformance.checks.operators.run import Run

__all__ = ["ANY_DTYPE", "CHECKS", "SPECIAL", "Forward", "Run"]

CHECKS: tuple[Forward | Derived, ...] = (
    Forward(),
    Derived("operators.sizes", calls.first_dtype, calls.of_sizes),
    Derived("operators.arguments", calls.argument_dtypes, calls.of_arguments),
    Derived("operators.dtypes", calls.optional_dtypes, calls.of_dtypes, refuses=False, observes=True),
    Derived("operators.layouts", calls.bit_dtypes, calls.of_layouts, refuses=False),
    Derived("operators.inplace", calls.required_dtypes, calls.of_inplace),
    Derived("operators.out", calls.first_dtype, calls.of_out),
    Derived("operators.errors", calls.first_dtype, calls.of_errors),
    Derived("operators.strides", calls.first_dtype, calls.of_strides, refuses=False),
    Derived("operators.overloads", calls.first_dtype, of_overloads, refuses=False),
    Derived("operators.promotion", promoted_dtypes, of_promotion),
    Derived("operators.cases", case_dtypes, of_cases, refuses=False, catalogued=False),
    Derived("operators.backward", calls.required_dtypes, calls.of_backward, refuses=False, observes=True),
    Derived("operators.backward-sizes", calls.first_dtype, calls.of_backward_sizes, refuses=False),
)
