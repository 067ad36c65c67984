"""The calls of the check `operators.overloads`: what an operator calls has twins, which are kernels of their own."""

from __future__ import annotations

import functools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.checks.operators.derived import Call
from conformance.findings import base_name
from conformance.inputs import catalogue
from conformance.inputs.layouts import relaid_samples
from conformance.inputs.samples import PLAN_SEED, opinfo_samples
from conformance.inputs.twins import record, twins
from conformance.oracle.overloads import oracle_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch._ops import OpOverload

    from conformance.inputs.samples import Sample
    from conformance.spec.operators import OperatorSpec, Oracle

#: What most operators call on their way, each with the operator that it is taken from.
_COMMON = {
    "detach": "sigmoid",
    "_to_copy": "to",
    "_unsafe_view": "matmul",
    "slice_backward": "narrow",
    "lift_fresh": "index_put",
}


def of_overloads(spec: OperatorSpec, dtype: str, _: int) -> Iterator[Call]:
    """The other overloads of what the operator calls, on the same arguments: those that no other operator is named for.

    The values are those of the plan, whatever the seed: what an operator calls may hang on them.
    """
    samples = opinfo_samples(spec.name, dtype, PLAN_SEED)
    function = catalogue.function_of(spec.name)
    found: dict[str, Call] = {}
    for ordinal in relaid_samples(samples, spec.largest):
        for recorded in record(function, samples[ordinal]):
            if not _is_own(spec.name, str(recorded.overload.overloadpacket.__name__)):
                continue
            for twin, sample in twins(recorded):
                name = str(twin.written).removeprefix("aten.")
                oracle = _oracle_of(twin.function, sample, dtype, spec)
                if oracle is not None:
                    kind = "out" if "out" in sample.kwargs else "overload"
                    found.setdefault(name, Call(name, kind, partial(_made, twin, sample), oracle=oracle))
    yield from found.values()


def _is_own(operator: str, overload: str) -> bool:
    if overload in _COMMON:
        return _COMMON[overload] == operator
    return overload.strip("_") in _words(operator) or overload.strip("_") not in _every_word()


def _words(operator: str) -> set[str]:
    """The names of overloads that an operator stands for: `linalg.norm` for `linalg_norm`, `div.floor` for `div`."""
    plain = operator.removeprefix("nn.functional.").removeprefix("special.")
    return {word.strip("_") for word in (base_name(operator), plain.split(".")[0], plain.replace(".", "_"))}


@functools.cache
def _every_word() -> frozenset[str]:
    return frozenset(word for name in catalogue.entries() for word in _words(name))


def _oracle_of(function: OpOverload, sample: Sample, dtype: str, spec: OperatorSpec) -> Oracle | None:
    """That of the operator where the overload is its own, else that of any function; None where none fits."""
    found = oracle_of(function, sample, dtype, {spec.name: spec})
    if spec.oracle_for(dtype).reference == "host":
        return None  # what a format defines has no answer in float64
    judged = found.rung not in ("random", "unjudged") and found.judge != "metadata"
    return replace(found, host_off=None) if judged else None


def _made(function: Callable[..., Any], sample: Sample) -> tuple[Callable[..., Any], Sample]:
    return function, sample
