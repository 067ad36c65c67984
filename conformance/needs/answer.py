"""How the device answers one call of the model: how it is served, and whether the answer is right."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.operators.run import reseed, synchronize
from conformance.device.execution import could_not_run, observe
from conformance.inputs.samples import Sample
from conformance.inputs.transport import CannotTravelError, fetch, names_device, rebuild
from conformance.inputs.tree import tree_map
from conformance.needs.calls import Call, function_of
from conformance.needs.passes import one_line
from conformance.oracle import judge, metadata, randomness
from conformance.oracle.compare import Measure, differing
from conformance.oracle.dot import PlanError
from conformance.oracle.formats import is_inexact
from conformance.oracle.judge import Finding
from conformance.oracle.overloads import oracle_of
from conformance.oracle.reference import evaluate, outputs
from conformance.oracle.trial import HostError, Trial, same_bytes

if TYPE_CHECKING:
    from conformance.device.execution import Observation
    from conformance.spec.suite import Suite

_ANSWERS = {"pass": "right", "wrong": "wrong", "unjudged": "not measured"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call on the device.

    `answer` is right, wrong, error or not measured; `execution` native, composite, fallback, absent, or None where the
    call could not tell. `blame` are the overloads that are absent or that the host served.
    """

    answer: str
    message: str = ""
    execution: str | None = None
    blame: tuple[str, ...] = ()
    error: float | None = None
    bound: float | None = None
    rung: str | None = None


def answer(call: Call, device: torch.device, suite: Suite) -> Answer:
    """Make the call on the device and judge it; whatever the device raises is the answer `error`."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            found = _judged(call, device, suite)
        except _DeviceError as raised:
            cause = raised.cause
            missing = could_not_run(cause)
            if missing is not None:
                return Answer("not measured", one_line(cause), "absent", (missing,))
            return Answer("error", one_line(cause), _observed(call, device).execution)
        seen = _observed(call, device)
    measure, said = found.measure, found.outcome != "unjudged"
    return Answer(
        answer=_ANSWERS[found.outcome],
        message=found.unjudged or measure.message,
        execution=seen.execution,
        blame=seen.fell_back,
        error=measure.error if said else None,
        bound=measure.bound if said else None,
        rung=measure.rung if said else None,
    )


class _DeviceError(Exception):
    """The device raised: `cause` is what it raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _observed(call: Call, device: torch.device) -> Observation:
    function = function_of(call.overload)
    inputs = _send(call, device)

    def run() -> None:
        function(*inputs.args, **inputs.kwargs)
        synchronize(device)

    return observe(run, device)


def _send(call: Call, device: torch.device) -> Sample:
    """The arguments where the model had them: on the device, but for what was on the host.

    Storages travel whole, so that strides and offsets survive; to a device without as_strided, tensors travel one by
    one, so that what it has can be measured all the same.
    """

    def move(flat: torch.Tensor) -> torch.Tensor:
        return flat.clone() if device.type == "cpu" else flat.to(device)

    def leaf(value: Any) -> Any:
        if call.to_host:
            return value
        if isinstance(value, torch.device):
            return device
        if isinstance(value, torch.Generator):
            return torch.Generator(device).manual_seed(value.initial_seed())
        return value

    try:
        return rebuild(call.sample, move, leaf, call.staying)
    except (NotImplementedError, RuntimeError) as error:
        if could_not_run(error) is None:
            raise
    number = itertools.count()

    def one_by_one(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return leaf(value)
        return value if next(number) in call.staying else value.to(device)

    args, kwargs = tree_map(one_by_one, (call.sample.args, call.sample.kwargs))
    return Sample(args, kwargs)


def _judged(call: Call, device: torch.device, suite: Suite) -> Finding:
    function = function_of(call.overload)
    name = _dtype(call)
    trial = Trial(function, call.sample, name, oracle_of(function, call.sample, name, suite.operators))
    try:
        host = trial.host
    except HostError as error:
        return _unjudged(f"the host has no answer: {error}")
    if trial.oracle.rung == "random":
        return _random(call, trial, device)
    found, sent = _call(call, function, device)
    problem = _mismatch(call, found, host, sent, device)
    if problem is None and function.is_view:
        problem = _view_problem(found, host, sent)
    if problem is not None:
        return Finding(Measure("exact", 1.0, 0.0, problem))
    if trial.oracle.rung == "unjudged":
        return _unjudged(trial.oracle.why or "the suite does not judge it")
    got, after = _fetched(found, sent)
    untouched = [_same(a, b) for a, b in zip(after, call.sample.tensors, strict=True)]
    try:
        finding = judge.judge(trial, got, untouched)
        return judge.beside_host(trial, call.sample, got, finding) or finding
    except (PlanError, CannotTravelError, RuntimeError, TypeError, ValueError, IndexError, KeyError) as error:
        return _unjudged(f"the oracle has no bound for it: {one_line(error)}")


def _call(call: Call, function: Any, device: torch.device) -> tuple[list[Any], Sample]:
    try:
        sent = _send(call, device)
        result = function(*sent.args, **sent.kwargs)
        synchronize(device)
        return outputs(result, sent), sent
    except Exception as error:
        raise _DeviceError(error) from error


def _fetched(found: list[Any], sent: Sample) -> tuple[list[Any], list[torch.Tensor]]:
    try:
        try:
            return fetch(found), fetch(list(sent.tensors))
        except (NotImplementedError, RuntimeError) as error:
            if could_not_run(error) is None:
                raise
        values = tree_map(lambda leaf: leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf, found)
        return values, [tensor.detach().cpu() for tensor in sent.tensors]
    except Exception as error:
        raise _DeviceError(error) from error


def _same(after: torch.Tensor, before: torch.Tensor) -> bool:
    """Whether an argument is as it was: its whole storage, or its values where only they could travel."""
    if after.layout is not torch.strided or (
        after.stride() == before.stride() and after.untyped_storage().nbytes() == before.untyped_storage().nbytes()
    ):
        return same_bytes(after, before)
    return after.shape == before.shape and not bool(differing(after, before).any())


def _mismatch(call: Call, found: list[Any], host: list[Any], sent: Sample, device: torch.device) -> str | None:
    where = device if not call.to_host and names_device(sent, device) else torch.device("cpu")
    return metadata.mismatch(found, host, where, len(found) - len(sent.tensors))


def _view_problem(found: list[Any], host: list[Any], sent: Sample) -> str | None:
    arguments = sent.tensors
    count = len(found) - len(arguments)
    return metadata.view_mismatch(found[:count], arguments, host[:count], host[count:])


def _random(call: Call, trial: Trial, device: torch.device) -> Finding:
    """Many draws against the law that the suite names for the operator."""
    function = function_of(call.overload)
    host = trial.host

    def draw() -> torch.Tensor:
        found, sent = _call(call, function, device)
        problem = _mismatch(call, found, host, sent, device)
        if problem is not None:
            raise _RefutedError(problem)
        drawn: torch.Tensor = _fetched(found[:1], sent)[0][0]
        return drawn.clone()

    try:
        return Finding(randomness.judge(trial.oracle.law or "", call.sample, draw, lambda: reseed(0)))
    except _RefutedError as error:
        return Finding(Measure("exact", 1.0, 0.0, str(error)))
    except (TypeError, ValueError, IndexError, KeyError) as error:
        return _unjudged(f"the law does not fit the call: {one_line(error)}")


class _RefutedError(Exception):
    """A draw of another dtype, shape or device."""


def _unjudged(reason: str) -> Finding:
    return Finding(Measure("exact", 0.0, 0.0), reason)


def _dtype(call: Call) -> str:
    """The dtype that a call computes in: of its first inexact tensor, else of its first, else of its result."""
    dtypes = [t.dtype for t in call.sample.tensors]
    if not dtypes:
        try:
            results = evaluate(function_of(call.overload), call.sample)
        except Exception:  # noqa: BLE001 - the trial asks the host again, and says what it raises
            results = []
        dtypes = [value.dtype for value in results if isinstance(value, torch.Tensor)]
    chosen = next((dtype for dtype in dtypes if is_inexact(dtype)), dtypes[0] if dtypes else torch.float32)
    return str(chosen).removeprefix("torch.")
