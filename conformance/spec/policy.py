"""Policy: what each level lets a device lack without losing the level."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from conformance.spec.operators import DTYPES, LEVELS
from conformance.spec.yamlfile import read_yaml

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Allowance:
    """`unsupported_dtypes` may be declared missing; checks under `not_applicable` may say so of single cases."""

    unsupported_dtypes: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    def permits(self, check: str, dtype: str | None) -> bool:
        """Whether the outcome `unsupported` of such a case leaves the level standing."""
        return dtype in self.unsupported_dtypes or any(fnmatchcase(check, glob) for glob in self.not_applicable)


def load_policy(path: Path) -> dict[str, Allowance]:
    """Read the policy; a level that it does not name allows nothing."""
    levels = read_yaml(path, f"specs/{path.name}").record(["levels"])["levels"].mapping()
    found = {}
    for name, node in levels.items():
        if name not in LEVELS:
            node.fail(f"no level is named {name!r}")
        fields = node.record([], ["unsupported_dtypes", "not_applicable"])
        found[name] = Allowance(
            unsupported_dtypes=fields["unsupported_dtypes"].texts(DTYPES) if "unsupported_dtypes" in fields else (),
            not_applicable=fields["not_applicable"].texts() if "not_applicable" in fields else (),
        )
    return found
