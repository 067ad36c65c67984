"""Alarms that are explained: what an implementation is known to answer otherwise than PyTorch says."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.selftest.implementations.implementation import IMPLEMENTATIONS
from conformance.spec.yamlfile import read_yaml

if TYPE_CHECKING:
    from conformance.spec.yamlfile import Node

KNOWN = Path(__file__).parent.parent / "known.yaml"


@dataclass(frozen=True, slots=True)
class Known:
    """One explanation. Operators, case names and messages are patterns as of a shell; no dtypes are all dtypes."""

    implementations: tuple[str, ...]
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    cases: str
    message: str
    reason: str

    def concerns(self, implementation: str, operator: str, dtype: str) -> bool:
        """Whether the explanation is of this implementation and group."""
        return (
            implementation in self.implementations
            and any(fnmatchcase(operator, pattern) for pattern in self.operators)
            and (not self.dtypes or dtype in self.dtypes)
        )

    def explains(self, case: str, message: str) -> bool:
        """Whether a failure of such a group is the one that is meant."""
        return fnmatchcase(case, self.cases) and fnmatchcase(message, self.message)


def read_known(path: Path = KNOWN) -> tuple[Known, ...]:
    """The explanations of a file; raises UsageError where it is malformed."""
    return tuple(_known(node) for node in read_yaml(path, path.name).items())


def _known(node: Node) -> Known:
    fields = node.record(["implementations", "operators", "reason"], ["dtypes", "cases", "message"])
    return Known(
        implementations=fields["implementations"].texts(list(IMPLEMENTATIONS)),
        operators=fields["operators"].texts(),
        dtypes=fields["dtypes"].texts() if "dtypes" in fields else (),
        cases=fields["cases"].text() if "cases" in fields else "*",
        message=fields["message"].text() if "message" in fields else "*",
        reason=fields["reason"].text(),
    )
