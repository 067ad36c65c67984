"""The record of a fault, the registry, and how a fault of a functional operator becomes one of its other variants.

A fault is called with the healthy implementation first, then with what the operator is called with. Its tensors must
have the sizes, the strides and the storage offset of the device's, as that is what most triggers look at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor
from torch._ops import OpOverload

from conformance.faults.contrast import VALUES, Call, Make, Strictness, contrast
from conformance.faults.memory import expanded
from conformance.faults.overloads import Healthy, arguments_of, full_name, resolve

#: What a fault keeps between its calls.
State = dict[Any, Any]
#: Makes one call or several in a row; a new one each time, as a call may write to its arguments.
Demonstration = Callable[[], Call | Sequence[Call]]
_Faulty = TypeVar("_Faulty", bound=Callable[..., Any])


@dataclass(frozen=True)
class Outcome:
    """What came of a witness or a control, at which overload, and why."""

    ok: bool
    where: str
    detail: str


@dataclass(frozen=True)
class Mutant:
    """An injected fault: the semantics of one public defect report, or of several that are alike.

    `source` names the reports as `owner/repo#number`, several separated by a comma. `fidelity` is "exact" where they
    pin down the wrong values, "modelled" where they pin down the trigger but not the values.
    """

    id: str
    source: str
    kind: str
    ops: tuple[str, ...]
    description: str
    make: Make
    triggers: tuple[str, ...]
    fidelity: Literal["exact", "modelled"]
    strictness: Strictness
    witnesses: tuple[Demonstration, ...]
    controls: tuple[Demonstration, ...]
    custom: Callable[[Mutant], Outcome] | None

    def witness(self) -> Outcome:
        """Show that the healthy and the faulty results differ under the trigger."""
        if self.custom is not None:
            return self.custom(self)
        last = Outcome(ok=False, where="-", detail="no witness")
        for demonstration in self.witnesses:
            where, found = self._contrast(demonstration)
            last = Outcome(found is not None, where, found or "no difference")
            if last.ok:
                break
        return last

    def control(self) -> Outcome:
        """Show that the healthy and the faulty results agree away from the trigger."""
        where = "-"
        for demonstration in self.controls:
            where, found = self._contrast(demonstration)
            if found is not None:
                return Outcome(ok=False, where=where, detail=found)
        return Outcome(ok=True, where=where, detail="agrees" if self.controls else "the report has no safe input")

    def _contrast(self, demonstration: Demonstration) -> tuple[str, str | None]:
        made = demonstration()
        calls = [made] if isinstance(made, Call) else made
        return full_name(calls[-1].op), contrast(self.make, calls, self.strictness)


REGISTRY: dict[str, Mutant] = {}


def mutant(
    name: str,
    source: str,
    kind: str,
    ops: str,
    description: str,
    *,
    triggers: str = "",
    fidelity: Literal["exact", "modelled"] = "exact",
    raw: bool = False,
    stateful: bool = False,
    strictness: Strictness = VALUES,
    witness: Demonstration | Sequence[Demonstration] = (),
    control: Demonstration | Sequence[Demonstration] = (),
    custom: Callable[[Mutant], Outcome] | None = None,
) -> Callable[[_Faulty], _Faulty]:
    """Register the decorated function as a fault of the overloads `ops`.

    The function is called with the healthy operator, free of side effects, and the arguments; the in-place and `out=`
    overloads follow from it (see `lift`). With `raw` it gets the overload as it is, and with `stateful` first of all a
    dictionary that lasts between calls.
    """

    def register(fault: _Faulty) -> _Faulty:
        if name in REGISTRY:
            raise ValueError(f"two faults are called {name}")
        REGISTRY[name] = Mutant(
            id=name,
            source=source,
            kind=kind,
            ops=tuple(f"aten::{op}" for op in ops.split()),
            description=" ".join(description.split()),
            make=as_it_is(fault, stateful=stateful) if raw else lift(fault, stateful=stateful),
            triggers=tuple(triggers.split()),
            fidelity=fidelity,
            strictness=strictness,
            witnesses=_several(witness),
            controls=_several(control),
            custom=custom,
        )
        return fault

    return register


def _several(demonstrations: Demonstration | Sequence[Demonstration]) -> tuple[Demonstration, ...]:
    return (demonstrations,) if callable(demonstrations) else tuple(demonstrations)


def _with_state(fault: Callable[..., Any], *, stateful: bool) -> Callable[..., Any]:
    if not stateful:
        return fault
    state: State = {}
    return lambda *args, **kwargs: fault(state, *args, **kwargs)


def as_it_is(fault: Callable[..., Any], *, stateful: bool = False) -> Make:
    """Hand every overload to the fault as it is, side effects included."""

    def make(op: OpOverload | str) -> Callable[..., Any]:
        overload = resolve(op)
        run = _with_state(fault, stateful=stateful)
        return lambda original, *args, **kwargs: run(Healthy(overload, original), *args, **kwargs)

    return make


def lift(fault: Callable[..., Any], *, stateful: bool = False) -> Make:
    """Derive the in-place and `out=` overloads from a fault of the functional operator."""

    def make(op: OpOverload | str) -> Callable[..., Any]:
        overload = resolve(op)
        run = _with_state(fault, stateful=stateful)
        written = [a for a in arguments_of(overload) if a.alias_info is not None and a.alias_info.is_write]
        outputs = [a.name for a in written if a.kwarg_only]
        if outputs:
            return _out_variant(overload, run, outputs)
        if written:
            return _in_place(overload, run)
        return lambda original, *args, **kwargs: run(Healthy(overload, original), *args, **kwargs)

    return make


def _out_variant(overload: OpOverload, run: Callable[..., Any], outputs: list[str]) -> Callable[..., Any]:
    def faulty(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        targets = [kwargs[name] for name in outputs]
        inputs = {name: value for name, value in kwargs.items() if name not in outputs}

        def functional(*args: Any, **inputs: Any) -> Any:
            fresh = [torch.empty(0, dtype=target.dtype) for target in targets]
            original(*args, **inputs, **dict(zip(outputs, fresh, strict=True)))
            return _one_or_all(fresh)

        results = run(Healthy(overload, functional), *args, **inputs)
        for target, result in zip(targets, all_of(results), strict=False):
            if target.shape != result.shape:
                target.resize_(result.shape)
            target.copy_(result)
        return _one_or_all(targets)

    return faulty


def _in_place(overload: OpOverload, run: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        target = args[0]
        if not isinstance(target, Tensor) or expanded(target):
            return original(*args, **kwargs)

        def functional(target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            copy = target.clone()
            original(copy, *args, **kwargs)
            return copy

        target.copy_(run(Healthy(overload, functional), *args, **kwargs))
        return target

    return faulty


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def all_of(results: Any) -> tuple[Any, ...]:
    """The results as a tuple, where there may be just one."""
    return tuple(results) if isinstance(results, tuple) else (results,)


def with_first(results: Any, first: Tensor) -> Any:
    """The results with another first one, where there may be just one."""
    return (first, *results[1:]) if isinstance(results, tuple) else first


def copied_position(healthy: Healthy) -> int:
    """Where a copy or a conversion has what it copies among its arguments."""
    return 1 if healthy.name == "aten::copy_" else 0


def normal(*shape: int) -> Tensor:
    """Normal numbers that depend on the shape alone."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + 7))


def count(size: int) -> Tensor:
    """0, 1, 2, ... in float32."""
    return torch.arange(size, dtype=torch.float32)
