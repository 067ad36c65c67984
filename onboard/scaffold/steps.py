"""What to type after a backend was scaffolded."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def next_steps(folder: Path, device: str) -> list[str]:
    """Three commands: build it, put a first tensor on it, measure it."""
    first = f"import torch; print(torch.ones(2, 2, device='{device}') @ torch.ones(2, 2, device='{device}'))"
    return [
        f"python -m pip install --no-build-isolation -e {shlex.quote(str(folder))}",
        f'python -c "{first}"',
        f"onboard conform --device {device}",
    ]
