"""How an operator was served: by kernels of the device, by a composition of them, or by the host behind its back.

The host is caught by any of these, each charged to the innermost overload that it happened in:

- `aten::_to_cpu`, which PyTorch's own fallback calls whatever it is given;
- a copy from the device to the host inside an operator;
- ATen arithmetic on host tensors inside an operator of device tensors;
- host memory as large as the operator's own arguments, for kernels that copy past ATen;
- reading a tensor element by element;
- a copy up to the device of as much as an operator returns, filled on the host: what factories do;
- a Python function that fetches its arguments, computes, and sends the result back.

What PyTorch's own composite code reads back it reads back on every accelerator, so a copy counts only where the charged
overload resolves to something that the backend registered. Reading single elements is what `item` is for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import torch

from conformance.device.census import Resolution, dispatch_key, is_overload, resolve
from conformance.device.trace import Operand, Span, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Execution: TypeAlias = Literal["native", "composite", "fallback", "absent"]

#: Below this much, host memory is as likely a kernel's own bookkeeping as a copy of its arguments.
_LEAST_HOST_BYTES = 256

#: From this many elements on, reading one by one is computing on the host.
_MANY_READS = 8

_COPIES = frozenset({"copy_", "_copy_from", "_copy_from_and_resize"})
_TRANSPORT = _COPIES | {"to", "_to_copy", "_to_cpu", "cpu"}
_READBACK = frozenset({"item", "_local_scalar_dense"})

#: Calls that only describe memory; they neither compute nor tell which operator was meant.
_METADATA = frozenset({
    "alias", "as_strided", "as_strided_", "detach", "detach_", "empty", "empty_like", "empty_strided",
    "expand", "expand_as", "is_same_size", "lift", "lift_fresh", "new_empty", "new_empty_strided", "permute",
    "_reshape_alias", "reshape", "resize_", "resize_as_", "resolve_conj", "resolve_neg", "result_type",
    "scalar_tensor", "select", "set_", "slice", "squeeze", "t", "transpose", "unsqueeze", "_unsafe_view", "view",
    "view_as", "_has_compatible_shallow_copy_type",
})  # fmt: skip

_COULD_NOT_RUN = (
    re.compile(r"Could not run '(?P<name>\w+::[\w.]+)' (?:with arguments )?from the '"),
    re.compile(r"The operator '(?P<name>\w+::[\w.]+)' is not (?:currently )?(?:implemented|supported)"),
    re.compile(r"^(?P<name>\w+_overrideable) not implemented\."),
)


@dataclass(frozen=True, slots=True)
class Observation:
    """How one call was served. `execution` is None when the call raised for a reason that says nothing about that.

    `overload` is the outermost overload, of the first operator where the call made several. `kernels` are the innermost
    overloads that a kernel of the device served, `fell_back` those that the host served. `error` is the exception.
    """

    execution: Execution | None
    overload: str | None
    kernels: tuple[str, ...] = ()
    fell_back: tuple[str, ...] = ()
    error: str | None = None


def observe(call: Callable[[], object], device: torch.device, inputs_bytes: int = 0) -> Observation:
    """Run the call once and say how the device served it; what the call raises is reported, not raised.

    `inputs_bytes` is the size of the call's inputs where the caller knows better than the trace. The cpu never falls
    back. Small arguments (below 256 bytes) cannot betray a kernel that copies past ATen.
    """
    spans, error = trace(call)
    return judge(spans, device.type, error, inputs_bytes)


def judge(
    spans: tuple[Span, ...], device_type: str, error: Exception | None = None, inputs_bytes: int = 0
) -> Observation:
    """Classify a trace; split from `observe` so that a recorded trace can be judged."""
    reader = _Reader(device_type, inputs_bytes)
    fell_back = () if device_type == "cpu" else tuple(dict.fromkeys(reader.charges(spans)))
    kernels = tuple(dict.fromkeys(reader.kernels(spans, frozenset(fell_back))))
    known = [s for s in spans if is_overload(s.name)]
    roots = [s for s in known if reader.is_main(s)] or [s for s in known if s.name in fell_back] or known
    overload = roots[0].name if roots else None
    if error is not None:
        text = f"{type(error).__name__}: {error}"
        missing = could_not_run(error)
        if missing is not None:
            return Observation("absent", overload, (missing,), fell_back, text)
        return Observation("fallback" if fell_back else None, overload, kernels, fell_back, text)
    if fell_back:
        return Observation("fallback", overload, kernels, fell_back)
    native = len(roots) == 1 and reader.has_kernel(roots[0])
    return Observation("native" if native else "composite", overload, kernels)


def could_not_run(error: BaseException) -> str | None:
    """Name the overload that an error says has no kernel, e.g. `aten::exp.out`; None for every other error."""
    if not isinstance(error, (NotImplementedError, RuntimeError)):
        return None
    for pattern in _COULD_NOT_RUN:
        found = pattern.search(str(error))
        if found:
            name = found["name"]
            return name if "::" in name else f"aten::{name}"
    return None


class _Reader:
    """Reads a trace for one device type, remembering what the dispatcher resolved."""

    def __init__(self, device_type: str, inputs_bytes: int) -> None:
        self._device = device_type
        self._key = dispatch_key(device_type)
        self._inputs_bytes = inputs_bytes
        self._known: dict[tuple[str, str], Resolution] = {}

    def is_main(self, span: Span) -> bool:
        """Whether a span at the top of a call may be the operator that was meant, not its preparation."""
        if not is_overload(span.name) or span.base in _METADATA:
            return False
        if span.base in _TRANSPORT:
            return _stays(span)
        return not span.operands or bool(self._on_device(span))

    def has_kernel(self, span: Span) -> bool:
        """Whether the span, or an overload of the same operator that it delegates to, has a kernel of its own."""
        if self._resolve(span) == "kernel":
            return True
        stem = span.base.rstrip("_")
        return any(self.has_kernel(s) for s in span.inner if s.base.rstrip("_") == stem)

    def kernels(self, spans: Iterable[Span], fell_back: frozenset[str]) -> list[str]:
        """List the innermost overloads with a kernel of the device: those that compute, else copies, else metadata."""
        tiers: tuple[list[str], list[str], list[str]] = ([], [], [])
        for span in spans:
            self._kernels(span, fell_back, tiers)
        return next((tier for tier in tiers if tier), [])

    def _kernels(self, span: Span, fell_back: frozenset[str], tiers: tuple[list[str], list[str], list[str]]) -> None:
        if span.name in fell_back or (span.operands and not self._on_device(span)):
            return  # the host's part
        tier = 2 if span.base in _METADATA | _READBACK else 1 if span.base in _COPIES else 0
        before = [len(names) for names in tiers[: tier + 1]]
        for inner in span.inner:
            self._kernels(inner, fell_back, tiers)
        innermost = before == [len(names) for names in tiers[: tier + 1]]
        if innermost and self._resolve(span) == "kernel":
            tiers[tier].append(span.name)

    def charges(self, spans: tuple[Span, ...]) -> list[str]:
        """List the overloads that the host served, in the order in which it was caught."""
        charged: list[str] = []
        fetched = 0
        for span in spans:
            if self._fetches(span):
                fetched = max(fetched, self._elements(span))
            elif fetched > 1 and span.base not in _TRANSPORT and self._computes_on_host(span, fetched):
                charged.append(span.name)
            self._charge(span, (), charged)
        return charged

    def _charge(self, span: Span, above: tuple[Span, ...], charged: list[str]) -> None:
        owner = _owner(above)
        if owner is not None:
            if span.base == "_to_cpu":
                charged.append(owner.name)
                return
            if self._registered(owner) and self._is_evidence(span, owner):
                charged.append(owner.name)
                return
        if span.base in _READBACK or (span.base in _TRANSPORT and self._crosses(span)):
            return  # what happens inside a copy between host and device is the copy
        before = len(charged)
        for inner in span.inner:
            self._charge(inner, (*above, span), charged)
        if len(charged) == before and (self._takes_host_memory(span) or self._reads_everything(span)):
            charged.append(span.name)

    def _is_evidence(self, span: Span, owner: Span) -> bool:
        if self._fetches(span):
            return self._elements(span) > 1 or self._elements(owner) == self._elements(span) == 1
        if span.base in _TRANSPORT and self._sends_within(span):
            given = any(o.device == "cpu" and o.elements > 1 for o in owner.operands)
            return not given and self._elements(span) >= max(self._elements(owner), 2)
        return self._computes_on_host(span, self._elements(owner))

    def _takes_host_memory(self, span: Span) -> bool:
        if not self._on_device(span) or span.base in _TRANSPORT | _METADATA or not self._registered(span):
            return False
        largest = max(o.bytes for o in self._on_device(span))
        taken = self._host_bytes(span)
        return taken >= max(self._inputs_bytes or largest, _LEAST_HOST_BYTES)

    def _reads_everything(self, span: Span) -> bool:
        """Whether a kernel fetched as many single elements as its arguments have; a handful it may need."""
        if span.base in _READBACK or not self._on_device(span) or not self._registered(span):
            return False
        reads = sum(s.base == "_local_scalar_dense" and bool(self._on_device(s)) for s in span.walk())
        return reads >= max(self._elements(span), _MANY_READS)

    def _host_bytes(self, span: Span) -> int:
        """Host memory taken by a span itself: what operators of device tensors took inside it is theirs."""
        return span.host_bytes + sum(
            self._host_bytes(s) for s in span.inner if s.base not in _TRANSPORT | _READBACK and not self._on_device(s)
        )

    def _fetches(self, span: Span) -> bool:
        """Whether a span copies from the device to the host."""
        if span.base in _COPIES and len(span.operands) > 1:
            source, target = _source_and_target(span)
            return source.device == self._device and target.device == "cpu"
        if span.base not in _TRANSPORT or not self._on_device(span):
            return False
        # The target of `to` is no tensor: it shows in the copy inside, or in the host memory taken for it.
        if any(self._fetches(s) for s in span.inner):
            return True
        return not any(s.base in _COPIES for s in span.walk()) and sum(s.host_bytes for s in span.walk()) > 0

    def _sends(self, span: Span) -> bool:
        if len(span.operands) < 2:
            return False
        source, target = _source_and_target(span)
        return source.device == "cpu" and target.device == self._device

    def _crosses(self, span: Span) -> bool:
        if span.base == "_to_cpu" or self._fetches(span):
            return True
        return self._sends_within(span)

    def _sends_within(self, span: Span) -> bool:
        if span.base in _COPIES and (self._sends(span) or _stays(span)):
            return self._sends(span)
        return any(self._sends_within(s) for s in span.inner)

    def _computes_on_host(self, span: Span, least: int) -> bool:
        """Whether a span is arithmetic on host tensors, at least one of which is as large as what it would replace."""
        if not span.operands or any(o.device != "cpu" for o in span.operands):
            return False
        if span.base in _METADATA or span.base in _READBACK or not is_overload(span.name):
            return False
        return self._elements(span) >= max(least, 1)

    def _registered(self, span: Span) -> bool:
        return self._resolve(span) in {"kernel", "fallback"}

    def _resolve(self, span: Span) -> Resolution:
        if not is_overload(span.name):
            return "missing"
        key = self._key
        layouts = {o.layout for o in self._on_device(span)}
        if torch.sparse_coo in layouts:
            key = f"Sparse{key}"
        elif layouts & {torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc}:
            key = f"SparseCsr{key}"
        known = self._known.get((span.name, key))
        if known is None:
            known = self._known[span.name, key] = resolve(span.name, key)
        return known

    def _on_device(self, span: Span) -> tuple[Operand, ...]:
        return tuple(o for o in span.operands if o.device == self._device)

    @staticmethod
    def _elements(span: Span) -> int:
        return max((o.elements for o in span.operands), default=0)


def _source_and_target(copy: Span) -> tuple[Operand, Operand]:
    """`copy_` takes its target first, `_copy_from` its source."""
    first, second = copy.operands[:2]
    return (second, first) if copy.base == "copy_" else (first, second)


def _owner(above: tuple[Span, ...]) -> Span | None:
    """Find the innermost operator above a span: no mark of autograd, and of the copies only those within the device."""
    for span in reversed(above):
        if "::" in span.name and (span.base not in _TRANSPORT or _stays(span)):
            return span
    return None


def _stays(copy: Span) -> bool:
    return copy.base in _COPIES and len(copy.operands) > 1 and len({o.device for o in copy.operands[:2]}) == 1
