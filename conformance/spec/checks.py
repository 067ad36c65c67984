"""A check as the suite declares it: what each of its cases demands, in a sentence that says MUST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.spec.operators import LEVELS
from conformance.spec.yamlfile import Node, read_yaml

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check; `cases` gives for each subject (the group) and case name what the device must do."""

    id: str
    level: str
    since: int
    summary: str
    cases: dict[str, dict[str, str]]

    def names(self, subject: str) -> list[str]:
        """List the case names of a subject, sorted; raises KeyError for a subject that the check has not."""
        return sorted(self.cases[subject])


def load_checks(folder: Path) -> dict[str, CheckSpec]:
    """Read every check of the suite by id; raises UsageError with file, line and hint.

    A file is named after its check. A subject maps case names to sentences, or states once, under `must`, what all the
    cases listed under `names` demand.
    """
    found: dict[str, CheckSpec] = {}
    for path in sorted(folder.glob("*.yaml")):
        root = read_yaml(path, f"specs/checks/{path.name}")
        spec = _check(root)
        if path.stem != spec.id:
            root.fail(f"the file is named {path.name} and its check {spec.id!r}", hint=f"name it {spec.id}.yaml")
        found[spec.id] = spec
    return found


def _check(root: Node) -> CheckSpec:
    top = root.record(["check", "level", "since", "summary", "cases"])
    return CheckSpec(
        id=top["check"].text(),
        level=top["level"].text(LEVELS),
        since=top["since"].integer(low=1),
        summary=top["summary"].text(),
        cases={subject: _subject(node) for subject, node in top["cases"].mapping().items()},
    )


def _subject(node: Node) -> dict[str, str]:
    fields = node.mapping()
    if not fields:
        node.fail("a subject without cases checks nothing")
    if "must" not in fields:
        return {name: _sentence(child) for name, child in fields.items()}
    shared = node.record(["must", "names"])
    sentence, names = _sentence(shared["must"]), shared["names"].texts()
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        shared["names"].fail(f"{', '.join(repeated)} stands here twice")
    if not names:
        shared["names"].fail("a subject without cases checks nothing")
    return dict.fromkeys(names, sentence)


def _sentence(node: Node) -> str:
    text = node.text()
    if "MUST" not in text.split():
        node.fail("a case says what the device MUST do", hint="write the word in capitals")
    return text
