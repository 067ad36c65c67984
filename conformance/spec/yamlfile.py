"""One YAML file, read strictly: every value knows its line, so that every complaint names file, line and field."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import yaml

from conformance.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Scalar: TypeAlias = "str | int | float | bool | None"
Value: TypeAlias = "Scalar | list[Node] | dict[str, Node]"

MAX_BYTES = 1 << 20
MAX_DEPTH = 20

# YAML 1.1 reads `no` as False, 12:30 as 750 and 2026-01-01 as a date; none of that is wanted in a suite.
_INT = re.compile(r"[-+]?(0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+)\Z")
_WORDS: dict[str, Scalar] = {
    "": None, "null": None, "~": None, "true": True, "false": False,
    "inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "nan": float("nan"),
}  # fmt: skip
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place: `source` as shown to the user, 1-based `line`, dotted `field` from the root."""

    value: Value
    source: str
    line: int
    field: str

    def fail(self, problem: str, *, hint: str | None = None) -> NoReturn:
        where = f"{self.source}:{self.line}"
        raise UsageError(f"{where}: {self.field + ': ' if self.field else ''}{problem}", hint=hint)

    def text(self, choices: Sequence[str] | None = None) -> str:
        if not isinstance(self.value, str):
            self.fail(f"expected text, found {_describe(self.value)}", hint="put the value in quotes if text is meant")
        if choices is not None and self.value not in choices:
            self.fail(f"{self.value!r} is none of {', '.join(choices)}", hint=did_you_mean(self.value, choices))
        return self.value

    def integer(self, low: int | None = None) -> int:
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"expected a whole number, found {_describe(self.value)}")
        if low is not None and self.value < low:
            self.fail(f"expected at least {low}, found {self.value}")
        return self.value

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.fail(f"expected a number, found {_describe(self.value)}")
        return float(self.value)

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail(f"expected true or false, found {_describe(self.value)}")
        return self.value

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            self.fail(f"expected a list, found {_describe(self.value)}")
        return self.value

    def texts(self, choices: Sequence[str] | None = None) -> tuple[str, ...]:
        return tuple(item.text(choices) for item in self.items())

    def mapping(self) -> dict[str, Node]:
        if not isinstance(self.value, dict):
            self.fail(f"expected a mapping, found {_describe(self.value)}")
        return self.value

    def record(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Node]:
        """The mapping, after it was checked that it has every required field and no field beyond the optional ones."""
        found = self.mapping()
        known = [*required, *optional]
        for key, node in found.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"known fields: {', '.join(known)}"
                node.fail("unknown field", hint=hint)
        for key in required:
            if key not in found:
                self.fail(f"the field {key!r} is missing")
        return found


def _describe(value: Value) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    return f"{_KINDS[type(value)]} ({value!r})"


def read_yaml(path: Path, source: str | None = None) -> Node:
    """Read one file into a tree of nodes; raises UsageError naming file, line and hint.

    Duplicate keys, anchors and aliases (the means of alias bombs), tags, several documents, files above 1 MiB and
    nesting above 20 levels are refused.
    """
    shown = source or str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{shown}: larger than {MAX_BYTES} bytes", hint="a suite file holds declarations, not data")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(data.decode("utf-8"), Loader=loader)
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{shown}:{line}: {error.problem or error}", hint="the file is not valid YAML") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{shown}: {type(error).__name__}: not valid YAML") from None
    if root is None:
        raise UsageError(f"{shown}: empty")
    return _Converter(shown).convert(root, "", 0)


class _Converter:
    def __init__(self, source: str) -> None:
        self._source = source
        self._seen: set[int] = set()

    def convert(self, node: yaml.Node, field: str, depth: int) -> Node:
        line = node.start_mark.line + 1
        here = Node(None, self._source, line, field)
        if depth > MAX_DEPTH:
            here.fail(f"nested more than {MAX_DEPTH} levels deep")
        if id(node) in self._seen:
            here.fail("anchors and aliases are not allowed in a suite", hint="write the value out")
        self._seen.add(id(node))
        value: Value
        if isinstance(node, yaml.ScalarNode):
            value = self._scalar(node, here)
        elif isinstance(node, yaml.SequenceNode):
            value = [self.convert(child, f"{field}[{i}]", depth + 1) for i, child in enumerate(node.value)]
        else:
            value = dict(self._pairs(node, field, depth))
        return Node(value, self._source, line, field)

    def _pairs(self, node: yaml.Node, field: str, depth: int) -> Iterator[tuple[str, Node]]:
        keys: set[str] = set()
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode):
                Node(None, self._source, line, field).fail("a key must be plain text")
            name = f"{field}.{key}" if field else key
            if key in keys:
                Node(None, self._source, line, name).fail("the key stands here twice", hint="keep one of the two")
            keys.add(key)
            yield key, self.convert(value_node, name, depth + 1)

    @staticmethod
    def _scalar(node: yaml.ScalarNode, here: Node) -> Scalar:
        text: str = node.value
        if node.style:  # quoted or block: text, whatever it looks like
            return text
        if node.tag not in _PLAIN_TAGS:
            here.fail(f"the tag {node.tag} is not allowed")
        if text in _WORDS:
            return _WORDS[text]
        if _INT.match(text):
            return int(text.replace("_", ""))
        if _FLOAT.match(text):
            return float(text)
        return text


_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value")}
