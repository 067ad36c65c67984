"""One call that a model makes: an overload and its arguments, kept in a file until the device answers it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import Sample
from conformance.inputs.transport import CannotTravelError, clone
from conformance.inputs.tree import is_size, tensors, tree_map

if TYPE_CHECKING:
    from pathlib import Path

    from torch._ops import OpOverload

#: Calls with larger arguments, and what comes when this much has been written, are counted and not kept.
MOST_BYTES_OF_CALL = 1 << 28
MOST_BYTES = 1 << 31


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the host can make it: every tensor and `device=` on the host.

    `staying` are the numbers of the tensors that were on the host already; `to_host` says that the call itself asks
    for its result on the host.
    """

    overload: str
    sample: Sample
    staying: frozenset[int]
    to_host: bool


@dataclass(slots=True)
class Seen:
    """What is known of a call without its values: the overload, dtypes of its tensors, the arguments in words.

    `unkept` says why its arguments were not kept, if so.
    """

    overload: str
    dtypes: tuple[str, ...]
    text: str
    unkept: str | None = None


@dataclass(slots=True)
class Book:
    """The distinct calls of a model: each is kept once in `folder`, in the file of its key, and counted by phase."""

    folder: Path | None
    seen: dict[str, Seen] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    _kept: int = 0

    def __post_init__(self) -> None:
        self._kept = sum(file.stat().st_size for file in self.folder.iterdir()) if self.folder else 0

    def note(self, phase: str, call: Call) -> None:
        """Count the call and, the first time, keep its arguments as they are now."""
        key = key_of(call)
        if key not in self.seen:
            dtypes = dict.fromkeys(_name(t.dtype) for t in call.sample.tensors)
            known = Seen(call.overload, tuple(dtypes), text_of(call.sample))
            known.unkept = self._keep(key, call)
            self.seen[key] = known
        counts = self.counts.setdefault(phase, {})
        counts[key] = counts.get(key, 0) + 1

    def _keep(self, key: str, call: Call) -> str | None:
        if self.folder is None:
            return "only counted"
        path = self.folder / f"{key}.pt"
        if path.exists():
            return None
        size = sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in _plain(call)}.values())  # noqa: SLF001
        if size > MOST_BYTES_OF_CALL:
            return (
                f"its arguments take {size >> 20} MiB, more than the {MOST_BYTES_OF_CALL >> 20} that are kept of a call"
            )
        if self._kept + size > MOST_BYTES:
            return f"the calls before it took the {MOST_BYTES >> 20} MiB that are kept of a model"
        try:
            fresh = clone(call.sample)  # apart from the model's own storages, and without its gradients
            arguments = tree_map(_to_word, (fresh.args, fresh.kwargs))
            torch.save((call.overload, arguments, sorted(call.staying), call.to_host), path)
        except (CannotTravelError, TypeError, AttributeError, RuntimeError, OSError) as error:
            path.unlink(missing_ok=True)
            return f"its arguments can't be kept: {type(error).__name__}: {_first_line(error)}"
        self._kept += size
        return None


@dataclass(frozen=True, slots=True)
class Word:
    """A memory format by its name in torch: it is the one kind of argument that does not pickle."""

    name: str


def _to_word(leaf: Any) -> Any:
    return Word(str(leaf).removeprefix("torch.")) if isinstance(leaf, torch.memory_format) else leaf


def load(folder: Path, key: str) -> Call:
    """Read a call that a `Book` has kept; the file is this program's own."""
    overload, arguments, staying, to_host = torch.load(folder / f"{key}.pt", weights_only=False)
    args, kwargs = tree_map(lambda leaf: getattr(torch, leaf.name) if isinstance(leaf, Word) else leaf, arguments)
    return Call(overload, Sample(args, kwargs), frozenset(staying), to_host)


def function_of(overload: str) -> OpOverload:
    """The callable of `aten::add.Tensor`."""
    namespace, _, rest = overload.partition("::")
    base, _, name = rest.partition(".")
    found: OpOverload = getattr(getattr(getattr(torch.ops, namespace), base), name or "default")
    return found


def name_of(function: OpOverload) -> str:
    """`aten::add.Tensor`, as the dispatcher names it: an overload without a name has no dot."""
    return str(function.name())  # type: ignore[no-untyped-call]


def key_of(call: Call) -> str:
    """A name for everything about a call but the values of its tensors."""
    parts = [call.overload, sorted(call.staying), call.to_host, _signature((call.sample.args, call.sample.kwargs))]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _signature(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return (_name(value.dtype), tuple(value.shape), str(value.layout))
        return (
            _name(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(), value.is_conj(),
            value.is_neg(),
        )  # fmt: skip
    if isinstance(value, dict):
        return [(name, _signature(child)) for name, child in value.items()]
    if isinstance(value, (list, tuple)) and not is_size(value):
        return [_signature(child) for child in value]
    return "generator" if isinstance(value, torch.Generator) else repr(value)


def text_of(sample: Sample) -> str:
    """The arguments in words, as `float32[2, 3], [0], alpha=1`."""
    parts = [_word(value) for value in sample.args]
    parts += [f"{name}={_word(value)}" for name, value in sample.kwargs.items() if value is not None]
    return ", ".join(parts)


def _word(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_word(child) for child in value)}]"
    return str(value).removeprefix("torch.")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _plain(call: Call) -> list[torch.Tensor]:
    return [t for t in tensors((call.sample.args, call.sample.kwargs)) if t.layout is torch.strided]


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]
