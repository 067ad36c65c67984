"""Operators that torch's catalogue does not describe, as entries of the same kind: what every backend is asked for."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.testing import make_tensor
from torch.testing._internal.common_dtype import (
    all_types_and_complex_and,
    floating_types,
    floating_types_and,
    integral_types,
)
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from conformance.inputs.optimizers import Fused, adagrad, adagrad_steps, adam, adam_steps, adamw, sgd, sgd_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HALVES = (torch.bfloat16, torch.float16)


def _copies(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    """Whole tensors, broadcast, transposed, from another dtype, and parts of larger buffers at both ends."""
    make = partial(make_tensor, dtype=dtype, device=device)
    yield SampleInput(make((5, 7)), args=(make((5, 7)),))
    yield SampleInput(make((5, 7)), args=(make((7,)),))
    yield SampleInput(make((5, 7)), args=(make((7, 5)).t(),))
    yield SampleInput(make((9,))[2:6], args=(make((11,))[:4],))
    yield SampleInput(make((6, 8))[1:3, 2:6], args=(make((2, 9))[:, :4],))
    yield SampleInput(make((4, 4)), args=(make_tensor((4, 4), dtype=torch.uint8, device=device),))
    yield SampleInput(make((4, 4)), args=(make_tensor((4, 4), dtype=torch.float32, device=device, low=0, high=9),))
    yield SampleInput(make((0, 3)), args=(make((0, 3)),))
    yield SampleInput(make(()), args=(make(()),))


def _folds(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    make = partial(make_tensor, dtype=dtype, device=device)
    yield SampleInput(make((2, 12, 12)), args=((4, 5), (2, 2)))
    yield SampleInput(make((8, 9)), args=((4, 4), 2), kwargs={"dilation": 1, "padding": 1, "stride": 2})
    yield SampleInput(make((1, 18, 4)), args=((5, 5), (3, 3)), kwargs={"stride": 2})


def _normalizations(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    make = partial(make_tensor, dtype=dtype, device=device)
    for shape in ((3, 4), (2, 3, 5), (2, 3, 4, 5)):
        channels = shape[1]
        statistics = make((channels,)), make((channels,), low=0.1, high=2)
        yield SampleInput(make(shape), args=(make((channels,)), make((channels,)), *statistics, 0.1, 1e-5))
        yield SampleInput(make(shape), args=(None, None, *statistics, 0.1, 1e-3))


def _attentions(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    """Heads as a projection leaves them, between sequence and features; and queries that may attend to nothing."""
    make = partial(make_tensor, dtype=dtype, device=device, low=-1, high=1)
    batch, heads, length, features = 2, 3, 6, 8

    def projected() -> torch.Tensor:
        return make((batch, length, heads, features)).transpose(1, 2)

    yield SampleInput(projected(), args=(projected(), projected()))
    yield SampleInput(
        make((batch, heads, length, features)), args=(make((batch, heads, length, features)), projected())
    )
    seen = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    seen[2] = False
    yield SampleInput(projected(), args=(projected(), projected()), kwargs={"attn_mask": seen})
    added = torch.zeros(length, length, dtype=dtype, device=device).masked_fill(~seen, float("-inf"))
    yield SampleInput(projected(), args=(projected(), projected()), kwargs={"attn_mask": added})


def _entry(name: str, function: Callable[..., Any], samples: Any, *, dtypes: Any, **kwargs: Any) -> OpInfo:
    usual = {"supports_out": False, "supports_autograd": False}
    return OpInfo(name, op=function, dtypes=dtypes, sample_inputs_func=samples, **{**usual, **kwargs})


def _narrow(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    """Convolutions of so few numbers each that there can be 65537 of them."""
    make = partial(make_tensor, dtype=dtype, device=device)
    yield SampleInput(make((2, 1, 4)), args=(make((1, 1, 3)), make((1,))))
    yield SampleInput(make((2, 1, 4)), args=(make((1, 1, 3)), None), kwargs={"padding": 1, "stride": 2})


def _drops(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    """Dropping nothing or everything, which is certain; without a word about training, it is training."""
    make = partial(make_tensor, dtype=dtype, device=device)
    for shape in ((5, 7), (4,)):
        for probability, training in ((0.0, True), (1.0, True), (1.0, None), (0.5, False), (1.0, False)):
            yield SampleInput(make(shape), args=(probability, training))


def _divisions(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    make = partial(make_tensor, dtype=dtype, device=device)
    for divisor, mode in ((2.5, "floor"), (-3, "trunc"), (0.75, None), (-0.5, "floor")):
        yield SampleInput(make((5, 7)), args=(divisor,), kwargs={"rounding_mode": mode})


def _permutations(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    for count in (0, 1, 7, 1000, 70_000):
        yield SampleInput(count, kwargs={"device": device, "dtype": dtype})


def _ordered_permutation(count: int, **options: Any) -> torch.Tensor:
    """A random permutation put in order again: all numbers below the count, each once, whatever was drawn."""
    drawn: torch.Tensor = torch.ops.aten.randperm.default(count, **options)
    return drawn.sort().values


def _lengths(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
    for count in (1, 3, 7, 30):
        for periodic in (True, False):
            yield SampleInput(count, args=(periodic,), kwargs={"device": device, "dtype": dtype})


def _laid(*arguments: Any) -> Callable[..., Any]:
    """Tensors whole, transposed, and a part of a larger one: what their headers say is asked."""

    def samples(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
        make = partial(make_tensor, dtype=dtype, device=device)
        for tensor in (make((3, 4)), make((3, 4)).t(), make((5, 6))[1:4, ::2]):
            yield SampleInput(tensor, args=arguments)

    return samples


#: Overloads that torch.export and Inductor ask about a tensor, with what follows the tensor.
_HEADERS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("sym_size", "int", (1,)), ("sym_stride", "int", (0,)), ("sym_numel", "default", ()),
    ("sym_storage_offset", "default", ()), ("sym_is_contiguous", "default", ()),
)  # fmt: skip


def _steps(steps: Callable[..., Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]) -> Callable[..., Any]:
    def samples(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
        for args, kwargs in steps(device, dtype):
            yield SampleInput(args[0], args=args[1:], kwargs=kwargs)

    return samples


#: Of the lists of twenty and more tensors that OpInfo draws so many are kept.
_LISTED = 3


def _listed(info: OpInfo) -> OpInfo:
    """An entry of torch's own catalogue of `_foreach` functions, with shorter lists."""
    drawn = info.sample_inputs_func

    def samples(_: OpInfo, device: str, dtype: torch.dtype, *__: Any, **___: Any) -> Iterator[SampleInput]:
        for sample in drawn(info, device, dtype, False):
            count = len(sample.input)

            def cut(value: Any, count: int = count) -> Any:
                return value[:_LISTED] if isinstance(value, (list, tuple)) and len(value) == count else value

            shorter = SampleInput(cut(sample.input), args=tuple(map(cut, sample.args)), kwargs=sample.kwargs)
            if _is_answered(info, shorter):
                yield shorter

    short = copy.copy(info)
    short.sample_inputs_func = samples
    short.supports_out = False
    return short


def _is_answered(info: OpInfo, sample: SampleInput) -> bool:
    """Whether the host takes the sample: some are there for what one device refuses."""
    try:
        info.op([value.clone() for value in sample.input], *sample.args, **sample.kwargs)
    except (RuntimeError, TypeError, ValueError):
        return False
    return True


def listed() -> list[OpInfo]:
    from torch.testing._internal import common_methods_invocations as catalogue

    found = (
        *catalogue.foreach_unary_op_db, *catalogue.foreach_binary_op_db, *catalogue.foreach_pointwise_op_db,
        *catalogue.foreach_reduce_op_db, *catalogue.foreach_other_op_db,
    )  # fmt: skip
    return [_listed(info) for info in found]


def additions() -> list[OpInfo]:
    """The entries; each keeps its function, its dtypes on the host and a maker of samples."""
    inexact = floating_types_and(*_HALVES)
    every = all_types_and_complex_and(*_HALVES, torch.bool)
    aten = torch.ops.aten
    return [
        _entry("copy_", torch.Tensor.copy_, _copies, dtypes=every),
        _entry("nn.functional.fold", functional.fold, _folds, dtypes=inexact, supports_autograd=True),
        _entry("_native_batch_norm_legit_no_training", aten._native_batch_norm_legit_no_training.default,  # noqa: SLF001
               _normalizations, dtypes=inexact),
        _entry("nn.functional.scaled_dot_product_attention", functional.scaled_dot_product_attention, _attentions,
               dtypes=inexact, supports_autograd=True, variant_test_name="as_projected"),
        _entry("nn.functional.conv1d", functional.conv1d, _narrow, dtypes=inexact, supports_autograd=True,
               variant_test_name="of_one_channel"),
        _entry("native_dropout", aten.native_dropout.default, _drops, dtypes=inexact),
        _entry("div.Scalar_mode", aten.div.Scalar_mode, _divisions, dtypes=inexact),
        _entry("copy", aten.copy.default, _copies, dtypes=every),
        _entry("randperm", _ordered_permutation, _permutations, dtypes=integral_types()),
        *(_entry(name, getattr(torch, name), _lengths, dtypes=floating_types())
          for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window")),
        *(_entry(f"_fused_{name}_", Fused(getattr(aten, f"_fused_{name}_").default, step), _steps(steps),
                 dtypes=floating_types())
          for name, step, steps in (("adam", adam, adam_steps), ("adamw", adamw, adam_steps), ("sgd", sgd, sgd_steps),
                                    ("adagrad", adagrad, adagrad_steps))),
        *(_entry(name, getattr(getattr(aten, name), overload), _laid(*arguments), dtypes=every)
          for name, overload, arguments in _HEADERS),
        *listed(),
    ]  # fmt: skip
