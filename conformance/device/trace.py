"""What one call did: the tree of the ATen calls beneath it, with their tensors and the host memory they took."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch._C._autograd import _disable_profiler, _enable_profiler, _prepare_profiler
from torch._C._profiler import ProfilerActivity, ProfilerConfig, ProfilerState, _EventType, _ExperimentalConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch
    from torch._C._profiler import _ProfilerEvent


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument: its device type, layout, elements and logical size in bytes."""

    device: str
    layout: torch.layout
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Span:
    """One call, e.g. of `aten::add.out`; names without a namespace are marks that autograd makes.

    `operands` are its tensor arguments in their order, tensors of lists included; an optional list that is absent
    leaves no trace. `host_bytes` is the host memory allocated while no inner span was open.
    """

    name: str
    operands: tuple[Operand, ...]
    host_bytes: int
    inner: tuple[Span, ...]

    @property
    def base(self) -> str:
        """The operator without namespace and overload: `add` for `aten::add.out`."""
        return self.name.rpartition("::")[2].partition(".")[0]

    def walk(self) -> Iterator[Span]:
        """Yield this span and all beneath it, outermost first."""
        yield self
        for span in self.inner:
            yield from span.walk()


def trace(call: Callable[[], object]) -> tuple[tuple[Span, ...], Exception | None]:
    """Run the call once and return the spans it opened on any thread, and the exception that left it.

    Costs about half a millisecond beyond the call. Exceptions that are no `Exception` pass through.
    """
    # Kineto writes two lines to stderr for every session unless told otherwise; it reads this at the first one.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    activities = {ProfilerActivity.CPU}
    config = ProfilerConfig(
        ProfilerState.KINETO,
        True,  # shapes: they carry the devices of the arguments
        True,  # memory: host allocations
        False,  # stacks
        False,  # flops
        False,  # modules
        _ExperimentalConfig(capture_overload_names=True),
        "",
    )
    error: Exception | None = None
    _prepare_profiler(config, activities)
    _enable_profiler(config, activities)
    try:
        call()
    except Exception as raised:  # noqa: BLE001  it is what the caller asks for
        error = raised.with_traceback(None)
    finally:
        result = _disable_profiler()
    return tuple(_spans(result.experimental_event_tree())), error


def _spans(events: list[_ProfilerEvent]) -> Iterator[Span]:
    for event in events:
        if event.tag == _EventType.TorchOp:
            yield _span(event)


def _span(event: Any) -> Span:
    overload = event.overload_name
    return Span(
        name=f"{event.name}.{overload}" if overload else event.name,
        operands=tuple(_operands(event.extra_fields.inputs)),
        host_bytes=sum(
            max(child.extra_fields.alloc_size, 0)
            for child in event.children
            if child.tag == _EventType.Allocation and child.extra_fields.device.type == "cpu"
        ),
        inner=tuple(_spans(event.children)),
    )


def _operands(values: list[Any]) -> Iterator[Operand]:
    for value in values:
        if isinstance(value, list):
            yield from _operands(value)
        elif hasattr(value, "sizes"):
            elements = 1
            for size in value.sizes:
                elements *= size
            yield Operand(value.device.type, value.layout, elements, elements * value.dtype.itemsize)
