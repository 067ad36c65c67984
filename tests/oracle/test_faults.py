"""Faults that a kernel could have are found by the check, and right answers of another kind are accepted.

The device is the CPU. A fault replaces the call on the device alone: the reference is what it always is.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from conformance.inputs.samples import Sample

NAN, INF = float("nan"), float("inf")
I64 = torch.iinfo(torch.int64)


def outcomes(found):
    return Counter(judgement.outcome for _, judgement in found)


@dataclass(frozen=True)
class Fault:
    """`sample` in place of the planned ones; `message` is part of what every wrong case says."""

    name: str
    operator: str
    dtype: str
    call: Any
    sample: Any = None
    message: str = ""

    def __str__(self):
        return f"{self.name}-{self.operator}-{self.dtype}".replace(" ", "_")


def call(*args, **kwargs):
    return Sample(args, kwargs)


def t(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


# --- faults of the result


def on_result(change):
    def fault(function, *args, **kwargs):
        return change(function(*args, **kwargs))

    return fault


def times(factor):
    return on_result(lambda result: (result * factor).to(result.dtype))


def one_element(result):
    """The middle element moved by a part of it, an integer by one, a boolean flipped."""
    result = result.clone(memory_format=torch.contiguous_format)
    flat = result.view(-1)
    if flat.numel():
        at = flat.numel() // 2
        if result.dtype is torch.bool:
            flat[at] = ~flat[at]
        else:
            flat[at] += (
                1
                if not result.is_floating_point()
                else (0.1 if result.dtype is torch.bfloat16 else 1e-3) * flat[at].abs() + 1e-6
            )
    return result


def first_of(change):
    return lambda result: (change(result[0]), *result[1:])


def no_nan(result):
    return torch.where(result.isnan(), 0.0, result).to(result.dtype)


def no_inf(result):
    return result.clamp(torch.finfo(result.dtype).min, torch.finfo(result.dtype).max)


def no_minus_zero(result):
    return result + 0.0


def elsewhere(result):
    """Every index moved on by one, round about."""
    return (result + 1) % 5


# --- faults of the arithmetic


def bfloat16_products(function, left, right):
    """A product that is accumulated in bfloat16."""
    total = torch.zeros(left.shape[0], right.shape[1], dtype=torch.bfloat16)
    for k in range(left.shape[1]):
        total = (total.float() + left[:, k, None].float() * right[None, k].float()).bfloat16()
    return total.to(left.dtype)


def bfloat16_sum(function, values, *args, **kwargs):
    total = torch.zeros((), dtype=torch.bfloat16)
    for value in values.flatten().tolist():
        total = (total.float() + value).bfloat16()
    return total.to(values.dtype)


def on_tensors(change):
    def fault(function, *args, **kwargs):
        kwargs = {key: change(value) if isinstance(value, torch.Tensor) else value for key, value in kwargs.items()}
        return function(*(change(value) if isinstance(value, torch.Tensor) else value for value in args), **kwargs)

    return fault


def ten_bits(tensor):
    return (tensor.contiguous().view(torch.int32) & ~((1 << 13) - 1)).view(torch.float32)


def truncated(function, values, *args, **kwargs):
    return (values.float().contiguous().view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


def saturating(exact):
    def fault(function, *args, **kwargs):
        exactly = exact(*[[int(v) for v in a.flatten()] for a in args if isinstance(a, torch.Tensor)])
        result = function(*args, **kwargs)
        held = [min(max(value, I64.min), I64.max) for value in exactly]
        return torch.tensor(held, dtype=torch.int64).reshape(result.shape)

    return fault


def through_float64(function, *args, **kwargs):
    return function(*(a.double() for a in args), **kwargs).long()


# --- faults of the memory


def no_offset(tensor):
    return tensor.as_strided(tensor.shape, tensor.stride(), 0)


def no_strides(tensor):
    strides = torch.empty(tensor.shape, device="meta").stride()
    return tensor.as_strided(tensor.shape, strides, tensor.storage_offset())


def writes(function, *args, **kwargs):
    result = function(*args, **kwargs)
    args[0].add_(1)
    return result


def writes_around(function, *args, **kwargs):
    result = function(*args, **kwargs)
    if args[0].storage_offset():
        args[0].as_strided((1,), (1,), 0).fill_(7)
    return result


def as_rows(function, tensor, *args, **kwargs):
    """A view of the right shape whose strides are not those that are asked for."""
    return tensor.as_strided(function(tensor, *args, **kwargs).shape, (1, 1), tensor.storage_offset())


SPECIAL = t(1.0, NAN, -2.0, 0.5, 3.0)
INFINITE = t(1.0, INF, -INF, 0.5, 3.0)
ZEROS = t(0.0, -0.0, 1.5, -2.0)
MANY = torch.linspace(0.4, 1.1, 300)
LONG = (torch.linspace(0.5, 1.5, 3 * 96).reshape(3, 96), torch.linspace(1.5, 0.5, 96 * 4).reshape(96, 4))
BIG = t(I64.max, I64.min, 3, 1 << 62, dtype=torch.int64)
BIG_TOO = t(1, -1, 4, 1 << 62, dtype=torch.int64)
BEYOND_FLOAT64 = t((1 << 53) + 1, (1 << 60) + 1, -(1 << 53) - 3, dtype=torch.int64)
#: Halves of bfloat16's spacing and more: they are to be rounded away from zero.
BETWEEN = t(1.0 + 2**-7 - 2**-12, -3.0 - 2**-6 + 2**-12, 1.99999, 100.3)

FAULTS = [
    *(Fault("off by a constant", op, "float32", times(1.001))
      for op in ("exp", "log", "sqrt", "sin", "sigmoid", "mul", "sum", "mean", "mm", "softmax", "var", "cumsum",
                 "nn.functional.gelu", "nn.functional.conv2d", "nn.functional.layer_norm")),
    *(Fault("off by a few ulp", op, "float32", times(1 + 2.0**-19)) for op in ("sqrt", "sigmoid", "mul", "add")),
    *(Fault("off by a constant", op, "bfloat16", times(1.05)) for op in ("exp", "add", "sum", "mm")),
    *(Fault("one element", op, dtype, on_result(one_element))
      for op, dtype in (("add", "float32"), ("add", "int64"), ("exp", "float32"), ("mm", "float32"), ("mm", "int64"),
                        ("gather", "float32"), ("gather", "bool"), ("cat", "int64"), ("where", "float32"),
                        ("eq", "float32"), ("index_select", "bfloat16"), ("nn.functional.conv2d", "float32"))),
    Fault("one element", "sort", "float32", on_result(first_of(one_element))),
    Fault("one element", "topk", "int64", on_result(first_of(one_element))),
    *(Fault("NaN swallowed", op, "float32", on_result(no_nan), sample)
      for op, sample in (("add", call(SPECIAL, SPECIAL)), ("exp", call(SPECIAL)), ("abs", call(SPECIAL)),
                         ("sum", call(SPECIAL)), ("amax", call(SPECIAL)), ("maximum", call(SPECIAL, SPECIAL)),
                         ("mm", call(SPECIAL[:, None], SPECIAL[None])), ("nn.functional.relu", call(SPECIAL)),
                         ("softmax", call(SPECIAL, 0)), ("mean", call(SPECIAL)))),
    *(Fault("infinity made finite", op, dtype, on_result(no_inf), sample)
      for dtype in ("float32", "bfloat16")
      for op, sample in (("add", call(INFINITE.to(getattr(torch, dtype)), t(1.0, dtype=getattr(torch, dtype)))),
                         ("exp", call(t(1.0, 100.0, 0.0, dtype=getattr(torch, dtype)))),
                         ("abs", call(INFINITE.to(getattr(torch, dtype)))),
                         ("amax", call(INFINITE.to(getattr(torch, dtype)))),
                         ("sum", call(INFINITE[1:2].to(getattr(torch, dtype)))))),
    *(Fault("sign of zero lost", op, dtype, on_result(no_minus_zero), call(ZEROS.to(getattr(torch, dtype)), *rest))
      for dtype in ("float32", "bfloat16")
      for op, rest in (("neg", ()), ("ceil", ()), ("trunc", ()), ("clone", ()),
                       ("copysign", (t(-1.0, -1.0, 1.0, 1.0, dtype=getattr(torch, dtype)),)))),
    Fault("accumulated in bfloat16", "mm", "float32", bfloat16_products, call(*LONG)),
    Fault("accumulated in bfloat16", "mm", "bfloat16", bfloat16_products, call(*(m.bfloat16() for m in LONG))),
    Fault("accumulated in bfloat16", "sum", "float32", bfloat16_sum, call(MANY)),
    Fault("accumulated in bfloat16", "sum", "bfloat16", bfloat16_sum, call(MANY.bfloat16())),
    *(Fault("inputs of ten bits", op, "float32", on_tensors(ten_bits))
      for op in ("mm", "matmul", "bmm", "addmm", "mv", "nn.functional.linear", "nn.functional.conv2d")),
    *(Fault("cut instead of rounded", "bfloat16", "float32", truncated, sample)
      for sample in (None, call(BETWEEN))),
    *(Fault("wrong dtype", op, dtype, on_result(change), message="dtype ")
      for op, dtype, change in (("exp", "float32", torch.Tensor.double), ("exp", "int64", torch.Tensor.double),
                                ("argmax", "float32", torch.Tensor.int), ("sum", "bool", torch.Tensor.int),
                                ("eq", "float32", torch.Tensor.byte), ("mm", "bfloat16", torch.Tensor.float))),
    *(Fault("wrong shape", op, "float32", on_result(change), message="shape ")
      for op, change in (("exp", lambda r: r[None]), ("sum", lambda r: r[None]), ("mm", lambda r: r.flatten()[None]))),
    *(Fault("wrong device", op, dtype, on_result(lambda r: r.to("meta")), message="device meta where cpu is due")
      for op, dtype in (("exp", "float32"), ("argmax", "int64"), ("zeros_like", "float32"))),
    Fault("another number of results", "sort", "float32", on_result(lambda r: r[0]), message="outputs where"),
    *(Fault("copy instead of a view", op, dtype, on_result(torch.clone), message="a copy where a view is due")
      for op, dtype in (("transpose", "float32"), ("expand", "int64"), ("view", "bool"), ("diagonal", "bfloat16"),
                        ("unsqueeze", "float32"))),
    Fault("view of other strides", "transpose", "float32", as_rows, call(torch.randn(3, 4), 0, 1),
          "a view with strides [1, 1] and offset 0 where [1, 4] and 0 are due"),
    Fault("view of other strides", "permute", "int64", as_rows, call(torch.arange(12).reshape(4, 3), (1, 0)),
          "a view with strides [1, 1] and offset 0 where [1, 3] and 0 are due"),
    *(Fault("input written to", op, dtype, writes, message="the call wrote to its tensor argument 0")
      for op, dtype in (("exp", "float32"), ("sum", "int64"), ("mm", "bfloat16"))),
    *(Fault("written beside the input", op, dtype, writes_around, message="the call wrote to its tensor argument 0")
      for op, dtype in (("exp", "float32"), ("sum", "int64"))),
    Fault("not written to", "index_put", "float32", lambda function, x, *args, **kwargs: x.clone()),
    Fault("saturating", "add", "int64", saturating(lambda a, b: [x + y for x, y in zip(a, b, strict=True)]),
          call(BIG, BIG_TOO)),
    Fault("saturating", "mul", "int64", saturating(lambda a, b: [x * y for x, y in zip(a, b, strict=True)]),
          call(BIG, BIG_TOO)),
    Fault("saturating", "sum", "int64", saturating(lambda a: [sum(a)]), call(BIG[[0, 2]])),
    Fault("saturating", "neg", "int64", saturating(lambda a: [-x for x in a]), call(BIG)),
    *(Fault("through float64", op, "int64", through_float64, sample)
      for op, sample in (("add", call(BEYOND_FLOAT64, BEYOND_FLOAT64.flip(0))), ("sum", call(BEYOND_FLOAT64)),
                         ("amax", call(BEYOND_FLOAT64)), ("clone", call(BEYOND_FLOAT64)))),
    Fault("another index", "argmax", "float32", on_result(elsewhere), call(torch.randn(4, 5), 1)),
    Fault("another index", "argmin", "int64", on_result(elsewhere), call(torch.arange(20).reshape(4, 5), 1)),
    Fault("another index", "argsort", "float32", on_result(elsewhere), call(torch.randn(4, 5), 1)),
    Fault("another index", "sort", "float32", on_result(lambda r: (r[0], elsewhere(r[1]))), call(torch.randn(4, 5), 1)),
    Fault("last of those that tie", "argmax", "float32", on_result(lambda r: r + 4), call(torch.ones(5))),
    Fault("one index twice", "argsort", "float32", on_result(torch.zeros_like), call(torch.zeros(5))),
    Fault("unstable", "argsort", "float32", on_result(lambda r: r.flip(0)), call(torch.zeros(5), stable=True)),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_is_wrong(judged, device, fault):
    device(fault.call)
    found = judged(fault.operator, fault.dtype, fault.sample)
    assert outcomes(found)["wrong"] > 0
    assert set(outcomes(found)) <= {"wrong", "pass"}
    for _, judgement in found:
        if judgement.outcome == "wrong":
            assert judgement.error > judgement.bound
            assert judgement.message
    assert any(fault.message in judgement.message for _, judgement in found if judgement.outcome == "wrong")


@pytest.mark.parametrize(
    ("operator", "dtype", "sample"),
    {(f.operator, f.dtype, id(f.sample)): (f.operator, f.dtype, f.sample) for f in FAULTS}.values(),
    ids=lambda value: value if isinstance(value, str) else "planned" if value is None else "special",
)
def test_without_a_fault_it_passes(judged, device, operator, dtype, sample):
    device(lambda function, *args, **kwargs: function(*args, **kwargs))
    assert set(outcomes(judged(operator, dtype, sample))) == {"pass"}


# --- layouts: what is right of the plain case is wrong of the other


@pytest.mark.parametrize(
    ("fault", "layout"), [(no_offset, "offset"), (no_offset, "strided"), (no_strides, "strided")],
    ids=["offset-of-offset", "offset-of-strided", "strides-of-strided"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("operator", "dtype"),
    [("exp", "float32"), ("add", "int64"), ("mul", "bfloat16"), ("mm", "float32"), ("sum", "float32"),
     ("logical_not", "bool"), ("argmax", "float32"), ("cat", "float32"), ("nn.functional.conv2d", "float32"),
     ("softmax", "bfloat16")],
)  # fmt: skip
def test_an_ignored_address_is_wrong_of_the_layout_that_shows_it(judged, device, operator, dtype, fault, layout):
    def change(value):
        if isinstance(value, (list, tuple)):
            return type(value)(change(child) for child in value)
        if not isinstance(value, torch.Tensor) or not value.numel():
            return value
        # Only what was laid out anew: a planned sample may have strides and an offset of its own.
        return fault(value) if value.storage_offset() == 3 else value

    device(lambda function, *args, **kwargs: function(*map(change, args), **{k: change(v) for k, v in kwargs.items()}))
    found = judged(operator, dtype)
    assert {judgement.outcome for name, judgement in found if name == "plain"} == {"pass"}
    assert "wrong" in {judgement.outcome for name, judgement in found if name == layout}


# --- right answers of another kind


def backwards(function, values):
    return values.double().flip(0).cumsum(0)[-1].to(values.dtype)


def in_order(function, left, right):
    total = torch.zeros(left.shape[0], right.shape[1])
    for k in range(left.shape[1]):
        total = total + left[:, k, None].float() * right[None, k].float()
    return total.to(left.dtype)


def cut(result):
    """To bfloat16 by dropping bits: rounded the other way, but not by more than one place."""
    return (result.contiguous().view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


def last_of_ties(function, values, k, dim):
    found, indices = function(values.flip(dim), k, dim)
    return found, values.shape[dim] - 1 - indices


RIGHT = [
    ("backwards", "sum", "float32", backwards, call(MANY)),
    ("backwards", "sum", "bfloat16", backwards, call(MANY.bfloat16())),
    ("in order", "mm", "float32", in_order, call(*LONG)),
    ("in order", "mm", "bfloat16", in_order, call(*(m.bfloat16() for m in LONG))),
    ("rounded down", "mm", "bfloat16", lambda f, a, b: cut(a.float() @ b.float()), call(*(m.bfloat16() for m in LONG))),
    ("by powers of two", "exp", "float32", lambda f, x: torch.exp2(x.double() * 1.4426950408889634).float(),
     call(torch.linspace(-20, 20, 50))),
    ("by a product", "true_divide", "float32", lambda f, a, b: a * (1 / b), call(MANY, MANY.flip(0))),
    ("last of those that tie", "topk", "float32", last_of_ties, call(t(1, 3, 3, 2, 3.0).repeat(2, 1), 2, 1)),
    ("unstable", "argsort", "float32", lambda f, x: f(x.flip(0)).sub(4).neg(), call(t(1, 1, 1, 2, 2))),
    ("contiguous", "exp", "float32", lambda f, x: f(x).contiguous(), call(torch.randn(3, 4).t())),
    ("infinite", "exp", "float32", lambda f, x: torch.where(x > 88.8, INF, f(x)), call(t(88, 89, 1000.0))),
    ("payload of NaN", "abs", "float32", on_result(lambda r: torch.where(r.isnan(), -r, r)), call(SPECIAL)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operator", "dtype", "right", "sample"), RIGHT, ids=[f"{r[0]}-{r[1]}" for r in RIGHT])
def test_another_right_answer_passes(judged, device, name, operator, dtype, right, sample):
    device(right)
    assert set(outcomes(judged(operator, dtype, sample))) == {"pass"}
