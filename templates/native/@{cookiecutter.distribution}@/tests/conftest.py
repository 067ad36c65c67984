"""What the tests share: the device, and Python in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def device() -> torch.device:
    return torch.device("@{ cookiecutter.device }@")


@pytest.fixture
def fresh_python() -> Callable[..., str]:
    """Run code in a new interpreter, with variables added to the environment; its standard output comes back."""

    def run(code: str, **variables: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment, **variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
