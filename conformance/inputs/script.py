"""A call as a short script that a person pastes: torch alone, the inputs written out, the device beside the host."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from conformance.inputs.catalogue import public_name
from conformance.inputs.samples import OPINFO, planned_seed, seed_of
from conformance.inputs.special import VALUES
from conformance.inputs.transport import flat_storage
from conformance.inputs.tree import is_size, tensors

if TYPE_CHECKING:
    from conformance.inputs.samples import Sample

#: Storages of up to this many elements in all are written out; larger ones are drawn anew from OpInfo.
LITERAL_ELEMENTS = 64
#: After how many elements special values may begin again: one tensor's, and a second's beside it.
PERIODS = (len(VALUES), len(VALUES) ** 2)


def write(
    operator: str, sample: Sample, ordinal: int | None, dtype: str, *,
    device: str, module: str | None, seed: int, wide: bool, result: Any,
) -> str:  # fmt: skip
    """The script for one call; `sample` is laid out already, `result` is what the host returns.

    `ordinal` is the place of the sample among OpInfo's; a sample that is none of them (None) must be small enough to be
    written out, or a ValueError says that there is no script.

    `wide`: the expected values are those of float64; else those of the host's own kernel. Pasted into a fresh
    interpreter it prints what the device gives and what is expected.
    """
    reference = ("complex128" if dtype.startswith("complex") else "float64") if wide else dtype
    name = public_name(operator)
    try:
        literals = _literals(sample, LITERAL_ELEMENTS if ordinal is not None else sample.size)
        calls = [
            _call(name or "entry.op", sample, literals, dtype, target)
            for target in ((device, dtype), ("cpu", reference))
        ]
        body = [f"{storage} = {text}" for storage, text in literals.values()]
    except _NoLiteralError:
        if ordinal is None:
            raise ValueError("the arguments cannot be written out") from None
        calls = [f"{name or 'entry.op'}(*args, **kwargs)"] * 2
        body = []
    got, expected = (_shown(call, result) for call in calls)
    lines = [f"import torch{', ' + module if module else ''}"]
    if any(t.dtype.is_floating_point or t.dtype.is_complex for t in tensors(result)):
        lines.append(f"torch.set_printoptions(precision={16 if dtype in ('float64', 'complex128') else 9})")
    if re.search(r"\b(nan|inf)\b", "\n".join([*body, *calls])):
        lines.append("from math import inf, nan")
    if name is None or "**kwargs" in calls[0]:
        lines.append("from torch.testing._internal.common_methods_invocations import op_db")
        lines.append(f"entry = next(o for o in op_db if o.full_name == {operator!r})")
    if "**kwargs" not in calls[0]:
        lines += [*body, f"print('got     ', {got})", f"print('expected', {expected})"]
    else:
        lines += ["import random, numpy", "def arguments(device, dtype):"]
        lines += ["    " + line for line in _drawn_body(operator, sample, ordinal or 0, dtype, seed)]
        lines += [f"args, kwargs = arguments({device!r}, torch.{dtype})", f"print('got     ', {got})"]
        lines += [f"args, kwargs = arguments('cpu', torch.{reference})", f"print('expected', {expected})"]
    return "\n".join(lines) + "\n"


def _shown(call: str, result: Any) -> str:
    if isinstance(result, torch.Tensor):
        return f"{call}.cpu()"
    if isinstance(result, (tuple, list)) and result and all(isinstance(part, torch.Tensor) for part in result):
        return f"[part.cpu() for part in {call}]"
    return call


class _NoLiteralError(Exception):
    """An argument that cannot be written out, or is too large to be."""


#: Nine digits are too few for the one, and torch.tensor does not make the other.
_UNWRITTEN = (torch.float64, torch.float8_e4m3fn, torch.float8_e5m2)
#: Per storage and dtype: the name that it has in the script, and its values.
_Literals: TypeAlias = "dict[tuple[int, torch.dtype], tuple[str, str]]"


def _key(tensor: torch.Tensor) -> tuple[int, torch.dtype]:
    return tensor.untyped_storage()._cdata, tensor.dtype  # noqa: SLF001


def _literals(sample: Sample, most: int) -> _Literals:
    found: _Literals = {}
    elements = 0
    for tensor in sample.tensors:
        if tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg():
            raise _NoLiteralError
        flat = flat_storage(tensor)
        elements += flat.numel()
        if _key(tensor) in found or elements > most or tensor.dtype in _UNWRITTEN:
            raise _NoLiteralError  # two arguments over one storage must stay so
        values = tensor if _is_dense(tensor) else flat
        found[_key(tensor)] = (f"x{len(found)}", _written(values))
    return found


def _written(values: torch.Tensor) -> str:
    """The tensor as an expression; values that begin again after a while are written once."""
    count = values.numel()
    if count == 0:
        return f"torch.empty({tuple(values.shape)}, dtype={values.dtype})"
    if count > LITERAL_ELEMENTS:
        words = [_numbers(value) for value in values.flatten().tolist()]
        for period in PERIODS:
            if all(words[i] == words[i % period] for i in range(count)):
                once = f"[{', '.join(words[:period])}]"
                shape = "" if values.dim() == 1 else f".reshape({tuple(values.shape)})"
                return f"torch.tensor(({once} * {-(-count // period)})[:{count}], dtype={values.dtype}){shape}"
    return f"torch.tensor({_numbers(values.tolist())}, dtype={values.dtype})"


def _numbers(value: Any) -> str:
    """Nested lists of numbers; nine digits tell all numbers of float32 and the formats below it apart."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    if type(value) is not float or (value == 0 and math.copysign(1, value) < 0):
        return repr(value)  # a bare -0 would be an integer, which has no sign
    return f"{value:.9g}"


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and tensor.storage_offset() == 0 and flat_storage(tensor).numel() == tensor.numel()


def _call(function: str, sample: Sample, literals: _Literals, dtype: str, target: tuple[str, str]) -> str:
    def text(value: Any) -> str:
        return _text(value, literals, dtype, target)

    keywords = [f"{key}={text(value)}" for key, value in sample.kwargs.items()]
    return f"{function}({', '.join([*map(text, sample.args), *keywords])})"


def _text(value: Any, literals: _Literals, dtype: str, target: tuple[str, str]) -> str:
    def inner(child: Any) -> str:
        return _text(child, literals, dtype, target)

    device, wanted = target
    if isinstance(value, torch.Tensor):
        return _tensor_text(value, literals[_key(value)][0], dtype, target)
    if isinstance(value, torch.dtype):
        return f"torch.{wanted}" if str(value) == f"torch.{dtype}" else str(value)
    if isinstance(value, torch.device) or value == "cpu":
        return repr(device)
    if is_size(value) or type(value) is tuple:
        return "(" + "".join(inner(child) + ", " for child in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(inner(child) for child in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, complex, str, slice, torch.layout, torch.memory_format)):
        return repr(value)
    if value is Ellipsis:
        return "..."
    raise _NoLiteralError


def _tensor_text(tensor: torch.Tensor, name: str, dtype: str, target: tuple[str, str]) -> str:
    device, wanted = target
    casts = str(tensor.dtype) == f"torch.{dtype}" and wanted != dtype
    moved = f"{name}.to(torch.{wanted})" if casts else name if device == "cpu" else f"{name}.to({device!r})"
    if _is_dense(tensor):
        return moved
    return f"{moved}.as_strided({tuple(tensor.shape)}, {tuple(tensor.stride())}, {tensor.storage_offset()})"


def _drawn_body(operator: str, sample: Sample, ordinal: int | None, dtype: str, seed: int) -> list[str]:
    """The arguments drawn from OpInfo as the suite draws them, each then put at the addresses that the case has."""
    number = seed_of(operator, dtype, OPINFO, planned_seed(operator, dtype, seed))
    views = [
        (flat_storage(t).numel(), tuple(t.stride()), t.storage_offset())
        for t in sample.tensors
        if t.layout is torch.strided
    ]
    return [
        f"torch.manual_seed({number}); random.seed({number}); numpy.random.seed({number})",
        f"drawn = list(entry.sample_inputs('cpu', torch.{dtype}, set_seed=False))[{ordinal}]",
        f"views = iter({views})",
        "def move(x):",
        "    if x.layout != torch.strided: return x.to(device, dtype)",
        "    size, stride, offset = next(views)",
        "    flat = torch.zeros(size, dtype=x.dtype)",
        "    flat.as_strided(x.shape, stride, offset).copy_(x)",
        f"    wanted = dtype if x.dtype == torch.{dtype} and x.is_floating_point() else x.dtype",
        "    return flat.to(device, wanted).as_strided(x.shape, stride, offset)",
        "def walk(v):",
        "    if isinstance(v, dict): return {k: walk(x) for k, x in v.items()}",
        "    if type(v) in (list, tuple): return type(v)(walk(x) for x in v)",
        "    return move(v) if isinstance(v, torch.Tensor) else device if v == 'cpu' else v",
        "return walk((drawn.input, *drawn.args)), walk(drawn.kwargs)",
    ]
