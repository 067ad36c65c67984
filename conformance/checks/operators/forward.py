"""The check `operators.forward`: every operator of torch's catalogue, called once per sample and layout."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.checks.contract import Case, Judgement
from conformance.checks.operators.run import FUNCTION, Run
from conformance.inputs import catalogue
from conformance.inputs.layouts import PLAIN, relaid_samples
from conformance.inputs.samples import PLAN_SEED, Sample, opinfo_samples
from conformance.inputs.special import special_sample
from conformance.inputs.transport import clone
from conformance.inputs.tree import tensors
from conformance.oracle.reference import evaluate
from conformance.oracle.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from conformance.checks.contract import Context
    from conformance.spec.operators import OperatorSpec
    from conformance.spec.suite import Suite

#: The one case of an entry that the host has at no dtype.
UNSAMPLED = f"unsampled/{PLAIN}/{FUNCTION}"
#: The case of special values.
SPECIAL = f"special-0000/{PLAIN}/{FUNCTION}"
ANY_DTYPE = "any"


@dataclass(frozen=True, slots=True)
class Forward:
    """Call each operator on the device and compare what it returns with the oracle's answer."""

    id: str = field(default="operators.forward", init=False)

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:
        """Every operator of the suite that the installed torch describes, at the dtypes that its CPU has."""
        known = catalogue.entries()
        for name, spec in suite.operators.items():
            if name in known:
                for dtype in catalogue.planned_dtypes(name, spec.dtypes) or (ANY_DTYPE,):
                    yield name, dtype

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:
        if dtype == ANY_DTYPE:
            return [UNSAMPLED]
        spec = suite.operators[operator]
        names = [_name(ordinal, layout) for ordinal, layout in _planned(spec, dtype, PLAN_SEED)]
        return names if _special(spec, dtype, PLAN_SEED) is None else [*names, SPECIAL]

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None
    ) -> Iterator[Case]:
        """One case per sample and layout, of which one observes how the operator is served; then special values."""
        spec = context.suite.operators[operator]
        if dtype == ANY_DTYPE:
            reason = spec.oracle.why or "the CPU has it at no dtype: there is no answer to compare with"
            yield Case(UNSAMPLED, PLAIN, FUNCTION, 0, lambda: Judgement("unjudged", message=reason), lambda: "")
            return
        samples = opinfo_samples(operator, dtype, context.seed)
        planned = _planned(spec, dtype, context.seed)
        function = catalogue.function_of(operator)
        observed = _telling(function, samples, [ordinal for ordinal, layout in planned if layout == PLAIN])
        trial: Trial | None = None
        for ordinal, layout in planned:
            if names is not None and _name(ordinal, layout) not in names:
                continue
            sample = samples[ordinal]
            if trial is None or trial.sample is not sample:
                trial = Trial(function, sample, dtype, spec.oracle_for(dtype))
            run = Run(context, spec, dtype, trial, ordinal, layout, ordinal == observed and layout == PLAIN)
            yield Case(_name(ordinal, layout), layout, FUNCTION, sample.size, run.judgement, run.repro)
        special = _special(spec, dtype, context.seed)
        if special is not None and (names is None or SPECIAL in names):
            trial = Trial(function, special, dtype, spec.oracle_for(dtype))
            run = Run(context, spec, dtype, trial, None, PLAIN)
            yield Case(SPECIAL, PLAIN, FUNCTION, special.size, run.judgement, run.repro)


def _special(spec: OperatorSpec, dtype: str, seed: int) -> Sample | None:
    judged = spec.oracle_for(dtype).rung not in ("random", "unjudged")
    return special_sample(opinfo_samples(spec.name, dtype, seed)) if spec.special and judged else None


def _planned(spec: OperatorSpec, dtype: str, seed: int) -> list[tuple[int, str]]:
    """Ordinals and layouts in the order of their names."""
    samples = opinfo_samples(spec.name, dtype, seed)
    layouts = sorted(set(spec.layouts))
    relaid = set(relaid_samples(samples, spec.largest))
    return [
        (ordinal, layout)
        for ordinal, sample in enumerate(samples)
        if spec.largest is None or sample.size <= spec.largest
        for layout in (layouts if ordinal in relaid else (PLAIN,))
    ]


def _telling(function: Callable[..., Any], samples: Sequence[Sample], ordinals: Sequence[int]) -> int:
    """The ordinal of the sample that shows how the operator is served: on none or one element, most calls show nothing.

    Where no sample has a tensor with more, as for functions that create one, the size of the host's result decides.
    """
    found = next((ordinal for ordinal in ordinals if samples[ordinal].size > 1), None)
    if found is not None:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {ordinal: _result_size(function, samples[ordinal]) for ordinal in ordinals}
    return max(ordinals, key=lambda ordinal: min(sizes[ordinal], 2), default=0)


def _result_size(function: Callable[..., Any], sample: Sample) -> int:
    try:
        return sum(tensor.numel() for tensor in tensors(evaluate(function, clone(sample))))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return 0  # the host's own case says so: such a sample is unjudged


def _name(ordinal: int, layout: str) -> str:
    return f"sample-{ordinal:04}/{layout}/{FUNCTION}"
