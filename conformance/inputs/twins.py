"""Twins: the other overloads of what an operator calls: with `out=`, in place, functional, and copies of views.

Some of them are only called under torch.compile, in an optimizer or from C++; each is a kernel of its own. The
arguments are those with which the operator called the overload that the suite knows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.inputs.samples import Sample
from conformance.inputs.transport import clone
from conformance.inputs.tree import leaves
from conformance.inputs.variants import can_follow, differentiable, junk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch._ops import OpOverload

#: Calls on more elements than this are not kept.
_MOST = 1 << 14
#: What a factory function asks for and its twin with `out=` has from that.
_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
_KINDS = (bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call that an operator made of an overload, its arguments by their names in the schema."""

    overload: OpOverload
    arguments: dict[str, Any]


class _Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the first call of each overload that has more than one number to work on, or the first one."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: dict[OpOverload, Recorded] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        sample = Sample(tuple(args), dict(kwargs or {}))
        if func.namespace == "aten" and _can_be_kept(sample) and not _has_work(self.found.get(func)):
            kept = clone(sample)
            names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
            given = dict(zip(names, kept.args, strict=False))
            recorded = Recorded(func, {**given, **kept.kwargs})
            if func not in self.found or _has_work(recorded):
                self.found[func] = recorded
        return func(*args, **(kwargs or {}))


def _can_be_kept(sample: Sample) -> bool:
    if sample.size > _MOST:
        return False
    return all(
        (value.layout is torch.strided and not value.is_conj() and not value.is_neg())
        if isinstance(value, torch.Tensor) else isinstance(value, _KINDS)
        for value in leaves((sample.args, sample.kwargs))
    )  # fmt: skip


def _has_work(recorded: Recorded | None) -> bool:
    return recorded is not None and any(
        isinstance(value, torch.Tensor) and value.numel() > 1 for value in leaves(recorded.arguments)
    )


def record(function: Callable[..., Any], sample: Sample) -> list[Recorded]:
    """What the operator calls on its way, and for its gradients where it has some; nothing where the host raises."""
    recording = _Recording()
    fresh = clone(sample)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        followed = [tensor for tensor in fresh.tensors if can_follow(tensor)]
        for tensor in followed:
            tensor.requires_grad_()
        try:
            with recording:
                outputs = differentiable(function(*fresh.args, **fresh.kwargs))
                if outputs:
                    torch.autograd.grad([output.sum() for output in outputs], followed, allow_unused=True)
        except Exception:  # noqa: BLE001 - an operator of Python may raise anything
            return list(recording.found.values())
    return list(recording.found.values())


@dataclass(frozen=True, slots=True)
class Twin:
    """An overload called in place of another, which has the reference: `writes` are the names of what it writes to."""

    written: OpOverload
    function: OpOverload
    writes: tuple[str, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.written(*args, **kwargs)

    def functional(self, *args: Any, **kwargs: Any) -> Any:
        """The same by the overload that the operator calls itself."""
        names = [argument.name for argument in self.written._schema.arguments]  # noqa: SLF001
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        outs = {argument.name for argument in _outs(self.written)}
        targets = [given[name] for name in self.writes if name in outs or not outs]
        result = _called(self.function, {name: value for name, value in given.items() if name not in outs})
        results = list(leaves(result))
        if not targets:
            return result
        for target, value in zip(leaves(targets), results, strict=False):
            if target.shape != value.shape:
                target.resize_(value.shape)
            target.copy_(value)
        if not self.written._schema.returns:  # noqa: SLF001
            return None
        return targets[0] if isinstance(result, torch.Tensor) else tuple(leaves(targets))


def twins(recorded: Recorded, *, draws: bool = False) -> Iterator[tuple[Twin, Sample]]:
    """The twins of a recorded call, each with its arguments; those of the same name and arguments, by the schemas.

    What draws at random has twins only where `draws` says that a law judges them.
    """
    known = recorded.overload
    if not known._schema.returns:  # noqa: SLF001
        return  # it says nothing of what its twins return
    name = str(known.overloadpacket.__name__)
    for other in dict.fromkeys((name, f"{name}_", f"{name}_copy", name.removesuffix("_"))):
        packet = getattr(torch.ops.aten, other, None)
        for overload in packet.overloads() if packet is not None else ():
            twin = getattr(packet, overload)
            if twin is not known and _is_twin(known, twin, draws=draws):
                made = _arguments(recorded, twin)
                if made is not None:
                    yield made


def _is_twin(known: OpOverload, twin: OpOverload, *, draws: bool) -> bool:
    if not draws and torch.Tag.nondeterministic_seeded in {*twin.tags, *known.tags}:
        return False
    if known.is_view and any(_is_written(argument) and not argument.is_out for argument in twin._schema.arguments):  # noqa: SLF001
        return False  # it changes what the tensor is and not what it holds
    has, wants = _inputs(known), _inputs(twin)
    extra = {name for name in has if name not in wants}
    return all(has.get(name) == kind for name, kind in wants.items()) and extra <= _OPTIONS


def _inputs(overload: OpOverload) -> dict[str, str]:
    outs = {argument.name for argument in _outs(overload)}
    return {
        argument.name: str(argument.type)
        for argument in overload._schema.arguments  # noqa: SLF001
        if argument.name not in outs
    }


def _outs(overload: OpOverload) -> list[Any]:
    return [argument for argument in overload._schema.arguments if argument.is_out]  # noqa: SLF001


def _arguments(recorded: Recorded, twin: OpOverload) -> tuple[Twin, Sample] | None:
    """The twin and what it is called with; None where the host has no result to make an `out=` of."""
    outs = _outs(twin)
    wanted = _inputs(twin)
    given = {name: value for name, value in recorded.arguments.items() if name in wanted}
    writes = [argument.name for argument in twin._schema.arguments if _is_written(argument)]  # noqa: SLF001
    if outs:
        targets = _targets(recorded, len(outs))
        if targets is None:
            return None
        given |= {argument.name: target for argument, target in zip(outs, targets, strict=True)}
    if any(
        isinstance(value, torch.Tensor) and not _is_whole(value) for name in writes for value in leaves(given[name])
    ):
        return None  # what is expanded cannot be written to
    positional = [a.name for a in twin._schema.arguments if not a.kwarg_only and a.name in given]  # noqa: SLF001
    sample = Sample(
        tuple(given[name] for name in positional),
        {name: value for name, value in given.items() if name not in positional},
    )
    return Twin(twin, recorded.overload, tuple(writes)), sample


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_whole(value: torch.Tensor) -> bool:
    return all(size <= 1 or stride != 0 for size, stride in zip(value.shape, value.stride(), strict=True))


def _targets(recorded: Recorded, count: int) -> list[Any] | None:
    """Tensors of the shapes and dtypes that the host returns; a list of them for an `out` that is a list."""
    fresh = clone(Sample((), recorded.arguments)).kwargs
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            result = _called(recorded.overload, fresh)
        except Exception:  # noqa: BLE001 - a kernel may raise anything
            return None
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if count == 1 and isinstance(result, list):
        results = [result]
    if len(results) != count or not all(isinstance(v, torch.Tensor) for v in leaves(results)):
        return None
    return [[junk(v) for v in value] if isinstance(value, list) else junk(value) for value in results]


def _called(overload: OpOverload, arguments: dict[str, Any]) -> Any:
    """The overload with arguments by name: those that it takes by position only are given so."""
    schema = overload._schema.arguments  # noqa: SLF001
    positional = []
    for argument in schema:
        if argument.kwarg_only or argument.name not in arguments:
            break
        positional.append(argument.name)
    rest = {a.name: arguments[a.name] for a in schema if a.name in arguments and a.name not in positional}
    return overload(*[arguments[name] for name in positional], **rest)
