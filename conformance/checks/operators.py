"""The check `operators.forward`: every operator of torch's catalogue, called once per sample and layout."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.contract import Case, Judgement
from conformance.device.execution import observe
from conformance.inputs import catalogue, script
from conformance.inputs.layouts import PLAIN, relaid_samples, relay
from conformance.inputs.samples import PLAN_SEED, Sample, opinfo_samples, seed_of
from conformance.inputs.special import special_sample
from conformance.inputs.transport import clone, fetch, names_device, send
from conformance.inputs.tree import tensors
from conformance.oracle import judge, laws, metadata, randomness
from conformance.oracle.compare import Measure
from conformance.oracle.formats import is_inexact
from conformance.oracle.judge import Finding
from conformance.oracle.reference import evaluate, outputs, wide_reference
from conformance.oracle.trial import HostError, Trial, same_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.checks.contract import Context
    from conformance.device.execution import Observation
    from conformance.spec.operators import OperatorSpec, Oracle
    from conformance.spec.suite import Suite

FUNCTION = "function"
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

    def cases(self, context: Context, operator: str, dtype: str) -> Iterator[Case]:
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
            sample = samples[ordinal]
            if trial is None or trial.sample is not sample:
                trial = Trial(function, sample, dtype, spec.oracle_for(dtype))
            run = Run(context, spec, dtype, trial, ordinal, layout, observes=ordinal == observed and layout == PLAIN)
            yield Case(_name(ordinal, layout), layout, FUNCTION, sample.size, run.judgement, run.repro)
        special = _special(spec, dtype, context.seed)
        if special is not None:
            trial = Trial(function, special, dtype, spec.oracle_for(dtype))
            run = Run(context, spec, dtype, trial, None, PLAIN, observes=False)
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


@dataclass(frozen=True, slots=True)
class Run:
    """One call of one operator on the device, and its judgement; `ordinal` is that of an OpInfo sample, else None."""

    context: Context
    spec: OperatorSpec
    dtype: str
    trial: Trial
    ordinal: int | None
    layout: str
    observes: bool

    @property
    def oracle(self) -> Oracle:
        return self.trial.oracle

    def judgement(self) -> Judgement:
        """Call, synchronize, judge; an exception of the device's leaves this function."""
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            found = self._random() if self._draws else self._judged()
            seen = self._observe() if self.observes else None
        measure, outcome = found.measure, found.outcome
        by_itself = self.context.device.type == "cpu" and outcome == "pass" and self._same_kernel()
        return Judgement(
            outcome=outcome,
            error=measure.error if outcome != "unjudged" else None,
            bound=measure.bound if outcome != "unjudged" else None,
            rung=measure.rung if outcome != "unjudged" else None,
            message=found.unjudged or measure.message,
            overload=seen.overload if seen else None,
            execution=seen.execution if seen else None,
            kernels=seen.kernels if seen else (),
            fell_back=seen.fell_back if seen else (),
            evidence="self" if by_itself else None,
        )

    def _same_kernel(self) -> bool:
        """Whether the reference came from the very kernel that is judged, so that a pass is no evidence."""
        return not self._draws and self.oracle.judge != "metadata" and self.trial.reference is self.trial.host

    @property
    def _draws(self) -> bool:
        law = self.oracle.law
        return self.oracle.rung == "random" or (law is not None and laws.drops(law, self.trial.sample))

    def _inputs(self) -> Sample:
        return relay(self.trial.sample, self.layout)

    def _send(self, laid: Sample) -> Sample:
        return send(laid, self.context.device, self.spec.host_arguments)

    def _mismatch(self, found: list[Any], host: list[Any], sent: Sample) -> str | None:
        device = self.context.device
        where = device if names_device(sent, device) else torch.device("cpu")
        return metadata.mismatch(found, host, where, len(found) - len(sent.tensors))

    def _call(self, inputs: Sample) -> Any:
        with self.context.around():
            result = self.trial.function(*inputs.args, **inputs.kwargs)
        synchronize(self.context.device)
        return result

    def _judged(self) -> Finding:
        laid = self._inputs()
        sent = self._send(laid)
        try:
            host = self.trial.host
        except HostError as error:
            return Finding(Measure("exact", 0.0, 0.0), f"the host raises on this sample: {error}")
        result = self._call(sent)
        found = outputs(result, sent)
        problem = self._mismatch(found, host, sent)
        if problem is None and self.spec.view:
            problem = self._view_problem(found, sent)
        if problem is not None:
            return Finding(Measure("exact", 1.0, 0.0, problem))
        if self.oracle.rung == "unjudged":
            return Finding(Measure("exact", 0.0, 0.0), self.oracle.why)
        got = fetch(found)
        count = len(sent.tensors)
        untouched = [
            same_bytes(after, before) for after, before in zip(fetch(sent.tensors), laid.tensors, strict=True)
        ] if count else []  # fmt: skip
        finding = judge.judge(self.trial, got, untouched)
        excuse = judge.excuse(self.trial, laid, finding)
        return finding if excuse is None else replace(finding, unjudged=excuse)

    def _view_problem(self, found: list[Any], sent: Sample) -> str | None:
        if self.layout != PLAIN:
            return None  # whether a view exists of another layout is up to the layout
        arguments = sent.tensors
        host_arguments = self.trial.host[len(self.trial.host) - len(arguments) :]
        results = len(found) - len(arguments)
        return metadata.view_mismatch(found[:results], arguments, self.trial.host[:results], host_arguments)

    def _random(self) -> Finding:
        host = self.trial.host
        laid = self._inputs()
        # Fresh inputs for every draw only where the operator writes to them: sending is half of what a draw costs.
        shared = None if any(self.trial.changed) else self._send(laid)

        def draw() -> torch.Tensor:
            sent = self._send(laid) if shared is None else shared
            result = self._call(sent)
            found = outputs(result, sent)
            problem = self._mismatch(found, host, sent)
            if problem is not None:
                raise _RefutedError(problem)
            drawn: torch.Tensor = fetch(found[0])
            return drawn.clone()

        law = self.oracle.law or ""
        centre = None
        if law not in laws.LAWS:
            still = wide_reference(self.trial.function, laws.without_drops(law, self.trial.sample))
            centre = still[0]
        seed = seed_of(self.spec.name, self.dtype, "device", self.context.seed)
        try:
            measure = randomness.judge(law, self.trial.sample, draw, lambda: reseed(seed), centre)
        except _RefutedError as error:
            return Finding(Measure("exact", 1.0, 0.0, str(error)))
        if shared is not None:
            for number, (after, before) in enumerate(zip(fetch(shared.tensors), laid.tensors, strict=True)):
                if not same_bytes(after, before):
                    return Finding(Measure("exact", 1.0, 0.0, f"the call wrote to its tensor argument {number}"))
        return Finding(measure)

    def _observe(self) -> Observation:
        inputs = self._send(self._inputs())
        return observe(lambda: self._call(inputs), self.context.device)

    def repro(self) -> str:
        """A short script that makes the call on the device and on the host."""
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            trial = self.trial
            return script.write(
                self.spec.name, self._inputs(), self.ordinal, self.dtype,
                device=str(self.context.device), module=self.context.profile.import_module, seed=self.context.seed,
                wide=is_inexact(trial.dtype) and trial.reference is not trial.host, result=trial.result,
            )  # fmt: skip


class _RefutedError(Exception):
    """A random draw of another dtype, shape or device."""


def reseed(seed: int) -> None:
    """Seed the generators of the host and of every device."""
    torch.manual_seed(seed)


def synchronize(device: torch.device) -> None:
    """Wait for the device, so that a late error stays on the case that caused it."""
    if device.type == "cpu":
        return
    module = getattr(torch, device.type, None)
    wait = getattr(module, "synchronize", None)
    if callable(wait):
        wait()
