"""One sample of one operator and everything the host knows about it, each computed once and only when asked for."""

from __future__ import annotations

import ctypes
import functools
import itertools
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.samples import seed_all
from conformance.inputs.transport import clone, flat_storage, sparse_parts
from conformance.oracle import conditioned, dot
from conformance.oracle.formats import is_inexact
from conformance.oracle.reference import outputs, wide_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.inputs.samples import Sample
    from conformance.spec.operators import Oracle

_SEED = 42  # operators with an inner random part draw the same on the host each time


#: Storages of up to so many bytes are compared as strings.
_COPIED = 1 << 16


class HostError(Exception):
    """The host itself raises on a sample: there is no answer to compare with."""


class Trial:
    """A sample with its expected outputs; layouts of one sample share it.

    `host` are the outputs of the host's own kernel at the same dtype: dtypes, shapes and structure are judged by them.
    `reference` holds the values: float64 or complex128 where the output is inexact, `host` where it is not or where
    the oracle says so. `precision` is that of the results, where a wider dtype than they are computed in keeps them. A
    function with an attribute `functional` has its reference from that.
    """

    def __init__(
        self, function: Callable[..., Any], sample: Sample, dtype: str, oracle: Oracle,
        precision: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        self.function = function
        self.sample = sample
        self.dtype: torch.dtype = getattr(torch, dtype)
        self.oracle = oracle
        self.precision = precision
        self._functional: Callable[..., Any] = getattr(function, "functional", function)
        self._drawn: list[list[torch.Tensor | None]] = []
        self._near: dict[tuple[int, torch.dtype, bool], torch.Tensor] = {}

    @functools.cached_property
    def _host(self) -> tuple[Any, list[Any], list[bool]]:
        fresh = clone(self.sample)
        seed_all(_SEED)
        try:
            with torch.no_grad():
                result = self.function(*fresh.args, **fresh.kwargs)
        except Exception as error:
            raise HostError(f"{type(error).__name__}: {first_line(error)}") from error
        changed = [not same_bytes(a, b) for a, b in zip(fresh.tensors, self.sample.tensors, strict=True)]
        return result, outputs(result, fresh), changed

    @functools.cached_property
    def host_error(self) -> BaseException | None:
        """What the host raises, or None where it has an answer."""
        try:
            self._host  # noqa: B018 - computed for whether it raises
        except HostError as error:
            return error.__cause__
        return None

    @property
    def result(self) -> Any:
        """What the host's kernel returned, as a tree."""
        return self._host[0]

    @property
    def host(self) -> list[Any]:
        return self._host[1]

    @property
    def changed(self) -> list[bool]:
        """For each tensor argument, whether the operator writes to it."""
        return self._host[2]

    @functools.cached_property
    def reference(self) -> list[Any]:
        host = self.host
        if self.oracle.reference == "host" or not self._needs_wide(host):
            return host
        seed_all(_SEED)
        found = wide_reference(self._functional, self.sample)
        if len(found) != len(host):
            raise dot.PlanError("the float64 reference has another number of outputs; say `reference: host`")
        return found

    def _needs_wide(self, host: list[Any]) -> bool:
        return is_inexact(self.dtype) or any(isinstance(v, torch.Tensor) and is_inexact(v.dtype) for v in host)

    @property
    def _noise(self) -> conditioned.Noise:
        return conditioned.noise_of(self._float_dtype, stored=self.oracle.rounds == "storage")

    @property
    def _float_dtype(self) -> torch.dtype:
        """The dtype that is computed in: of an operator on integers, that of its first inexact output."""
        if is_inexact(self.dtype):
            return self.dtype
        return next(v.dtype for v in self.host if isinstance(v, torch.Tensor) and is_inexact(v.dtype))

    def spreads(self, index: int) -> Iterator[torch.Tensor | None]:
        """The growing spreads of one output; what one layout has drawn the next one does not draw again."""
        for number in itertools.count():
            while number >= len(self._drawn):
                seed_all(_SEED)
                drawn = next(self._draws, None)
                if drawn is None:
                    return
                self._drawn.append(drawn)
            yield self._drawn[number][index]

    def near(self, index: int, dtype: torch.dtype, *, whole: bool) -> torch.Tensor:
        """The cheap part of the conditioned bound of one output; every layout of the sample has the same."""
        key = (index, dtype, whole)
        if key not in self._near:
            want = self.reference[index]
            wide = want if is_inexact(want.dtype) else want.to(torch.float64)
            self._near[key] = conditioned.nearness(wide, dtype, whole=whole)
        return self._near[key]

    @functools.cached_property
    def _draws(self) -> Iterator[list[torch.Tensor | None]]:
        return conditioned.spreads(self._held, self.sample, self.reference, self._noise)

    def _held(self, *args: Any, **kwargs: Any) -> Any:
        """The function with its labels as they are, whatever was drawn for them."""
        place = self.oracle.labels
        if place is not None:
            label = self.sample.args[place]
            args = (*args[:place], label.to(args[place].dtype), *args[place + 1 :])
        return self._functional(*args, **kwargs)

    @functools.cached_property
    def largest(self) -> float:
        """The largest finite magnitude among the arguments that are numbers."""
        sizes = [
            torch.nan_to_num(
                tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).abs(), 0.0, 0.0
            ).max()
            for tensor in self.sample.tensors
            if tensor.dtype is not torch.bool and tensor.layout is torch.strided and tensor.numel()
        ]
        return max(map(float, sizes), default=0.0)

    def most_terms(self, output: torch.Tensor) -> int:
        """How many numbers an element of the output may be a sum of, at most."""
        inexact = [tensor for tensor in self.sample.tensors if is_inexact(tensor.dtype)]
        longest = max((size for tensor in inexact for size in tensor.shape), default=1)
        return max(longest, max((tensor.numel() for tensor in inexact), default=1) // max(output.numel(), 1))

    @functools.cached_property
    def absolute(self) -> list[Any]:
        seed_all(_SEED)
        return dot.absolute_bounds(self._functional, self.sample)

    @functools.cached_property
    def terms(self) -> list[Any]:
        seed_all(_SEED)
        return dot.term_counts(self._functional, self.sample, self.reference, self.oracle.terms or "ones")


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors are views of storages that hold the same bytes, gaps and surroundings included."""
    if left.layout is not torch.strided or right.layout is not torch.strided:
        return left.layout is right.layout and all(
            same_bytes(a, b) for a, b in zip(sparse_parts(left), sparse_parts(right), strict=True)
        )
    a, b = left.untyped_storage(), right.untyped_storage()
    if a.nbytes() != b.nbytes() or left.shape != right.shape or left.stride() != right.stride():
        return False
    count = a.nbytes()
    if count == 0 or a.data_ptr() == b.data_ptr():
        return True
    if count <= _COPIED and left.device.type == right.device.type == "cpu":
        # Views of bytes for torch.equal cost ten times as much as looking at a few of them.
        return ctypes.string_at(a.data_ptr(), count) == ctypes.string_at(b.data_ptr(), count)
    return torch.equal(_bytes(left), _bytes(right))


def spilled(after: torch.Tensor, before: torch.Tensor) -> int:
    """How many elements of the storage changed that the tensor is no view of; 0 where the storage is another one."""
    if after.layout is not torch.strided or before.layout is not torch.strided:
        return 0
    if after.untyped_storage().nbytes() != before.untyped_storage().nbytes() or before.numel() == 0:
        return 0
    left, right = flat_storage(after), flat_storage(before)
    if left.numel() == before.numel():
        return 0
    outside = torch.ones(left.shape, dtype=torch.bool)
    outside.as_strided(before.shape, before.stride(), before.storage_offset()).fill_(False)
    size = before.element_size()
    differs = (left.view(torch.uint8) != right.view(torch.uint8)).view(-1, size).any(1)
    return int((differs & outside).sum())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_conj():
        tensor = tensor.conj()
    if tensor.is_neg():
        tensor = torch._neg_view(tensor)  # noqa: SLF001
    return flat_storage(tensor).view(torch.uint8)
