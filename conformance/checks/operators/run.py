"""One call of one operator on the device, and its judgement."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.contract import Judgement
from conformance.device.execution import could_not_run, observe
from conformance.inputs import script
from conformance.inputs.layouts import PLAIN, relay
from conformance.inputs.samples import seed_of
from conformance.inputs.transport import fetch, names_device, send
from conformance.oracle import judge, laws, metadata, randomness
from conformance.oracle.compare import Measure
from conformance.oracle.formats import is_inexact
from conformance.oracle.judge import Finding
from conformance.oracle.reference import outputs, wide_reference
from conformance.oracle.trial import HostError, first_line, same_bytes, spilled

if TYPE_CHECKING:
    from conformance.checks.contract import Context
    from conformance.device.execution import Observation
    from conformance.inputs.samples import Sample
    from conformance.oracle.trial import Trial
    from conformance.spec.operators import OperatorSpec, Oracle


FUNCTION = "function"
#: The variant of a call that is made for the strides of its results.
STRIDES = "strides"
#: What stands behind the variant of a call that the operator has to refuse.
REFUSED = "-refused"
#: Variants that write to an argument and return it.
WRITING = ("inplace", "out")


@dataclass(frozen=True, slots=True)
class Run:
    """One call of one operator on the device, and its judgement.

    `ordinal` is that of an OpInfo sample as it is, else None; `observes` says that the call also shows how the operator
    is served.
    """

    context: Context
    spec: OperatorSpec
    dtype: str
    trial: Trial
    ordinal: int | None
    layout: str
    observes: bool = False
    variant: str = FUNCTION

    @property
    def oracle(self) -> Oracle:
        return self.trial.oracle

    def call(self) -> None:
        """Call and judge nothing: for who watches what is called."""
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            self._call(self._send(self._inputs()))

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
        if self._draws or self.oracle.judge == "metadata" or self.oracle.rung == "residual":
            return False
        return self.trial.reference is self.trial.host

    @property
    def _draws(self) -> bool:
        law = self.oracle.law
        return self.oracle.rung == "random" or (law is not None and laws.drops(law, self.trial.sample))

    def _inputs(self) -> Sample:
        return relay(self.trial.sample, self.layout)

    def _send(self, laid: Sample) -> Sample:
        return send(laid, self.context.device, self.spec.host_arguments)

    def strides(self) -> Judgement:
        """Call and look only at how the results lie in memory."""
        laid = self._inputs()
        sent = self._send(laid)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            found = outputs(self._call(sent), sent)
        host = self.trial.host
        results = len(found) - len(sent.tensors)
        problem = self._mismatch(found, host, sent) or metadata.strides_mismatch(found[:results], host[:results])
        outcome = "pass" if problem is None else "wrong"
        return Judgement(outcome, float(problem is not None), 0.0, "exact", problem or "")

    def refusal(self) -> Judgement:
        """Call what the host refuses: the device must raise an exception of the same class."""
        due = self.trial.host_error
        if due is None:
            return Judgement("unjudged", message="the host takes the call under this seed")
        sent = self._send(self._inputs())
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            try:
                self._call(sent)
            except Exception as error:
                if could_not_run(error):
                    raise
                if isinstance(error, type(due)):
                    return Judgement("pass", 0.0, 0.0, "exact")
                return Judgement("error", message=f"{type(error).__name__} where {type(due).__name__} is due: {error}")
        return Judgement("error", message=f"no exception where {type(due).__name__} is due: {first_line(due)}")

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
        if problem is None and self.variant == FUNCTION and self.spec.view:
            problem = self._view_problem(found, sent)
        if problem is None:
            problem = self._written_problem(found, sent)
        if problem is not None:
            return Finding(Measure("exact", 1.0, 0.0, problem))
        if self.oracle.rung == "unjudged":
            return Finding(Measure("exact", 0.0, 0.0), self.oracle.why)
        got = fetch(found)
        after = fetch(sent.tensors)
        for number, (left, right, written) in enumerate(zip(after, laid.tensors, self.trial.changed, strict=True)):
            if written and (count := spilled(left, right)):
                said = f"the call wrote to {count} elements around its tensor argument {number}, which is a view"
                return Finding(Measure("exact", float(count), 0.0, said))
        untouched = [same_bytes(left, right) for left, right in zip(after, laid.tensors, strict=True)]
        finding = judge.judge(self.trial, got, untouched)
        return judge.beside_host(self.trial, laid, got, finding) or finding

    def _written_problem(self, found: list[Any], sent: Sample) -> str | None:
        """What is written to keeps its strides, but where it had to be resized, and is what the call returns."""
        arguments = sent.tensors
        results, host = found[: len(found) - len(arguments)], self.trial.host
        host_arguments = host[len(results) :]
        if len(host_arguments) != len(arguments):
            return None  # sparse arguments, which are listed by their parts
        for number, (argument, due) in enumerate(zip(arguments, host_arguments, strict=True)):
            before = self.trial.sample.tensors[number]
            if self.trial.changed[number] and due.shape == before.shape and argument.shape == due.shape:
                problem = metadata.stride_mismatch(argument, self._laid_strides(number))
                if problem:
                    return f"tensor argument {number}: {problem}"
        if self.variant.startswith(WRITING):
            return metadata.alias_mismatch(results, arguments, host[: len(results)], host_arguments)
        return None

    def _laid_strides(self, number: int) -> tuple[int, ...]:
        return self._inputs().tensors[number].stride()

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
            refused = self.variant.endswith(REFUSED)
            wide = not refused and is_inexact(trial.dtype) and trial.reference is not trial.host
            result = None if refused else trial.result
            pasted = script.Pasted(
                self.spec.name, trial.function, self._inputs(), self.ordinal, self.dtype, result, wide, refused
            )
            device, module = str(self.context.device), self.context.profile.import_module
            return script.write(pasted, device=device, module=module, seed=self.context.seed)


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
