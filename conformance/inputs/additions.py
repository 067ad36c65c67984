"""Operators that torch's catalogue does not describe, as entries of the same kind: what every backend is asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.testing import make_tensor
from torch.testing._internal.common_dtype import all_types_and_complex_and, floating_types_and
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

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
    ]  # fmt: skip
