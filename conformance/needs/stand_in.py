"""A tensor that says it is on the device while its values lie on the host, and the mode that listens to its calls.

PyTorch decides by the device of a tensor which overloads a composite operator is made of: attention, batch
normalization and LSTM cells of the CPU are not those of an accelerator. So the host's own calls are not what a device
has to serve. A model of stand-ins makes the device's calls, with true values, before the device has a single kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

from conformance.inputs.samples import Sample
from conformance.inputs.tree import tensors, tree_map
from conformance.needs.calls import Call, name_of

if TYPE_CHECKING:
    from conformance.needs.calls import Book


class StandIn(torch.Tensor):
    """A tensor on `device` by all that PyTorch asks of it; `on_host` has its values."""

    on_host: torch.Tensor

    @staticmethod
    def __new__(cls: type[StandIn], values: torch.Tensor, device: torch.device) -> StandIn:  # noqa: PYI034
        made: StandIn = torch.Tensor._make_wrapper_subclass(  # noqa: SLF001
            cls, values.size(), strides=values.stride(), storage_offset=values.storage_offset(), dtype=values.dtype,
            layout=values.layout, device=device,
        )  # fmt: skip
        made.on_host = values
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"StandIn({self.device}, {self.dtype}, {list(self.shape)})"

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]  # noqa: SLF001

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise RuntimeError(f"{func} was called on a stand-in after the model had run")


class Listener(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it lasts, calls of stand-ins are made on the host and entered into a book under the present phase.

    With the device `cpu` there are no stand-ins, and the host's own calls are entered. Without a phase nothing is.
    """

    def __init__(self, device: torch.device, book: Book) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # Autograd wants the number of a device, which only a tensor on it has.
        self._device = device if device.type == "cpu" else torch.empty(1, device=device).device
        self._book = book
        self.phase: str | None = None
        #: The overload that the host has no kernel for, where the device asked for one.
        self.stuck: str | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = tensors((args, kwargs))
        host_args, host_kwargs = tree_map(self._unwrap, tuple(args)), tree_map(self._unwrap, kwargs)
        away = self._device.type != "cpu"
        asked = kwargs.get("device")
        concerned = any(isinstance(t, StandIn) for t in given)
        on_device = concerned if asked is None else self._named(asked)
        to_host = away and asked is not None and not on_device
        # What a model computes on the host on purpose is none of the device's business.
        if self.phase is not None and isinstance(func, OpOverload) and (concerned or on_device or not away):
            staying = {n for n, t in enumerate(given) if not isinstance(t, StandIn)} if away else set()
            sample = Sample(host_args, host_kwargs)
            self._book.note(self.phase, Call(name_of(func), sample, frozenset(staying), to_host))
        try:
            result = func(*host_args, **host_kwargs)
        except NotImplementedError:
            self.stuck = name_of(func)
            raise
        if not away or not on_device:
            return result
        wrapped = tree_map(self.wrap, result)
        return return_and_correct_aliasing(func, args, kwargs, wrapped)  # type: ignore[no-untyped-call]

    def wrap(self, value: Any) -> Any:
        """A stand-in for a host tensor; anything else as it is."""
        if isinstance(value, torch.Tensor) and not isinstance(value, StandIn) and self._device.type != "cpu":
            return StandIn(value, self._device)
        return value

    def _unwrap(self, value: Any) -> Any:
        if isinstance(value, StandIn):
            return value.on_host
        if isinstance(value, torch.device) and value.type == self._device.type:
            return torch.device("cpu")
        return value

    def _named(self, asked: Any) -> bool:
        return torch.device(asked).type == self._device.type
