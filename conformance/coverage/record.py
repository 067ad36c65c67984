"""What a device is asked for by a call: the overloads under it, down to where a backend's kernel would take over.

A dispatch mode would not do: composite operators are taken apart before it sees them. The profiler sees every call; one
below a kernel of the host is that kernel's own business, and on a device another kernel stands there. So a trace is
read downwards through code that is the same on every device: composite operators, and what other libraries than ATen
have for all devices.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from torch._C._autograd import _disable_profiler, _enable_profiler, _prepare_profiler, _profiler_enabled
from torch._C._profiler import ProfilerActivity, ProfilerConfig, ProfilerState, _EventType, _ExperimentalConfig

from conformance.coverage.installed import VACANT
from conformance.device.census import is_overload, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Recorder:
    """What the calls under `around` ask for: each overload, and whether it was called by no other."""

    def __init__(self) -> None:
        self.seen: dict[str, bool] = {}

    @contextmanager
    def around(self) -> Iterator[None]:
        """Record one call, which may raise; costs half a millisecond. Under another profiler, record nothing."""
        if _profiler_enabled():
            yield  # how an operator is served is observed by the profiler too; the same call was recorded before that
            return
        # Kineto writes two lines to stderr for every session unless told otherwise; it reads this at the first one.
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")
        names = _ExperimentalConfig(capture_overload_names=True)
        # Neither shapes nor memory, stacks, flops or modules.
        config = ProfilerConfig(ProfilerState.KINETO, False, False, False, False, False, names, "")
        activities = {ProfilerActivity.CPU}
        _prepare_profiler(config, activities)
        _enable_profiler(config, activities)
        try:
            yield
        finally:
            self._collect(_disable_profiler().experimental_event_tree(), outermost=True)

    def _collect(self, events: Iterable[Any], *, outermost: bool) -> None:
        for event in events:
            if event.tag != _EventType.TorchOp:
                continue
            name = f"{event.name}.{event.overload_name}" if event.overload_name else event.name
            known = is_overload(name)
            if known and name.startswith("aten::"):
                self.seen[name] = self.seen.get(name, False) or outermost
            if not known or is_common(name):  # what is no overload is a mark, as autograd makes them
                self._collect(event.children, outermost=outermost and not known)


@cache
def is_common(name: str) -> bool:
    """Whether the same code of PyTorch's serves the overload on the host and on a backend that has registered nothing.

    Of ATen the composite operators alone: what it has for all devices beside them, backends mostly replace.
    """
    served = resolve(name, VACANT)
    return served == resolve(name, "CPU") and (served == "math" or not name.startswith("aten::"))
