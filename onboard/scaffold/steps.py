"""What to type after a backend was scaffolded."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# tomli is the same parser under its name before Python 3.11.
tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def next_steps(folder: Path, device: str) -> list[str]:
    """Three commands: build it, put a first tensor on it, measure it.

    The build runs without isolation, since it has to see the installed torch; so its tools are installed first.
    """
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    tools = shlex.join(project["build-system"]["requires"])
    first = f"import torch; print(torch.ones(2, 2, device='{device}') @ torch.ones(2, 2, device='{device}'))"
    return [
        f"python -m pip install {tools} && python -m pip install --no-build-isolation -e {shlex.quote(str(folder))}",
        f'python -c "{first}"',
        f"onboard conform --device {device}",
    ]
