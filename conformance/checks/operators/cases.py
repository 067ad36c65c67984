"""The calls of the check `operators.cases`: those that are written down, and the twins of the overloads they call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.operators.derived import Call
from conformance.checks.operators.run import FUNCTION
from conformance.inputs.samples import seed_of
from conformance.inputs.twins import Recorded, twins
from conformance.inputs.written import argument, overload_of, sample_of
from conformance.oracle.overloads import oracle_of
from conformance.spec.operators import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch._ops import OpOverload

    from conformance.inputs.samples import Sample
    from conformance.spec.cases import WrittenCase
    from conformance.spec.operators import OperatorSpec


def case_dtypes(spec: OperatorSpec) -> tuple[str, ...]:
    """The dtypes that some case of the operator is written for."""
    return tuple(dict.fromkeys(dtype for case in spec.cases for dtype in case.dtypes))


def of_cases(spec: OperatorSpec, dtype: str, seed: int) -> Iterator[Call]:
    """The written calls of an operator at one dtype, then the other overloads of the same name and arguments."""
    found: dict[str, Call] = {}
    for number, case in enumerate(spec.cases):
        overload = overload_of(case)
        if overload is None or dtype not in case.dtypes:
            continue
        sample = sample_of(case, dtype, seed_of(spec.name, dtype, f"case-{number}", seed))
        oracle = case.oracle or replace(oracle_of(overload, sample, dtype, {spec.name: spec}), host_off=None)
        function = overload if case.expected is None else _expecting(case, overload, dtype)
        stem = case.name or case.overload
        if stem in found:
            stem = f"{stem}-{sum(name.startswith(stem) for name in found)}"
        found[stem] = Call(stem, FUNCTION, partial(_made, function, sample), oracle=oracle)
        if case.twins and case.expected is None:
            for call in _twins(overload, sample, oracle):
                found.setdefault(call.stem, call)
    yield from found.values()


def _twins(overload: OpOverload, sample: Sample, oracle: Oracle) -> Iterator[Call]:
    names = [argument.name for argument in overload._schema.arguments]  # noqa: SLF001
    recorded = Recorded(overload, {**dict(zip(names, sample.args, strict=False)), **sample.kwargs})
    for twin, given in twins(recorded, draws=oracle.rung == "random"):
        kind = "out" if "out" in given.kwargs else "overload"
        stem = str(twin.written).removeprefix("aten.").removesuffix(".default")
        yield Call(stem, kind, partial(_made, twin, given), oracle=oracle)


@dataclass(frozen=True, slots=True)
class Expecting:
    """An overload whose answer is known: `functional` gives the written values, whatever it is given."""

    function: OpOverload
    values: tuple[torch.Tensor, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def functional(self, *_: Any, **__: Any) -> Any:
        return self.values


def _expecting(case: WrittenCase, overload: OpOverload, dtype: str) -> Expecting:
    nothing = torch.Generator()
    return Expecting(overload, tuple(argument(value, dtype, nothing) for value in case.expected or ()))


def _made(function: Callable[..., Any], sample: Sample) -> tuple[Callable[..., Any], Sample]:
    return function, sample
