"""The judge: the outputs of a device against a trial, by the rung that the suite names for the operator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.transport import clone
from conformance.inputs.variants import Gradient
from conformance.oracle import compare, conditioned, dot, residual, ties
from conformance.oracle.compare import Measure
from conformance.oracle.formats import is_inexact
from conformance.oracle.reference import evaluate
from conformance.spec.operators import BEYOND_HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.inputs.samples import Sample
    from conformance.oracle.trial import Trial


@dataclass(frozen=True, slots=True)
class Finding:
    """The judgement of all outputs of one call: the worst measure, and why it says nothing where it does not."""

    measure: Measure
    unjudged: str | None = None

    @property
    def outcome(self) -> str:
        if self.unjudged is not None:
            return "unjudged"
        return "pass" if self.measure.passed else "wrong"


def judge(trial: Trial, got: Sequence[Any], untouched: Sequence[bool]) -> Finding:
    """Measure fetched outputs, whose metadata is right, against the trial.

    `untouched` says for each tensor argument whether the device left its memory as it was; an argument that the host
    leaves alone must be untouched, one that it writes to is an output like any other.
    """
    oracle = trial.oracle
    if oracle.judge == "metadata":
        return Finding(Measure("exact", 0.0, 0.0))
    results = len(trial.host) - len(untouched)
    if oracle.rung == "residual":
        return _factors(trial, got[:results], untouched)
    findings = [_leaf(trial, index, got[index]) for index in range(results)]
    for number, (same, changed) in enumerate(zip(untouched, trial.changed, strict=True)):
        if changed:
            findings.append(_leaf(trial, results + number, got[results + number]))
        elif not same:
            return Finding(Measure("exact", 1.0, 0.0, f"the call wrote to its tensor argument {number}"))
    return _worst(findings)


def _factors(trial: Trial, got: Sequence[Any], untouched: Sequence[bool]) -> Finding:
    """Factors by their equations; what is written to by the call holds the factors, as its aliasing shows."""
    for number, (same, changed) in enumerate(zip(untouched, trial.changed, strict=True)):
        if not same and not changed:
            return Finding(Measure("exact", 1.0, 0.0, f"the call wrote to its tensor argument {number}"))
    return Finding(residual.judge(trial.oracle.equations or "", trial.sample, got, trial.dtype))


def _worst(findings: Sequence[Finding]) -> Finding:
    if not findings:
        return Finding(Measure("exact", 0.0, 0.0))
    failing = [f for f in findings if f.unjudged is None and not f.measure.passed]
    unjudged = [f for f in findings if f.unjudged is not None]
    # An output that is wrong is wrong, whatever can't be said of the others.
    chosen = failing or unjudged or findings
    return max(chosen, key=lambda f: (f.measure.ratio, f.measure.rung != "exact"))


def _leaf(trial: Trial, index: int, got: Any) -> Finding:
    want = trial.reference[index]
    if not isinstance(got, torch.Tensor):
        return Finding(_plain(got, want, trial.host[index]))
    oracle = trial.oracle
    if trial.precision is not None and is_inexact(got.dtype):
        got = got.to(trial.precision.to_complex() if got.is_complex() else trial.precision)
    if not is_inexact(got.dtype):
        return Finding(_whole(trial, index, got, want))
    if got.shape != want.shape:
        return Finding(Measure(oracle.rung, math.inf, 0.0), "the float64 reference has another shape")
    want = want if is_inexact(want.dtype) else want.to(torch.float64)
    if oracle.rung == "exact":
        return Finding(compare.exact(got, want, signed_zero=oracle.judge != "numbers"))
    if oracle.rung == "dot":
        stored = oracle.rounds == "storage"
        return Finding(dot.judge(got, want, trial.absolute[index], trial.terms[index], oracle.extra, stored=stored))
    measured, reason = conditioned.judge(
        got, want, trial.spreads(index), whole=oracle.scale == "whole", terms=trial.most_terms(want),
        beside=_beside(trial), near=trial.near(index, got.dtype, whole=oracle.scale == "whole"),
    )  # fmt: skip
    return Finding(measured, reason)


def _beside(trial: Trial) -> float:
    """The size of the numbers that a result may be what is left of; 0 where it has no size but its own."""
    if isinstance(trial.function, Gradient) or trial.oracle.scale == "inputs":
        return trial.largest
    return 1.0 if trial.oracle.scale == "one" else 0.0


def _whole(trial: Trial, index: int, got: torch.Tensor, want: torch.Tensor) -> Measure:
    """Integers and booleans are exact, but for indices of values that tie."""
    if want.dtype != got.dtype or want.shape != got.shape:
        want = trial.host[index]
    kind = trial.oracle.ties
    if kind is not None and got.numel() and ties.applies(kind, index, len(trial.host) - len(trial.changed)):
        return ties.judge(kind, trial.sample, got, want)
    return compare.exact(got, want)


def _plain(got: Any, want: Any, host: Any) -> Measure:
    """A result that is no tensor: equal to what the host returns, NaN to NaN."""
    same = got == host or (isinstance(got, float) and math.isnan(got) and math.isnan(host))
    if not same and isinstance(got, float) and isinstance(want, float):
        same = got == want
    return Measure("exact", float(not same), 0.0, "" if same else f"{got!r} where {host!r} is due")


def beside_host(trial: Trial, laid: Sample, got: Sequence[Any], finding: Finding) -> Finding | None:
    """A wrong answer measured by the host's own distance, where the host's kernel is known to miss the bound.

    None where nothing is known of the host, where it is inside the bound on this sample, and where the device is more
    than four times as far out. Where the measure knows no distance (another class of number, a count of elements) only
    the host's own answer will do.
    """
    known = trial.oracle.host_off
    if finding.outcome != "wrong" or known is None:
        return None
    outputs = evaluate(trial.function, clone(laid))
    host = judge(trial, outputs, [not changed for changed in trial.changed])
    if host.outcome != "wrong":
        return None
    said = f"the host misses the bound as well, {host.measure.ratio:.3g} times: {known}"
    if finding.measure.rung == "exact" or not math.isfinite(finding.measure.ratio):
        return Finding(Measure("host", 1.0, BEYOND_HOST, said)) if _same(got, outputs) else None
    distance = finding.measure.ratio / host.measure.ratio
    return Finding(Measure("host", distance, BEYOND_HOST, said)) if distance <= BEYOND_HOST else None


def _same(got: Sequence[Any], host: Sequence[Any]) -> bool:
    return all(
        isinstance(left, torch.Tensor) and left.shape == right.shape and not bool(compare.differing(left, right).any())
        if isinstance(right, torch.Tensor) else left == right
        for left, right in zip(got, host, strict=True)
    )  # fmt: skip
