"""Where the backend templates lie: in the wheel beside the code, in a checkout one level up."""

from __future__ import annotations

from pathlib import Path

from conformance.errors import EnvironmentFailure


def templates_dir() -> Path:
    """The folder with the templates; raises EnvironmentFailure when the installation is damaged."""
    package = Path(__file__).resolve().parent.parent
    for candidate in (package / "_data" / "templates", package.parent / "templates"):
        if (candidate / "native" / "cookiecutter.json").is_file():
            return candidate
    raise EnvironmentFailure("the backend templates (templates/) are missing", hint="reinstall torch-onboard")
