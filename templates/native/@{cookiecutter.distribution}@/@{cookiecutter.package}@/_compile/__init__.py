"""torch.compile for @{ cookiecutter.device }@: told to Dynamo and Inductor when they are first imported, so that `import torch` stays fast.

`interface` is what Dynamo asks of a device, `inductor` what Inductor needs to generate code for it.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    import torch
    from torch import fx


def register() -> None:
    """Make the device known to Dynamo and Inductor: now where they are imported already, else when they are."""
    late = {}
    for watched, tell in _REGISTRATIONS.items():
        if watched in sys.modules:
            tell()
        else:
            late[watched] = tell
    if late:
        sys.meta_path.insert(0, _AfterImport(late))


def compile_graph(
    graph: fx.GraphModule,
    inputs: Sequence[torch.Tensor],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile a graph from Dynamo with AOTAutograd and Inductor: what `torch.compile(backend="@{ cookiecutter.device }@")` calls.

    Takes the modes and options of `torch.compile`.
    """
    from torch._inductor import list_mode_options  # noqa: PLC0415 (imports Inductor)
    from torch._inductor.compile_fx import compile_fx  # noqa: PLC0415

    patches = {**(list_mode_options(mode) if mode else {}), **(options or {})}
    return compile_fx(graph, inputs, config_patches=patches)


def _register_interface() -> None:
    from @{ cookiecutter.package }@._compile import interface  # noqa: PLC0415 (imports Dynamo)

    interface.register()


def _register_code_generation() -> None:
    from @{ cookiecutter.package }@._compile import inductor  # noqa: PLC0415 (imports Inductor)

    inductor.register()


# After which import the device is registered with what. Dynamo doesn't look for devices by itself, and importing either
# takes longer than importing torch. Inductor imports `wrapper_fxir` while it registers its own devices, before anyone
# can ask for one, and nowhere else.
_REGISTRATIONS: dict[str, Callable[[], None]] = {
    "torch._dynamo.device_interface": _register_interface,
    "torch._inductor.codegen.wrapper_fxir": _register_code_generation,
}


class _AfterImport(MetaPathFinder):
    """Watches for the first import of some modules, and is gone after the last of them."""

    def __init__(self, awaited: dict[str, Callable[[], None]]) -> None:
        self._awaited = awaited

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> ModuleSpec | None:
        tell = self._awaited.pop(fullname, None)
        if tell is None:
            return None
        if not self._awaited:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _TellingLoader(spec.loader.name, spec.loader.path, tell)
        return spec


class _TellingLoader(SourceFileLoader):
    """Loads a module as always, then makes the device known to it."""

    def __init__(self, name: str, path: str, tell: Callable[[], None]) -> None:
        super().__init__(name, path)
        self._tell = tell

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self._tell()
