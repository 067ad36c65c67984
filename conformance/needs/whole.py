"""The whole model on the device: outputs, gradients and what it writes to, against the float64 of the host."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch.func import functional_call

from conformance.checks.operators.run import synchronize
from conformance.inputs.samples import Sample
from conformance.inputs.transport import CannotTravelError, fetch, send
from conformance.needs.answer import Answer
from conformance.needs.model import build
from conformance.needs.passes import one_line, seeds_of, tensors_of
from conformance.oracle import conditioned, metadata
from conformance.oracle.compare import Measure, exact, worst
from conformance.oracle.formats import is_inexact, wide_dtype
from conformance.oracle.reference import outputs
from conformance.oracle.trial import HostError, Trial, same_bytes
from conformance.spec.operators import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.needs.model import Target

#: A model's small outputs and gradients are sums of large terms, so all elements have the bound of the largest.
_NORMWISE = Oracle("conditioned", scale="whole")


def whole(target: Target, device: torch.device) -> Answer:
    """Run the model forward and, where its outputs need gradients, backward on the device, and judge it as one call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build(target)
        state = {**dict(model.module.named_parameters()), **dict(model.module.named_buffers())}
        wanting = frozenset(name for name, tensor in state.items() if tensor.requires_grad)
        sample = Sample(({n: t.detach().clone() for n, t in state.items()}, model.args, model.kwargs), {})
        floats = [tensor.dtype for tensor in sample.tensors if is_inexact(tensor.dtype)]
        if not floats:
            return Answer("not measured", "the model computes in whole numbers alone")
        trial = Trial(_function(model.module, wanting), sample, str(floats[0]).removeprefix("torch."), _NORMWISE)
        return _judged(trial, build(target).module, wanting, device)


def _function(module: torch.nn.Module, wanting: frozenset[str]) -> Callable[..., list[torch.Tensor]]:
    """The model as a function of its state and arguments: outputs, then the gradients of the parameters."""

    def run(state: dict[str, torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        with torch.enable_grad():
            leaves = {name: state[name].detach().requires_grad_() for name in sorted(wanting)}
            results = tensors_of(functional_call(module, {**state, **leaves}, args, kwargs))
            seeds = seeds_of(results)
            gradients: tuple[Any, ...] = ()
            if seeds and leaves:
                gradients = torch.autograd.grad(
                    [o for o, _ in seeds], list(leaves.values()), [s for _, s in seeds], allow_unused=True
                )
        return [*(r.detach() for r in results), *(g for g in gradients if g is not None)]

    return run


def _judged(trial: Trial, module: torch.nn.Module, wanting: frozenset[str], device: torch.device) -> Answer:
    try:
        host = trial.host
    except HostError as error:
        return Answer("not measured", f"the host can't run it as a function of its state: {error}")
    try:
        sent = send(trial.sample, device)
        found = outputs(_function(module.to(device), wanting)(*sent.args), sent)
        synchronize(device)
        got, after = fetch(found), fetch(list(sent.tensors))
    except Exception as error:  # noqa: BLE001 - a device may raise anything
        return Answer("error", one_line(error))
    problem = metadata.mismatch(found, host, device, len(found) - len(sent.tensors))
    if problem is not None:
        return Answer("wrong", problem)
    try:
        return _measured(trial, got, after)
    except (CannotTravelError, RuntimeError, TypeError, ValueError, IndexError) as error:
        return Answer("not measured", f"the host can't run it in float64: {one_line(error)}")


def _measured(trial: Trial, got: list[Any], after: list[torch.Tensor]) -> Answer:
    """The worst of the results that can be judged; how many can't is said, for each says nothing of the others.

    A gradient that is nothing but what cancels, as that of a bias before a batch normalization, has no bound.
    """
    results = len(got) - len(after)
    writes = [results + number for number, changed in enumerate(trial.changed) if changed]
    for number, (now, before) in enumerate(zip(after, trial.sample.tensors, strict=True)):
        if not trial.changed[number] and not same_bytes(now, before):
            return Answer("wrong", f"the model wrote to its tensor {number}")
    measures: list[Measure] = []
    reasons: list[str] = []
    for index in [*range(results), *writes]:
        measured, reason = _result(trial, index, got[index])
        if reason is None:
            measures.append(measured)
        else:
            reasons.append(reason)
    worst_one = worst(measures)
    if worst_one is None:
        return Answer("not measured", reasons[0] if reasons else "it returns nothing")
    message = worst_one.message
    if worst_one.passed and reasons:
        message = f"{len(reasons)} of {len(measures) + len(reasons)} results are not judged: {reasons[0]}"
    verdict = "right" if worst_one.passed else "wrong"
    return Answer(verdict, message, None, (), worst_one.error, worst_one.bound, worst_one.rung)


def _result(trial: Trial, index: int, got: torch.Tensor) -> tuple[Measure, str | None]:
    want = trial.reference[index]
    if not is_inexact(got.dtype):
        return exact(got, trial.host[index]), None
    if want.shape != got.shape:
        return Measure("conditioned", 0.0, 0.0), "in float64 it has another shape"
    return conditioned.judge(got, want.to(wide_dtype(got.dtype)), trial.spreads(index), whole=True)
