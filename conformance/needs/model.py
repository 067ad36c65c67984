"""A user's model: the file and function that make it, and what that function has to return."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from types import ModuleType

    import torch

CONTRACT = "a function without arguments that returns (module, args) or (module, args, kwargs), on the host"
_MODULE_NAME = "onboard_model"
SEED = 0
MOST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Target:
    """`MODEL.py:build`, taken apart."""

    file: Path
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


@dataclass(frozen=True, slots=True)
class Model:
    """A module on the host and one set of arguments for it."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def parse_target(text: str) -> Target:
    """Take `FILE:FUNCTION` apart; raises UsageError where the file is not there. Imports nothing."""
    name, separator, function = text.rpartition(":")
    if not separator or not name or not function.isidentifier():
        raise UsageError(f"{text!r} does not name a function", hint=f"write MODEL.py:build, where build is {CONTRACT}")
    file = Path(name)
    if not file.is_file():
        raise UsageError(f"no file {name}", hint=f"MODEL.py:build names a Python file and in it {CONTRACT}")
    return Target(file.resolve(), function)


def build(target: Target) -> Model:
    """Import the file, seed torch and call the function; raises UsageError with the user's own exception."""
    import torch

    module = _load(target)
    function = getattr(module, target.function, None)
    if not callable(function):
        known = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UsageError(
            f"{target.file.name} has no function {target.function!r}",
            hint=did_you_mean(target.function, known) or f"it has to be {CONTRACT}",
        )
    torch.manual_seed(SEED)
    try:
        made = function()
    except Exception as error:
        raise raised(f"{target.function} in {target.file.name} raises", error, target.file) from error
    return _checked(made, target)


def raised(what: str, error: BaseException, file: Path | None = None) -> UsageError:
    """A usage error that quotes an exception of the user's code, and says where in `file` it came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if file is None or Path(f.filename) == file]
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}: {frames[-1].line}" if frames else None
    text = str(error).strip().splitlines()
    return UsageError(
        f"{what} {type(error).__name__}{': ' + text[0][:MOST_TEXT] if text else ''}",
        hint=f"it comes from {place}" if place else f"it has to be {CONTRACT}",
    )


def _load(target: Target) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE_NAME, target.file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{target.file} is no Python file", hint=f"it needs {CONTRACT}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE_NAME] = module  # classes in it look themselves up there
    sys.path.insert(0, str(target.file.parent))  # as for a script: a model lies in several files
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise raised(f"{target.file.name} cannot be imported:", error, target.file) from error
    return module


def _checked(made: Any, target: Target) -> Model:
    import torch

    def wrong(what: str) -> UsageError:
        return UsageError(f"{target.function} in {target.file.name} {what}", hint=f"it has to be {CONTRACT}")

    if not isinstance(made, (tuple, list)) or len(made) not in {2, 3}:
        raise wrong(f"returns {_kind(made)}, not (module, args)")
    module, args, kwargs = (*made, {})[:3]
    if not isinstance(module, torch.nn.Module):
        raise wrong(f"returns {_kind(module)} where the torch.nn.Module is due")
    if not isinstance(args, (tuple, list)):
        raise wrong(f"returns {_kind(args)} where the tuple of arguments is due")
    if not isinstance(kwargs, dict):
        raise wrong(f"returns {_kind(kwargs)} where the dictionary of keyword arguments is due")
    return Model(module, tuple(args), dict(kwargs))


def _kind(value: Any) -> str:
    count = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return f"{type(value).__name__}{count}"
