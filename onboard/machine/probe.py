"""Questions that need torch or a backend imported: asked in a process of their own, which may die of the answer.

Runs as `probe.main(kind, argument, answer_file)` in a child of `onboard.machine.child`. The answer goes to a file,
since a backend may print on any stream. A failure is an answer too, with its last line as `error` and its `traceback`.
"""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_UNNAMED = "privateuseone"


def main(kind: str, argument: str, answer_file: str) -> None:
    """Answer one question into `answer_file`."""
    try:
        answer = _PROBES[kind](argument)
    except BaseException as error:  # noqa: BLE001 - a backend that raises SystemExit on import is an answer as well
        last = traceback.format_exception_only(error)[-1].strip()
        answer = {"error": last, "traceback": traceback.format_exc()}
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


def _torch(_: str) -> dict[str, Any]:
    """Torch alone, without any backend."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    version = torch.version
    headers = Path(torch.__file__).parent / "include" / "ATen" / "ATen.h"
    return {
        "version": torch.__version__,
        "build": f"CUDA {version.cuda}" if version.cuda else f"ROCm {version.hip}" if version.hip else "CPU",
        "headers": headers.is_file(),
        "cxx11_abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),  # noqa: SLF001 - torch offers no public name for it
        "devices": _devices(torch),
    }


def _autoload(_: str) -> dict[str, Any]:
    """`import torch` as a user does it, with the backends that load themselves."""
    os.environ.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    import torch

    return {"devices": _devices(torch), "privateuse1": _privateuse1(torch)}


def _entry_point(argument: str) -> dict[str, Any]:
    """Load one entry point, and for a backend also call it as torch does."""
    from importlib import metadata

    group, name, value = json.loads(argument)
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    entry = metadata.EntryPoint(name=name, value=value, group=group)
    loaded = entry.load()
    if group == "torch.backends":
        loaded()
    return {"privateuse1": _privateuse1(torch)}


def _samples(_: str) -> dict[str, Any]:
    """The catalogue of operators and their samples, which lies in torch and imports more than torch requires."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    from torch.testing._internal.common_methods_invocations import op_db

    return {"operators": len(op_db)}


def _privateuse1(torch: Any) -> str | None:
    """What PrivateUse1 has been renamed to, or None."""
    name: str = torch._C._get_privateuse1_backend_name()  # noqa: SLF001 - the only way to ask
    return None if name == _UNNAMED else name


def _devices(torch: Any) -> list[dict[str, Any]]:
    """What a tensor can be put on now, with the number of devices."""
    found = [{"device": "cpu", "count": 1}]
    names = ["cuda", "xpu", "mps", "mtia", "hpu"]
    renamed = _privateuse1(torch)
    if renamed:
        names.append(renamed)
    for name in names:
        module = getattr(torch, name, None)
        if module is not None and hasattr(module, "is_available") and module.is_available():
            count = module.device_count() if hasattr(module, "device_count") else 1
            found.append({"device": name, "count": int(count)})
    return found


_PROBES: dict[str, Callable[[str], dict[str, Any]]] = {
    "torch": _torch,
    "autoload": _autoload,
    "entry-point": _entry_point,
    "samples": _samples,
}
