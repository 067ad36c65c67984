"""Where the suite's data lies: in the wheel beside the code, in a checkout one level up."""

from __future__ import annotations

from pathlib import Path

from conformance.errors import EnvironmentFailure


def specs_dir() -> Path:
    """The folder with the published suite; raises EnvironmentFailure when the installation is damaged."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "_data" / "specs", here.parent / "specs"):
        if (candidate / "suite.yaml").is_file():
            return candidate
    raise EnvironmentFailure("the suite's data (specs/) is missing", hint="reinstall torch-onboard")
