"""What is declared about a device before it is measured."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.spec.yamlfile import Node, read_yaml

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Profile:
    """One device profile. `name` is the profile's id, `device` the torch device string; the two may differ.

    `digest` is the sha256 of the file, or of the defaults for a device that has no profile of its own.
    """

    name: str
    device: str
    vendor: str = "unknown"
    simulated: bool = False
    import_module: str | None = None
    distribution: str | None = None
    at_least: str | None = None
    levels: tuple[str, ...] = ()
    compile_backends: tuple[str, ...] = ()
    timing: float = 1.0
    unsupported_dtypes: dict[str, str] = field(default_factory=dict)
    unsupported_operators: dict[str, str] = field(default_factory=dict)
    source: str = "built in"
    digest: str = ""


def load_profile(path: Path, source: str | None = None) -> Profile:
    """Read and validate a profile; raises UsageError with file, line and hint."""
    root = read_yaml(path, source)
    top = root.record(
        ["profile", "device"],
        ["vendor", "simulated", "package", "levels", "compile", "distributed", "dtypes", "accuracy", "timing",
         "unsupported", "evidence"],
    )  # fmt: skip
    package = _record(top.get("package"), ["import", "distribution", "at_least"])
    unsupported = _record(top.get("unsupported"), ["dtypes", "operators"])
    compiled = _record(top.get("compile"), ["backends", "dynamic_shapes"])
    timing = _record(top.get("timing"), ["factor"])
    return Profile(
        name=top["profile"].text(),
        device=top["device"].text(),
        vendor=top["vendor"].text() if "vendor" in top else "unknown",
        simulated=top["simulated"].boolean() if "simulated" in top else False,
        import_module=_text(package.get("import")),
        distribution=_text(package.get("distribution")),
        at_least=_text(package.get("at_least")),
        levels=top["levels"].texts() if "levels" in top else (),
        compile_backends=compiled["backends"].texts() if "backends" in compiled else (),
        timing=timing["factor"].number() if "factor" in timing else 1.0,
        unsupported_dtypes=_reasons(unsupported.get("dtypes")),
        unsupported_operators=_reasons(unsupported.get("operators")),
        source=source or str(path),
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def default_profile(device: str) -> Profile:
    """The profile of a torch device that nobody has described: it claims nothing."""
    digest = hashlib.sha256(f"profile: {device}\ndevice: {device}\n".encode()).hexdigest()
    return Profile(name=device, device=device, digest=digest)


def _record(node: Node | None, fields: list[str]) -> dict[str, Node]:
    return {} if node is None or node.value is None else node.record([], fields)


def _text(node: Node | None) -> str | None:
    return None if node is None or node.value is None else node.text()


def _reasons(node: Node | None) -> dict[str, str]:
    return {} if node is None or node.value is None else {k: v.text() for k, v in node.mapping().items()}
