"""A call as a short script that a person pastes: torch alone, the inputs written out, the device beside the host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.inputs.catalogue import called_name, described
from conformance.inputs.literals import UNPACK, NoLiteralError, argument_text, literals
from conformance.inputs.samples import OPINFO, SCALES, Sample, planned_seed, seed_of
from conformance.inputs.transport import flat_storage
from conformance.inputs.tree import leaves
from conformance.inputs.tree import tensors as tensors_of
from conformance.inputs.variants import Gradient

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.inputs.literals import Literals


@dataclass(frozen=True, slots=True)
class Pasted:
    """A call to be pasted: the operator and the function, its sample as laid out, and what the host returns.

    `ordinal` is the place of the sample among OpInfo's, from which one that is too large to be written out is drawn
    anew; `wide` says that the expected values are those of float64, else those of the host's own kernel; `refused`
    that the host raises.
    """

    operator: str
    function: Callable[..., Any]
    sample: Sample
    ordinal: int | None
    dtype: str
    result: Any
    wide: bool = False
    refused: bool = False

    @property
    def reference(self) -> str:
        """The dtype of the expected values."""
        return ("complex128" if self.dtype.startswith("complex") else "float64") if self.wide else self.dtype


def write(pasted: Pasted, *, device: str, module: str | None, seed: int) -> str:
    """The script for one call: in a fresh interpreter it prints what the device gives and what is expected.

    Raises ValueError where the arguments can neither be written out nor drawn.
    """
    targets = ((device, pasted.dtype), ("cpu", pasted.reference))
    try:
        known = literals(pasted.sample)
        calls = [_call(pasted, known, target) for target in targets]
        body = [f"{storage} = {text}" for storage, text in known.values()]
        drawn = False
    except NoLiteralError:
        if pasted.ordinal is None or isinstance(pasted.function, Gradient):
            raise ValueError("the arguments are too large, or of a kind, that cannot be written out") from None
        calls = [f"{called_name(pasted.operator, pasted.function)}(*args, **kwargs)"] * 2
        body, drawn = [], True
    if (drawn or "entry." in calls[0]) and pasted.operator not in described():
        raise ValueError(
            "torch's catalogue does not have the operator, from which its function or arguments would come"
        )
    got, expected = (_shown(call, pasted.result) for call in calls)
    lines = [f"import torch{', ' + module if module else ''}"]
    if any(t.dtype.is_floating_point or t.dtype.is_complex for t in tensors_of(pasted.result)):
        digits = 16 if pasted.dtype in ("float64", "complex128") else 9
        lines.append(f"torch.set_printoptions(precision={digits})")
    if re.search(r"\b(nan|inf)\b", "\n".join([*body, *calls])):
        lines.append("from math import inf, nan")
    if any("unpack(" in line for line in body):
        lines += UNPACK
    if drawn or "entry." in calls[0]:
        lines.append("from torch.testing._internal.common_methods_invocations import op_db")
        lines.append(f"entry = next(o for o in op_db if o.full_name == {pasted.operator!r})")
    if isinstance(pasted.function, Gradient):
        lines += _GRADIENTS
    if not drawn:
        lines += body
    else:
        lines += ["import random, numpy", "def arguments(device, dtype):"]
        lines += ["    " + line for line in _drawn_body(pasted, seed)]
        lines.append(f"args, kwargs = arguments({device!r}, torch.{pasted.dtype})")
    lines += _printed("got     ", got, pasted)
    if drawn:
        lines.append(f"args, kwargs = arguments('cpu', torch.{pasted.reference})")
    lines += _printed("expected", expected, pasted)
    return "\n".join(lines) + "\n"


_GRADIENTS = (
    "from torch.utils._pytree import tree_leaves, tree_map",
    "def gradients(function, upstream, wanted, *args, **kwargs):",
    "    tensors = [v for v in tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]",
    "    followed = [tensors[i].detach().requires_grad_() for i in wanted]",
    "    def swap(v): return next((f for f, i in zip(followed, wanted) if v is tensors[i]), v)",
    "    outputs = tree_leaves(function(*tree_map(swap, args), **tree_map(swap, kwargs)))",
    "    outputs = [v for v in outputs if isinstance(v, torch.Tensor) and v.requires_grad]",
    "    found = torch.autograd.grad(outputs, followed, upstream, allow_unused=True)",
    "    return [None if v is None else v.cpu() for v in found]",
)


def _printed(word: str, call: str, pasted: Pasted) -> list[str]:
    if not pasted.refused:
        return [f"print({word!r}, {call})"]
    return [f"try: print({word!r}, {call})", f"except Exception as error: print({word!r}, repr(error))"]


def _shown(call: str, result: Any) -> str:
    if isinstance(result, torch.Tensor):
        return f"{call}.cpu()"
    if isinstance(result, (tuple, list)) and result and all(isinstance(part, torch.Tensor) for part in result):
        return call if call.startswith("gradients(") else f"[part.cpu() for part in {call}]"
    return call


def _call(pasted: Pasted, known: Literals, target: tuple[str, str]) -> str:
    def text(value: Any) -> str:
        return argument_text(value, known, pasted.dtype, target)

    sample, function = pasted.sample, pasted.function
    keywords = [f"{key}={text(value)}" for key, value in sample.kwargs.items()]
    if not isinstance(function, Gradient):
        return f"{called_name(pasted.operator, function)}({', '.join([*map(text, sample.args), *keywords])})"
    count = len(sample.args) - function.upstream
    upstream = f"[{', '.join(map(text, sample.args[count:]))}]"
    given = [called_name(pasted.operator, function.function), upstream, repr(list(function.wanted))]
    return f"gradients({', '.join([*given, *map(text, sample.args[:count]), *keywords])})"


def _drawn_body(pasted: Pasted, seed: int) -> list[str]:
    """The arguments drawn from OpInfo as the suite draws them, each then put at the addresses that the case has."""
    dtype = pasted.dtype
    number = seed_of(pasted.operator, dtype, OPINFO, planned_seed(pasted.operator, dtype, seed))
    views = [
        (flat_storage(t).numel(), tuple(t.stride()), t.storage_offset())
        for t in leaves((pasted.sample.args, pasted.sample.kwargs))
        if isinstance(t, torch.Tensor) and t.layout is torch.strided
    ]
    scale = SCALES.get(pasted.operator, 1.0)
    value = "x" if scale == 1 else f"x * {scale} if x.is_floating_point() else x"
    return [
        f"torch.manual_seed({number}); random.seed({number}); numpy.random.seed({number})",
        f"drawn = list(entry.sample_inputs('cpu', torch.{dtype}, set_seed=False))[{pasted.ordinal}]",
        f"views = iter({views})",
        "def move(x):",
        "    if x.layout != torch.strided: return x.to(device, dtype)",
        "    size, stride, offset = next(views)",
        "    flat = torch.zeros(size, dtype=x.dtype)",
        f"    flat.as_strided(x.shape, stride, offset).copy_({value})",
        f"    wanted = dtype if x.dtype == torch.{dtype} and x.is_floating_point() else x.dtype",
        "    return flat.to(device, wanted).as_strided(x.shape, stride, offset)",
        "def walk(v):",
        "    if isinstance(v, dict): return {k: walk(x) for k, x in v.items()}",
        "    if type(v) in (list, tuple): return type(v)(walk(x) for x in v)",
        "    return move(v) if isinstance(v, torch.Tensor) else device if v == 'cpu' else v",
        "return walk((drawn.input, *drawn.args)), walk(drawn.kwargs)",
    ]
