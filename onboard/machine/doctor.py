"""Everything that a backend needs from this machine, looked at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from conformance.device.profile import load_profile
from conformance.errors import OnboardError
from onboard.machine import entrypoints, toolchain
from onboard.machine.check import Check
from onboard.machine.child import ask
from onboard.scaffold.answers import OLDEST_TORCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onboard.machine.child import Answer
    from onboard.machine.entrypoints import Entry, Loaded

_GET_TORCH = (
    "pip install torch (with --index-url https://download.pytorch.org/whl/cpu for the small build without CUDA)"
)


def examine() -> list[Check]:
    """Every check, in the order in which to repair things."""
    with ThreadPoolExecutor(3) as pool:
        compiler = pool.submit(toolchain.check_compiler)
        torch = pool.submit(ask, "torch")
        opinfo = pool.submit(ask, "samples")
        checks = [
            toolchain.check_python(),
            toolchain.check_system(),
            check_torch(torch.result()),
            *toolchain.check_distributions(),
            check_samples(opinfo.result()),
            compiler.result(),
            toolchain.check_headers(),
            toolchain.check_ninja(),
            toolchain.check_cmake(),
        ]
    if torch.result().error is None:
        code = [entrypoints.BACKENDS, entrypoints.DYNAMO]
        checks += check_backends(entrypoints.load_each(entrypoints.installed(code)))
        checks += [check_profile(entry) for entry in entrypoints.installed([entrypoints.PROFILES])]
        checks.append(check_autoload(ask("autoload")))
    return checks


def check_torch(answer: Answer) -> Check:
    if answer.error is not None:
        if "No module named 'torch'" in answer.error:
            return Check("torch", "missing", "not installed", _GET_TORCH)
        return Check("torch", "broken", f"import torch fails: {answer.error}", _GET_TORCH, answer.detail)
    version = str(answer.data["version"])
    shown = f"{version}, {answer.data['build']} build"
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        return Check("torch", "broken", f"{shown}: too old", f"install torch {oldest} or newer")
    if not answer.data["headers"]:
        return Check("torch", "broken", f"{shown}: its C++ headers are missing", "install torch from a wheel")
    return Check("torch", "ok", shown)


def check_samples(answer: Answer) -> Check:
    """OpInfo, the catalogue of operators and samples that conformance is planned from."""
    if answer.error is not None:
        hint = "see the packages above; the catalogue is part of torch and needs numpy and expecttest"
        return Check("opinfo", "broken", f"the operator samples can't be imported: {answer.error}", hint, answer.detail)
    return Check("opinfo", "ok", f"{answer.data['operators']} operators with samples")


def check_backends(loaded: Sequence[Loaded]) -> list[Check]:
    """One check per entry point, and one for backends that exclude each other."""
    checks = [_entry(one) for one in loaded]
    renames = [one for one in loaded if one.entry.group == entrypoints.BACKENDS and one.privateuse1]
    if len(renames) > 1:
        names = ", ".join(f"{one.privateuse1} ({one.entry.distribution or one.entry.value})" for one in renames)
        checks.append(
            Check(
                "privateuse1",
                "broken",
                f"{len(renames)} backends want PrivateUse1: {names}; torch has one per process",
                "keep one of them per environment, or set TORCH_DEVICE_BACKEND_AUTOLOAD=0 and import one by hand",
            )
        )
    if not any(one.entry.group == entrypoints.BACKENDS for one in loaded):
        checks.append(Check("backends", "warning", "none installed", "onboard new-backend NAME makes one"))
    return checks


def check_profile(entry: Entry) -> Check:
    """Check that a profile shipped by a backend is there and can be read; it is data and is not imported."""
    identity = f"{entry.group}:{entry.name}"
    shown = f"{entry.value} from {entry.distribution or 'an unknown distribution'}"
    path = entrypoints.profile_path(entry)
    if path is None:
        hint = 'the value has to be "package:file.yaml", and the file has to be part of the package'
        return Check(identity, "broken", f"{shown}: no such file", hint)
    try:
        profile = load_profile(path)
    except OnboardError as error:
        return Check(identity, "broken", f"{shown}: {error.message}", error.hint)
    simulated = ", SIMULATED DEVICE" if profile.simulated else ""
    return Check(identity, "ok", f"{shown}: profile {profile.name}, device {profile.device}{simulated}")


def check_autoload(answer: Answer) -> Check:
    if answer.error is not None:
        hint = "TORCH_DEVICE_BACKEND_AUTOLOAD=0 python ... imports torch without backends; then repair or remove one"
        return Check("autoload", "broken", f"import torch fails with its backends: {answer.error}", hint, answer.detail)
    devices = ", ".join(f"{one['device']} ({one['count']})" for one in answer.data["devices"])
    return Check("autoload", "ok", f"import torch offers: {devices}")


def _entry(one: Loaded) -> Check:
    entry, answer = one.entry, one.answer
    identity = f"{entry.group}:{entry.name}"
    shown = f"{entry.value} from {entry.distribution or 'an unknown distribution'}"
    if answer.error is not None:
        hint = f"repair or pip uninstall {entry.distribution}" if entry.distribution else "repair or remove it"
        return Check(identity, "broken", f"{shown}: {answer.error}", hint, answer.detail)
    renamed = f", device {one.privateuse1}" if one.privateuse1 else ""
    return Check(identity, "ok", f"{shown}{renamed}")
