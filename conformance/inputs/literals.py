"""Tensors as the text of a program: small ones as numbers, larger ones as packed bytes."""

from __future__ import annotations

import base64
import math
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from conformance.inputs.special import VALUES
from conformance.inputs.transport import flat_storage
from conformance.inputs.tree import is_size

if TYPE_CHECKING:
    from conformance.inputs.samples import Sample

#: Storages of up to this many elements are written as numbers.
LITERAL_ELEMENTS = 64
#: How many characters the storages of a script may take in all.
MOST_CHARACTERS = 12_000
#: After how many elements special values may begin again: one tensor's, and a second's beside it.
PERIODS = (len(VALUES), len(VALUES) ** 2)
#: What a script with packed bytes needs.
UNPACK = (
    "import base64, zlib",
    "def unpack(text, dtype):",
    "    return torch.frombuffer(bytearray(zlib.decompress(base64.b85decode(text))), dtype=dtype)",
)

#: Per storage and dtype: the name that it has in the script, and its values.
Literals: TypeAlias = "dict[tuple[int, torch.dtype], tuple[str, str]]"
#: For which nine digits are too few.
_DOUBLE = (torch.float64, torch.complex128)
#: Which torch.tensor does not make.
_UNWRITTEN = (torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32)


class NoLiteralError(Exception):
    """An argument that cannot be written out, or is too large to be."""


def literals(sample: Sample) -> Literals:
    """The storages of a sample's tensors; raises NoLiteralError where they are too large or share memory."""
    found: Literals = {}
    characters = 0
    for tensor in sample.tensors:
        if tensor.layout is not torch.strided or _key(tensor) in found:
            raise NoLiteralError  # two arguments over one storage must stay so
        text = _written(_memory(tensor), tuple(tensor.shape) if is_dense(tensor) else None)
        characters += len(text)
        if characters > MOST_CHARACTERS:
            raise NoLiteralError
        found[_key(tensor)] = (f"x{len(found)}", text)
    return found


def _key(tensor: torch.Tensor) -> tuple[int, torch.dtype]:
    return tensor.untyped_storage()._cdata, tensor.dtype  # noqa: SLF001


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """What the memory of a tensor holds, whatever bits say of it."""
    tensor = tensor.conj() if tensor.is_conj() else tensor
    return flat_storage(torch._neg_view(tensor) if tensor.is_neg() else tensor)  # noqa: SLF001


def _written(flat: torch.Tensor, shape: tuple[int, ...] | None) -> str:
    """The storage as an expression of a shape, None for flat; values that begin again are written once."""
    count = flat.numel()
    shape = (count,) if shape is None else shape
    reshaped = "" if len(shape) == 1 else f".reshape({shape})"
    if count == 0:
        return f"torch.empty({shape}, dtype={flat.dtype})"
    if flat.dtype not in _UNWRITTEN:
        if count <= LITERAL_ELEMENTS:
            return f"torch.tensor({numbers(flat.reshape(shape).tolist(), flat.dtype)}, dtype={flat.dtype})"
        words = [numbers(value, flat.dtype) for value in flat.tolist()]
        for period in PERIODS:
            if count >= 2 * period and all(words[i] == words[i % period] for i in range(count)):
                once = f"[{', '.join(words[:period])}]"
                return f"torch.tensor(({once} * {-(-count // period)})[:{count}], dtype={flat.dtype}){reshaped}"
    data = flat.contiguous().view(torch.uint8).numpy().tobytes()
    text = base64.b85encode(zlib.compress(data, 9)).decode("ascii")
    return f"unpack({text!r}, {flat.dtype}){reshaped}"


def numbers(value: Any, dtype: torch.dtype) -> str:
    """Nested lists of numbers; nine digits tell all numbers of float32 and the formats below it apart."""
    if isinstance(value, list):
        return "[" + ", ".join(numbers(child, dtype) for child in value) + "]"
    if isinstance(value, complex):
        return f"complex({numbers(value.real, dtype)}, {numbers(value.imag, dtype)})"
    if type(value) is not float or dtype in _DOUBLE or (value == 0 and math.copysign(1, value) < 0):
        return repr(value)  # a bare -0 would be an integer, which has no sign
    return f"{value:.9g}"


def is_dense(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and tensor.storage_offset() == 0 and _memory(tensor).numel() == tensor.numel()


def argument_text(value: Any, known: Literals, dtype: str, target: tuple[str, str]) -> str:
    """An argument as an expression, on the device and at the dtype that `target` names; `dtype` is the sample's."""

    def inner(child: Any) -> str:
        return argument_text(child, known, dtype, target)

    device, wanted = target
    if isinstance(value, torch.Tensor):
        return _tensor_text(value, known[_key(value)][0], dtype, target)
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
    raise NoLiteralError


def _tensor_text(tensor: torch.Tensor, name: str, dtype: str, target: tuple[str, str]) -> str:
    device, wanted = target
    casts = str(tensor.dtype) == f"torch.{dtype}" and wanted != dtype
    text = f"{name}.to(torch.{wanted})" if casts else name if device == "cpu" else f"{name}.to({device!r})"
    if not is_dense(tensor):
        text += f".as_strided({tuple(tensor.shape)}, {tuple(tensor.stride())}, {tensor.storage_offset()})"
    if tensor.is_neg():
        text = f"torch._neg_view({text})"
    return f"{text}.conj()" if tensor.is_conj() else text
