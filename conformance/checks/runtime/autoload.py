"""`runtime.autoload`: a fresh interpreter finds the backend without being told, whatever is imported first.

A device of torch's own and a backend without a `torch.backends` entry point have nothing to look at: their cases are
`unsupported` and say which of the two it is. Each case is a process of its own, since a registration lasts for life.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import torch

from conformance.checks.contract import Case, Judgement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from conformance.checks.contract import Context
    from conformance.device.profile import Profile
    from conformance.spec.suite import Suite

SWITCH = "TORCH_DEVICE_BACKEND_AUTOLOAD"
SECONDS = 50.0
_DONE = "the device answered"

_USE = f"""
found = torch.tensor([1.0, 2.0]).to("{{device}}")
assert found.device.type == "{{device}}", f"the tensor lies on {{{{found.device}}}}"
assert found.cpu().tolist() == [1.0, 2.0], f"the values are {{{{found.cpu().tolist()}}}}"
print("{_DONE}")
"""

#: Runs first where other backends are installed: torch would load them all, and has room for one of them.
_ALONE = """import importlib.metadata
installed = importlib.metadata.entry_points
def entry_points(**wanted):  # without the other backends that are installed: {others}
    return [e for e in installed(**wanted) if e.group != "torch.backends" or e.module.split(".")[0] == "{package}"]
importlib.metadata.entry_points = entry_points
"""

#: What a fresh interpreter runs. `{module}` is the backend's package, `{device}` its device string.
_SCRIPTS = {
    "torch-first": "import torch\n" + _USE,
    "package-first": f"""import os
import {{module}}
import torch
left = os.environ.get("{SWITCH}")
assert left is None, f"importing {{module}} left {SWITCH}={{{{left}}}} for child processes"
"""
    + _USE,
    "disabled": f"""import os
os.environ["{SWITCH}"] = "0"
import torch
name = torch._C._get_privateuse1_backend_name()
assert name == "privateuseone", f"{SWITCH}=0 and {{{{name}}}} was registered all the same"
import {{module}}
"""
    + _USE,
}


@dataclass(slots=True)
class Autoload:
    """The check; each way of importing is a group, so that each has the time that a first call has."""

    id: str = "runtime.autoload"

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:  # noqa: ARG002 - the contract's signature
        return ((order, "any") for order in _SCRIPTS)

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:  # noqa: ARG002
        return ["fresh-interpreter"]

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None,  # noqa: ARG002
    ) -> Iterator[Case]:  # fmt: skip
        yield Case(
            name="fresh-interpreter",
            layout=None,
            variant=None,
            size=1,
            run=partial(perform, context, operator),
            repro=partial(script, context.profile, operator),
        )


def perform(context: Context, order: str) -> Judgement:
    """Run one script in a fresh interpreter; it passes when the device answers there."""
    reason = not_applicable(context.profile, context.device)
    if reason is not None:
        return Judgement("unsupported", message=reason)
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    command = [sys.executable, "-c", script(context.profile, order)]
    seconds = SECONDS * context.profile.timing
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, timeout=seconds, capture_output=True, text=True, check=False
            )
        except subprocess.TimeoutExpired:
            return Judgement("timeout", message=f"{order}: the interpreter did not end within {seconds:.0f} s")
    if done.returncode == 0 and done.stdout.splitlines()[-1:] == [_DONE]:
        return Judgement("pass", error=0.0, bound=0.0, rung="exact")
    said = cause(done.stderr) or f"it ended with {done.returncode} and said nothing"
    return Judgement("wrong", error=1.0, bound=0.0, rung="exact", message=f"{order}: {said}")


def cause(stderr: str) -> str:
    """Find what went wrong first: torch wraps whatever a backend raises into an error that says nothing of it."""
    first = stderr.partition("\nThe above exception was the direct cause")[0].strip()
    return first.splitlines()[-1] if first else ""


def script(profile: Profile, order: str) -> str:
    """Write what the interpreter runs; raises ValueError for a profile without a package."""
    if profile.import_module is None:
        raise ValueError(f"the profile {profile.name} names no package")
    package = profile.import_module.partition(".")[0]
    others = sorted(backends() - {package})
    alone = _ALONE.format(package=package, others=", ".join(others)) if others else ""
    return alone + _SCRIPTS[order].format(module=profile.import_module, device=profile.device)


def backends() -> set[str]:
    """The packages that torch loads by itself."""
    return {entry.module.partition(".")[0] for entry in entry_points(group="torch.backends")}


def not_applicable(profile: Profile, device: torch.device) -> str | None:
    """Say why there is nothing to autoload, or None where there is."""
    if device.type != torch._C._get_privateuse1_backend_name():  # noqa: SLF001 - torch has no public name for it
        return "in-tree device, nothing to autoload"
    if profile.import_module is None:
        return "the profile names no package to autoload"
    package = profile.import_module.partition(".")[0]
    if package not in backends():
        return f"{package} has no torch.backends entry point"
    return None


CHECK = Autoload()
