"""What the runtime checks are made of: probes, and the area that turns them into cases.

A probe is a function of the device that needs nothing but torch and the helpers below. Its reproducer is its own
source, so that what is pasted is what ran.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from conformance.checks.contract import Case, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from conformance.checks.contract import Context
    from conformance.device.profile import Profile
    from conformance.spec.suite import Suite


class NotApplicableError(Exception):
    """The device has nothing for the probe to look at; the text says what it lacks."""


class WrongAnswerError(AssertionError):
    """The device answered, and not what it must."""

    def __init__(self, message: str, differing: int = 1) -> None:
        super().__init__(message)
        self.differing = differing


def expect(right: bool, message: str) -> None:
    """Raise WrongAnswerError with the message, which says what was due and what was found, unless it is right."""
    if not right:
        raise WrongAnswerError(message)


def expect_bits(found: torch.Tensor, due: torch.Tensor, what: str) -> None:
    """Compare with a host tensor: dtype, shape and every bit, NaN payloads and signed zeros included."""
    expect(found.dtype is due.dtype, f"{what}: the dtype is {found.dtype} where {due.dtype} is due")
    expect(found.shape == due.shape, f"{what}: the shape is {tuple(found.shape)} where {tuple(due.shape)} is due")
    host = [t.cpu().clone(memory_format=torch.contiguous_format).view(-1) for t in (found, due)]
    left, right = (t.view(torch.uint8).view(t.numel(), t.itemsize) for t in host)
    wrong = (left != right).any(1).nonzero().view(-1).tolist()
    if wrong:
        message = f"{what}: {len(wrong)} of {due.numel()} elements differ, the first at {wrong[0]}"
        values = f"{host[0][wrong[0]].item()} where {host[1][wrong[0]].item()} is due"
        raise WrongAnswerError(f"{message}: {values}", len(wrong))


def expect_raises(call: Callable[[], object], what: str) -> str:
    """Require a Python exception with a message, and return the message."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - any kind will do
        expect(bool(str(error)), f"{what}: {type(error).__name__} without a message")
        return str(error)
    raise WrongAnswerError(f"{what}: nothing was raised")


def several(device: torch.device) -> int:
    """Count the devices, of which there must be at least two for a probe to apply."""
    count = 1 if device.type == "cpu" else torch.get_device_module(device).device_count()
    if count < 2:
        raise NotApplicableError(f"there is one device of type {device.type}")
    return int(count)


def not_on_cpu(device: torch.device, reason: str) -> None:
    """Let a probe apply to everything but the host."""
    if device.type == "cpu":
        raise NotApplicableError(f"the cpu has no {reason}")


@dataclass(frozen=True, slots=True)
class Probe:
    """One case: `function(device, *arguments)` returns when the device does what it must.

    It raises WrongAnswerError, NotApplicableError, or whatever the backend raises. `dtype` is the one that the device
    may have declared unsupported.
    """

    name: str
    function: Callable[..., None]
    arguments: tuple[object, ...] = ()
    dtype: str | None = None


@dataclass(slots=True)
class Area:
    """A check whose groups are subjects and whose cases are probes; the same for every device."""

    id: str
    probes: Mapping[str, tuple[Probe, ...]]

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:  # noqa: ARG002 - the contract's signature
        return ((subject, "any") for subject in self.probes)

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:  # noqa: ARG002
        return [probe.name for probe in self.probes[operator]]

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None,  # noqa: ARG002
    ) -> Iterator[Case]:  # fmt: skip
        for probe in self.probes[operator]:
            yield Case(
                name=probe.name,
                layout=None,
                variant=None,
                size=1,
                run=partial(perform, probe, context),
                repro=partial(script, probe, context.profile),
            )


def perform(probe: Probe, context: Context) -> Judgement:
    """Run one probe and wait for the device; an exception of the backend's own passes through."""
    try:
        probe.function(context.device, *probe.arguments)
        synchronize(context.device)
    except NotApplicableError as reason:
        return Judgement("unsupported", message=str(reason))
    except WrongAnswerError as wrong:
        return Judgement("wrong", error=float(wrong.differing), bound=0.0, rung="exact", message=str(wrong))
    except Exception as error:
        declared = context.profile.unsupported_dtypes.get(probe.dtype or "")
        if declared is None:
            raise
        return Judgement("unsupported", message=f"declared: {declared} ({type(error).__name__})")
    return Judgement("pass", error=0.0, bound=0.0, rung="exact")


def synchronize(device: torch.device) -> None:
    """Wait for the device where its module says how; reading a result back waits in any case."""
    wait = getattr(torch.get_device_module(device), "synchronize", None)
    if wait is not None:
        wait()


def script(probe: Probe, profile: Profile) -> str:
    """Write the probe's source with the helpers and modules that it uses, and a call of it."""
    modules = {"torch"}
    sources: dict[str, str] = {}
    _gather(probe.function, modules, sources)
    imports = ["from __future__ import annotations", "", *(f"import {name}" for name in sorted(modules))]
    if profile.import_module:
        imports.append(f"import {profile.import_module}")
    arguments = "".join(f", {argument!r}" for argument in probe.arguments)
    call = f'{probe.function.__name__}(torch.device("{profile.device}"){arguments})'
    return "\n\n\n".join(["\n".join(imports), *sources.values(), call]) + "\n"


def _gather(item: Any, modules: set[str], sources: dict[str, str]) -> None:
    """Collect the source of a function or class after that of everything it names, and the modules they import."""
    functions = [f for f in vars(item).values() if inspect.isfunction(f)] if inspect.isclass(item) else [item]
    for function in functions:
        for name in sorted(_names(function.__code__)):
            found = function.__globals__.get(name)
            if inspect.ismodule(found):
                modules.add(found.__name__)
            elif (inspect.isroutine(found) or inspect.isclass(found)) and name not in sources and found is not item:
                _gather(found, modules, sources)
    lines = inspect.getsource(item).strip().splitlines()
    sources[item.__name__] = "\n".join(line.partition("  # noqa")[0] for line in lines)


def _names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(_names(constant) for constant in inner))
