"""The calls that generated code makes to start a kernel."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import torch

import @{ cookiecutter.package }@._C as _C

# csrc/runtime/launch.cpp
_launch = ctypes.CDLL(_C.__file__).@{ cookiecutter.package }@_launch
_launch.restype = ctypes.c_char_p
_launch.argtypes = (
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_int,
)


def launch(kernel: Any, buffers: list[torch.Tensor], params: bytes = b"") -> None:  # noqa: ANN401 (ctypes' own type)
    """Enqueue a compiled kernel on the current stream of its buffers' device.

    `kernel` is a C function that Inductor has compiled and loaded, or its address; the device addresses of `buffers`
    and the argument block `params` are all that it gets. Raises RuntimeError for a buffer that isn't on the device.
    """
    index = buffers[0].device.index
    addresses = (ctypes.c_void_p * len(buffers))(*[buffer.data_ptr() for buffer in buffers])
    device = -1 if index is None else index
    error = _launch(ctypes.cast(kernel, ctypes.c_void_p), addresses, len(buffers), params, len(params), device)
    if error is not None:
        places = ", ".join(sorted({str(buffer.device) for buffer in buffers}))
        msg = f"@{ cookiecutter.device }@ driver: launch of a compiled kernel with buffers on {places}: {error.decode()}"
        raise RuntimeError(msg)


def address_of(kernel: Any) -> int:  # noqa: ANN401 (ctypes' own type)
    """Return where a loaded C function starts."""
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    if address is None:
        msg = "a compiled kernel has no address"
        raise RuntimeError(msg)
    return address


# The same as an operator, for graphs that are traced or run with tensors that hold no data: kernels by their addresses,
# the argument block by its values and their `struct` format.
_library = torch.library.Library("@{ cookiecutter.package }@", "DEF")
_library.define("launch(int kernel, Tensor(a!)[] buffers, str value_format, SymInt[] values) -> ()")


@torch.library.impl(_library, "launch", "PrivateUse1")
def _launch_from_graph(kernel: int, buffers: list[torch.Tensor], value_format: str, values: list[int]) -> None:
    launch(kernel, buffers, struct.pack(value_format, *values))


@torch.library.register_fake("@{ cookiecutter.package }@::launch", lib=_library)
def _launch_nothing(_kernel: int, _buffers: list[torch.Tensor], _value_format: str, _values: list[int]) -> None:
    """Tensors without data have nothing to compute."""
