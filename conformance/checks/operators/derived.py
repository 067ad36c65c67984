"""Checks whose cases are made from OpInfo's samples: planned is what the host answers, and what it refuses.

Whether a call that nobody wrote down is one at all, the host says when the plan is made; a run takes the plan's word.
A refusal is planned where the operator's shape function, which knows of no device, refuses the call as well.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.contract import Case
from conformance.checks.operators.run import FUNCTION, REFUSED, STRIDES, Run
from conformance.inputs import catalogue
from conformance.inputs.layouts import PLAIN, relay
from conformance.inputs.samples import PLAN_SEED
from conformance.inputs.transport import clone, send
from conformance.inputs.tree import tensors
from conformance.oracle import metadata
from conformance.oracle.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from conformance.checks.contract import Context
    from conformance.inputs.samples import Sample
    from conformance.spec.operators import OperatorSpec, Oracle
    from conformance.spec.suite import Suite

_META = torch.device("meta")
#: An absent kernel is no refusal, and what Python's parser of arguments refuses no backend is asked about.
_REFUSALS = (RuntimeError, IndexError, ValueError)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that may be planned, in some layouts: `make` gives the function and its arguments, which `stem` names.

    It gives None where there is no such call after all. `precision` is that of results in a wider dtype. Of a call that
    `must_refuse` only a refusal is planned. `is_worth` says, when a plan is made, whether the host should be asked.
    `oracle` is that of the call where it is another than the operator's. `accepts` says whether what the host answers
    is planned. A refusal is `known` that PyTorch promises: no second opinion is asked.
    """

    stem: str
    variant: str
    make: Callable[[], tuple[Callable[..., Any], Sample] | None]
    layouts: tuple[str, ...] = (PLAIN,)
    precision: torch.dtype | None = None
    must_refuse: bool = False
    is_worth: Callable[[], bool] = lambda: True
    oracle: Oracle | None = None
    accepts: Callable[[Trial], bool] = lambda _: True
    known: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """A check of operators: `dtypes` says at which it is planned, `calls` what may be called.

    Where the check `observes`, the first call on more than one element shows how the operator is served, or the last
    one. What is `catalogued` has calls for OpInfo entries only.
    """

    id: str
    dtypes: Callable[[OperatorSpec], tuple[str, ...]]
    calls: Callable[[OperatorSpec, str, int], Iterator[Call]]
    refuses: bool = True
    observes: bool = False
    catalogued: bool = True

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:
        """The operators and dtypes that may have something to call; some turn out to have nothing."""
        known = catalogue.entries()
        for name, spec in suite.operators.items():
            if (name in known or not self.catalogued) and self.id not in spec.leaves_out:
                for dtype in self.dtypes(spec):
                    if f"{self.id}/{dtype}" not in spec.leaves_out and spec.oracle_of(self.id, dtype) is not None:
                        yield name, dtype

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:
        """The case names of a group; asks the host, and for refusals the shape functions."""
        spec = suite.operators[operator]
        oracle = spec.oracle_of(self.id, dtype)
        return [] if oracle is None else list(self._planned(spec, dtype, oracle))

    def _planned(self, spec: OperatorSpec, dtype: str, oracle: Oracle) -> Iterator[str]:
        for call in self.calls(spec, dtype, PLAN_SEED):
            if f"{self.id}/{dtype}/{call.stem}" in spec.leaves_out or not call.is_worth():
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = call.make()
                if made is None:
                    continue
                trial = Trial(*made, dtype, call.oracle or oracle, call.precision)
                error = trial.host_error
                refused = error is not None and self.refuses and (call.known or _is_refused(trial, error))
            if error is None and not call.must_refuse and call.accepts(trial):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    layouts = [layout for layout in call.layouts if layout == PLAIN or _is_taken(trial, layout)]
                yield from (case_name(call.stem, layout, call.variant) for layout in layouts)
            elif refused:
                yield case_name(call.stem, PLAIN, call.variant + REFUSED)

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None
    ) -> Iterator[Case]:
        """The planned cases of a group, in the order in which they are made."""
        spec = context.suite.operators[operator]
        oracle = spec.oracle_of(self.id, dtype)
        wanted = set(self.names(context.suite, operator, dtype) if names is None else names)
        if oracle is None:
            return
        observes, left = self.observes, sum(not name.endswith(REFUSED) for name in wanted)
        for call in self.calls(spec, dtype, context.seed):
            trial: Trial | None = None
            for layout in call.layouts:
                for variant in (call.variant, call.variant + REFUSED):
                    name = case_name(call.stem, layout, variant)
                    if name not in wanted:
                        continue
                    trial = trial or _trial(call, dtype, oracle)
                    refused = variant.endswith(REFUSED)
                    left -= not refused
                    observing = observes and not refused and (trial.sample.size > 1 or left == 0)
                    observes = observes and not observing
                    run = Run(context, spec, dtype, trial, None, layout, observing, variant)
                    action = run.refusal if refused else run.strides if variant == STRIDES else run.judgement
                    yield Case(name, layout, variant, trial.sample.size, action, run.repro)


def _trial(call: Call, dtype: str, oracle: Oracle) -> Trial:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = call.make()
    if made is None:
        raise LookupError(f"{call.stem}/{call.variant} is planned, but under this seed there is no such call")
    return Trial(*made, dtype, call.oracle or oracle, call.precision)


def _is_taken(trial: Trial, layout: str) -> bool:
    """Whether the host has an answer to the sample in another layout: some of its kernels want theirs contiguous."""
    fresh = clone(relay(trial.sample, layout))
    try:
        with torch.no_grad():
            trial.function(*fresh.args, **fresh.kwargs)
    except Exception:  # noqa: BLE001 - whatever it raises, it has no answer
        return False
    return True


def agrees_on_strides(trial: Trial) -> bool:
    """Whether the host lays its results out as the operator's shape function says, which torch.compile builds on."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            sent = send(trial.sample, _META)
            result = trial.function(*sent.args, **sent.kwargs)
    except Exception:  # noqa: BLE001 - a shape function that fails of itself, or for want of values, says nothing
        return False
    found, due = tensors(result), tensors(trial.result)
    return (
        len(found) == len(due) > 0
        and any(tensor.dim() > 1 for tensor in due)
        and all(a.shape == b.shape and a.layout is b.layout is torch.strided for a, b in zip(found, due, strict=True))
        and metadata.strides_mismatch(found, due) is None
    )


def is_in_range(trial: Trial) -> bool:
    """Whether the shape function takes the call: kernels of the host forgive a dimension that is not there."""
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            sent = send(trial.sample, _META)
            trial.function(*sent.args, **sent.kwargs)
    except IndexError:
        return False
    except Exception:  # noqa: BLE001 - a shape function that fails of itself, or for want of values, says nothing
        return True
    return True


#: A call with more elements in its arguments and results is not planned: judging it takes a dozen times their memory.
MOST_ELEMENTS = 1 << 21


def is_moderate(trial: Trial) -> bool:
    """Whether a worker can judge the call within its memory: a grown size may be there twice, or an exponent."""
    return sum(value.numel() for value in trial.host if isinstance(value, torch.Tensor)) <= MOST_ELEMENTS


def keeps_size(trial: Trial) -> bool:
    """Whether what is written to holds the result as it is: some kernels of the host resize it."""
    written = trial.host[len(trial.host) - len(trial.sample.tensors) :]
    return all(
        not isinstance(after, torch.Tensor) or after.numel() <= before.numel()
        for after, before in zip(written, trial.sample.tensors, strict=True)
    )


def _is_refused(trial: Trial, error: BaseException) -> bool:
    """Whether the call is refused whatever the device: by the host and, with the same class, by the shape function."""
    if not isinstance(error, _REFUSALS) or isinstance(error, NotImplementedError):
        return False
    try:
        with torch.no_grad():
            sent = send(trial.sample, _META)
            trial.function(*sent.args, **sent.kwargs)
    except NotImplementedError:
        return False
    except _REFUSALS as meta:
        return isinstance(meta, type(error))
    except Exception:  # noqa: BLE001 - a shape function that fails of itself, or for want of values, refuses nothing
        return False
    return False


def case_name(stem: str, layout: str, variant: str = FUNCTION) -> str:
    return f"{stem}/{layout}/{variant}"
