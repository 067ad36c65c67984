"""A PrivateUse1 device in Python: numpy arrays hang on storages, kernels are numpy. Registered once per process.

Served natively: add.out, relu, fill_.Scalar, and the copies. `serve(...)` adds operators that are served by the host
in the ways that backends do that.
"""

import numpy as np
import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "npy"
LIBRARY = torch.library.Library("aten", "IMPL")
_DTYPES = {torch.float32: np.float32, torch.int64: np.int64, torch.bool: np.bool_, torch.float64: np.float64}


class Module:
    current = 0

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def device_count():
        return 1

    @classmethod
    def current_device(cls):
        return cls.current

    @staticmethod
    def _is_in_bad_fork():
        return False

    @staticmethod
    def manual_seed_all(seed):
        pass


def wrap(array):
    dtype = next(t for t, n in _DTYPES.items() if n == array.dtype)
    tensor = torch._C._acc.create_empty_tensor(list(array.shape), dtype)
    tensor.untyped_storage().payload = array
    return tensor


def payload(tensor):
    if not isinstance(tensor, torch.Tensor):
        return tensor
    return tensor.untyped_storage().payload if tensor.device.type == NAME else tensor.numpy()


def empty(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return wrap(np.zeros(size, _DTYPES[dtype or torch.float32]))


def empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return wrap(np.zeros(size, _DTYPES[dtype or torch.float32]))


def copy_from(source, target, non_blocking=False):
    payload(target)[...] = payload(source)
    return target


def local_scalar(tensor):
    return payload(tensor).item()


def view(tensor, size):
    return wrap(payload(tensor).reshape(size))


def add_out(left, right, *, alpha=1, out):
    payload(out)[...] = payload(left) + alpha * payload(right)
    return out


def relu(tensor):
    return wrap(np.maximum(payload(tensor), 0))


def fill(tensor, value):
    payload(tensor)[...] = value
    return tensor


def register():
    _setup_privateuseone_for_python_backend(NAME, backend_module=Module())
    kernels = {
        "empty.memory_format": empty, "empty_strided": empty_strided, "_copy_from": copy_from,
        "_local_scalar_dense": local_scalar, "view": view, "add.out": add_out, "relu": relu, "fill_.Scalar": fill,
    }  # fmt: skip
    for name, kernel in kernels.items():
        LIBRARY.impl(name, kernel, "PrivateUse1")


def serve(name, kernel):
    LIBRARY.impl(name, kernel, "PrivateUse1")


def by_to_cpu(operator):
    """Serve an operator as PyTorch's own boxed fallback does: `_to_cpu`, the host's kernel, copies back."""

    def kernel(*arguments, **options):
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        host = iter(torch.ops.aten._to_cpu(tensors))
        moved = [next(host) if isinstance(a, torch.Tensor) else a for a in arguments]
        return operator(*moved, **{k: v for k, v in options.items() if k != "device"}).to(NAME)

    return kernel


def by_cpu_method(operator):
    """Serve an operator by a kernel that calls `.cpu()` itself."""

    def kernel(*arguments, **options):
        moved = [a.cpu() if isinstance(a, torch.Tensor) else a for a in arguments]
        return operator(*moved, **options).to(NAME)

    return kernel


def past_aten(left, right):
    """Copy past ATen into host tensors, and compute on them by ATen."""
    host = [torch.from_numpy(payload(t).copy()) for t in (left, right)]
    return wrap(torch.ops.aten.mul.Tensor(*host).numpy())


def in_host_memory(tensor):
    """Copy past ATen into a host buffer that ATen allocated, and compute there without it."""
    buffer = torch.ops.aten.empty.memory_format(list(tensor.shape), dtype=tensor.dtype, device="cpu").numpy()
    buffer[...] = payload(tensor)
    return wrap(np.abs(buffer))


def one_by_one(tensor):
    """Read every element by itself."""
    flat = [wrap(value.reshape(())) for value in payload(tensor).reshape(-1)]
    values = [torch.ops.aten._local_scalar_dense(value) for value in flat]
    return wrap(np.ceil(np.array(values, np.float32)).reshape(tensor.shape))


def boxed(operator, *arguments, **options):
    """Serve every other operator by the host."""
    target = options.pop("out", None)
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    host = iter(torch.ops.aten._to_cpu(tensors))
    moved = [next(host) if isinstance(a, torch.Tensor) else a for a in arguments]
    name = operator.overloadpacket
    result = name(*moved, **options)
    if target is not None:
        payload(target)[...] = result.numpy()
        return target
    return result.to(NAME) if isinstance(result, torch.Tensor) else result


def register_fallback():
    library = torch.library.Library("_", "IMPL")
    library.fallback(boxed, "PrivateUse1")
    return library
