"""The answers a backend is made from, judged before anything is rendered."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from conformance.errors import EnvironmentFailure, UsageError
from onboard import __version__
from onboard.scaffold import reserved

if TYPE_CHECKING:
    from collections.abc import Callable

LICENSES = ("BSD-3-Clause", "Apache-2.0", "MIT", "Proprietary")

#: Marks that open or close a piece of template; an answer must hold none of them.
DELIMITERS = ("@{", "}@", "@%", "%@", "@#", "#@", "{{", "{%", "{#")

#: The oldest torch that the templates are written for.
OLDEST_TORCH = (2, 9)

_DEVICE = re.compile(r"[a-z][a-z0-9]{1,15}\Z")
_PACKAGE = re.compile(r"[a-z][a-z0-9_]{1,39}\Z")
_DISTRIBUTION = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9])){1,49}\Z")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+\Z")
_VERSION = re.compile(r"(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){0,3}(?:(?:a|b|rc)\d{1,4})?(?:\.dev\d{1,6})?\Z")
_TORCH_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Answers:
    """What the vendor says. Build it with `complete`, which fills the gaps and judges every field."""

    device: str
    package: str
    distribution: str
    vendor: str
    description: str
    author: str
    email: str
    license: str
    version: str


@dataclass(frozen=True, slots=True)
class TorchVersion:
    """The torch that the backend is built against: its public version in full, and the minor, which fixes the ABI."""

    full: str
    minor: str


def complete(given: dict[str, str | None]) -> Answers:
    """Answers from what was given, with defaults derived from the device for the rest.

    `given` maps field names to text or None; `device` must be there. Raises UsageError for the first bad answer.
    """
    device = check_answer("device", given.get("device") or "")
    values = {name: text for name, text in given.items() if text is not None}
    values = {**defaults(device, values.get("vendor")), **values}
    return Answers(**{name: check_answer(name, values[name]) for name in ANSWER_NAMES})


def defaults(device: str, vendor: str | None = None) -> dict[str, str]:
    """What is answered for a device when nobody says otherwise."""
    return {
        "package": f"torch_{device}",
        "distribution": f"torch-{device}",
        "vendor": vendor or "Example Vendor",
        "description": f"PyTorch backend for the {device} device",
        "author": vendor or "Example Vendor",
        "email": "maintainers@example.com",  # example.com is reserved for examples (RFC 2606)
        "license": LICENSES[0],
        "version": "0.1.0",
    }


def check_answer(name: str, text: str) -> str:
    """The answer itself when it may stand in a template; raises UsageError with the reason when not."""
    if any(mark in text for mark in DELIMITERS):
        raise UsageError(
            f"{name}: {text!r} holds a template delimiter",
            hint=f"leave out {' '.join(DELIMITERS)}: answers are data, never template",
        )
    _CHECKS.get(name, _check_free_text)(name, text)
    return text


def installed_torch() -> TorchVersion:
    """The version of the installed torch from its metadata, without importing it; raises EnvironmentFailure."""
    from importlib import metadata

    try:
        found = metadata.version("torch")
    except metadata.PackageNotFoundError:
        raise EnvironmentFailure(
            "torch is not installed in this environment, and a backend is built against the installed torch",
            hint="pip install torch, then run the command again",
        ) from None
    match = _TORCH_VERSION.match(found)
    if not match:
        raise EnvironmentFailure(f"the version of the installed torch is not understood: {found!r}")
    if (int(match[1]), int(match[2])) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        raise EnvironmentFailure(
            f"torch {found} is older than the templates support", hint=f"install torch {oldest} or newer"
        )
    return TorchVersion(full=found.partition("+")[0], minor=f"{match[1]}.{match[2]}")


def template_variables(answers: Answers, torch: TorchVersion) -> dict[str, str]:
    """Every variable a template may use: the answers and what follows from them."""
    return {
        **{name: getattr(answers, name) for name in ANSWER_NAMES},
        "DEVICE": answers.device.upper(),
        "class_name": answers.device.capitalize(),
        "torch_version": torch.full,
        "torch_minor": torch.minor,
        "onboard_version": __version__,
        "year": str(dt.datetime.now(tz=dt.timezone.utc).year),
    }


def _check_device(name: str, text: str) -> None:
    if not _DEVICE.match(text):
        raise UsageError(
            f"{name}: {text!r} is no device name",
            hint="2 to 16 lower-case letters and digits, a letter first, such as trn",
        )
    if text in reserved.TORCH_DEVICES:
        raise UsageError(f"{name}: torch already has a device {text!r}", hint="choose a name of your own")
    if text in reserved.PYTHON_KEYWORDS or text in reserved.CPP_KEYWORDS:
        language = "Python" if text in reserved.PYTHON_KEYWORDS else "C++"
        raise UsageError(f"{name}: {text!r} is a keyword of {language}", hint="choose a name of your own")
    if text in reserved.TORCH_ATTRIBUTES:
        raise UsageError(
            f"{name}: torch.{text} or Tensor.{text} exists already, and a device takes these names",
            hint="choose a name that torch does not use",
        )
    if text in reserved.CPP_NAMES:
        raise UsageError(
            f"{name}: {text!r} is a name of the C++ or C library or of torch's headers",
            hint="the device's name becomes a C++ namespace: choose another",
        )


def _check_package(name: str, text: str) -> None:
    if not _PACKAGE.match(text) or text.endswith("_") or "__" in text:
        raise UsageError(
            f"{name}: {text!r} is no package name",
            hint="2 to 40 lower-case letters, digits and single underscores, a letter first, such as torch_trn",
        )
    if text in reserved.PYTHON_KEYWORDS or text in reserved.CPP_KEYWORDS:
        raise UsageError(f"{name}: {text!r} is a keyword", hint="such as torch_trn")
    if text in reserved.PACKAGES:
        raise UsageError(f"{name}: {text!r} would hide another package of that name", hint="such as torch_trn")


def _check_distribution(name: str, text: str) -> None:
    if not _DISTRIBUTION.match(text):
        raise UsageError(
            f"{name}: {text!r} is no distribution name",
            hint="2 to 50 lower-case letters, digits and single hyphens between them, such as torch-trn",
        )
    if text in reserved.DISTRIBUTIONS:
        raise UsageError(f"{name}: {text!r} belongs to another project", hint="such as torch-trn")


def _check_email(name: str, text: str) -> None:
    if len(text) > 254 or not _EMAIL.match(text):
        raise UsageError(f"{name}: {text!r} is no e-mail address", hint="such as maintainers@example.com")


def _check_license(name: str, text: str) -> None:
    if text not in LICENSES:
        raise UsageError(f"{name}: {text!r} is none of the licenses offered", hint=f"one of {', '.join(LICENSES)}")


def _check_version(name: str, text: str) -> None:
    if not _VERSION.match(text):
        raise UsageError(f"{name}: {text!r} is no version", hint="such as 0.1.0 or 1.0rc1")


def _check_free_text(name: str, text: str) -> None:
    limit = 200 if name == "description" else 100
    if not text.strip() or text != text.strip():
        raise UsageError(f"{name}: text is wanted, without blanks around it", hint=f"found {text!r}")
    if len(text) > limit:
        raise UsageError(f"{name}: longer than {limit} characters", hint="keep it to one short line")
    if not text.isprintable():
        raise UsageError(
            f"{name}: {text!r} holds a line break, a control character or an invisible one",
            hint="keep it to one printable line",
        )


_CHECKS: dict[str, Callable[[str, str], None]] = {
    "device": _check_device,
    "package": _check_package,
    "distribution": _check_distribution,
    "email": _check_email,
    "license": _check_license,
    "version": _check_version,
}

ANSWER_NAMES = tuple(field.name for field in fields(Answers))
