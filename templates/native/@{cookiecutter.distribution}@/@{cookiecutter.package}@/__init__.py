"""The @{ cookiecutter.device }@ device for PyTorch: importing this package registers it.

`import torch` does that by itself, through the entry point group `torch.backends`; this import may also come first.
"""

from __future__ import annotations

import os

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _import_torch() -> None:
    """Import torch without letting it load this package again: that one is only half there.

    The variable is put back at once, so that child processes load the device as usual.
    """
    before = os.environ.get(_AUTOLOAD)
    os.environ[_AUTOLOAD] = "0"
    try:
        import torch  # noqa: F401 (the import is the point, and it has to happen here)
    finally:
        if before is None:
            del os.environ[_AUTOLOAD]
        else:
            os.environ[_AUTOLOAD] = before


def _check_version() -> None:
    """Refuse a torch that the library was not built for; loading it would end in missing symbols, or worse."""
    import torch

    try:
        from @{ cookiecutter.package }@ import _build_info
    except ImportError:
        msg = "@{ cookiecutter.package }@ is here as source only: build it with `pip install -e .`, or leave its folder to use a wheel"
        raise ImportError(msg) from None
    built = _build_info.TORCH_VERSION.split(".")[:2]
    if torch.__version__.split(".")[:2] != built:
        msg = (
            f"@{ cookiecutter.package }@ was built for torch {'.'.join(built)} (with {_build_info.TORCH_VERSION}), and this is torch "
            f"{torch.__version__}. Rebuild it: pip install --no-build-isolation --force-reinstall --no-deps ."
        )
        raise ImportError(msg)


def _register() -> None:
    """Give the device its name, its `torch.@{ cookiecutter.device }@` module and the methods such as `Tensor.@{ cookiecutter.device }@()`."""
    import torch
    from torch.utils import backend_registration

    torch.utils.rename_privateuse1_backend("@{ cookiecutter.device }@")
    from @{ cookiecutter.package }@ import @{ cookiecutter.device }@  # loads the C++ library

    torch._register_device_module("@{ cookiecutter.device }@", @{ cookiecutter.device }@)
    backend_registration.generate_methods_for_privateuse1_backend(for_storage=True)
    from @{ cookiecutter.package }@ import _compile

    _compile.register()


def _autoload() -> None:
    """Do nothing: `import torch` calls this after importing the module, and importing it has registered the device."""


_import_torch()
_check_version()
_register()
