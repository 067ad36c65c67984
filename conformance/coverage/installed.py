"""The denominators of the installed torch, as its dispatcher and its catalogue have them now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch
from torch._C import _dispatch_dump, _dispatch_get_all_op_names

from conformance.device.census import census, resolve
from conformance.inputs.catalogue import described
from conformance.spec.denominators import Denominators, Overload, rule_for
from conformance.spec.plan import torch_minor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.spec.denominators import Rule

#: A backend key for which nothing is registered.
VACANT = "PrivateUse3"
_SERVED = {"missing": "kernel", "default": "default", "math": "math"}

#: Registrations beside the kernels: they watch, rewrite or look after a call, and a kernel of some key still serves it.
_BESIDE = ("Tracer", "Autograd", "ADInplaceOrView", "Functionalize", "Autocast", "FuncTorch", "Batched", "VmapMode",
           "Conjugate", "Negative", "ZeroTensor", "BackendSelect", "Meta", "Python")  # fmt: skip
_REGISTERED = re.compile(r"^([A-Z]\w+)(?:\[alias\]| \(inactive\))?: registered at ", re.MULTILINE)


def installed(rules: Sequence[Rule]) -> Denominators:
    """Ask the dispatcher for every `aten::` overload, and OpInfo for its entries; takes some seconds."""
    taken = census("CPU")
    core = frozenset(taken.core)
    overloads = []
    for name in sorted(name for name in _dispatch_get_all_op_names() if name.startswith("aten::")):
        served = _SERVED[resolve(name, VACANT)]
        rule = rule_for(rules, name, kernel_keys(name))
        overloads.append(Overload(name, served, name in core, rule, resolve(name, "CPU") != "missing"))
    return Denominators(torch_minor(torch.__version__), tuple(overloads), tuple(sorted(described())))


def kernel_keys(name: str) -> frozenset[str]:
    """The dispatch keys and aliases that a kernel of the overload is registered for."""
    found = _REGISTERED.findall(_dispatch_dump(name))
    return frozenset(key for key in found if not key.startswith(_BESIDE))
