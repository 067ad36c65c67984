"""Calls of single overloads, written down: what no sample of torch's catalogue calls, and what once was wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from conformance.spec.operators import DTYPES, LEVELS, OperatorSpec, Oracle, operator_named, read_oracle
from conformance.spec.yamlfile import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from conformance.spec.yamlfile import Node

#: Stands for the dtype of the case.
SAME = "same"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A tensor to be drawn: `normal`, or `uniform` or `integers` from `low` to below `high`.

    A `transposed` matrix lies with its columns one after the other.
    """

    kind: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    dtype: str = SAME
    transposed: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """A tensor of the written values, nested as its dimensions are."""

    values: Written
    dtype: str = SAME


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype as an argument."""

    name: str


Written: TypeAlias = "str | int | float | bool | tuple[Written, ...] | None"
Argument: TypeAlias = "Written | Drawn | Literal | Dtype | tuple[Argument, ...]"


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """One call of an aten overload: `operator` is the one that it is counted under.

    `expected` are the values of its results where they are known; without them the host's kernel answers in float64.
    `oracle` is None where that of the operator of the overload's name does. With `twins` also the overloads of the same
    name and arguments are called. `source` is the report of the defect that the case shows.
    """

    operator: str
    overload: str
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    dtypes: tuple[str, ...]
    oracle: Oracle | None = None
    expected: tuple[Argument, ...] | None = None
    twins: bool = True
    name: str | None = None
    must: str | None = None
    source: str | None = None


def load_cases(path: Path, source: str) -> list[tuple[OperatorSpec, WrittenCase]]:
    """Read one file of cases: each with an operator as the suite would declare it if no family has it."""
    top = read_yaml(path, source).record(["family", "level", "since", "cases"], ["dtypes"])
    common = top["dtypes"].texts(DTYPES) if "dtypes" in top else ("float32",)
    found = []
    for name, node in top["cases"].mapping().items():
        for case in node.items():
            made = _case(name, case, common)
            spec = OperatorSpec(
                name=made.operator,
                family=top["family"].text(),
                level=top["level"].text(LEVELS),
                since=top["since"].integer(low=1),
                dtypes=made.dtypes,
                oracle=made.oracle or Oracle("conditioned"),
                by_dtype={},
                must=None,
            )
            found.append((spec, made))
    return found


_FIELDS = ("kwargs", "dtypes", "oracle", "expected", "twins", "name", "must", "source", "operator")


def _case(overload: str, node: Node, common: tuple[str, ...]) -> WrittenCase:
    """A case with its fields, or nothing but the list of its arguments."""
    fields = {"args": node} if isinstance(node.value, list) else node.record(["args"], _FIELDS)
    kwargs = fields["kwargs"].mapping() if "kwargs" in fields else {}
    expected = None
    if "expected" in fields:
        expected = tuple(_argument(item) for item in fields["expected"].items())
    return WrittenCase(
        operator=fields["operator"].text() if "operator" in fields else overload.partition(".")[0],
        overload=overload,
        args=tuple(_argument(item) for item in fields["args"].items()),
        kwargs=tuple((key, _argument(value)) for key, value in kwargs.items()),
        dtypes=fields["dtypes"].texts(DTYPES) if "dtypes" in fields else common,
        oracle=read_oracle(fields["oracle"], Oracle("conditioned")) if "oracle" in fields else None,
        expected=expected,
        twins=fields["twins"].boolean() if "twins" in fields else True,
        name=fields["name"].text() if "name" in fields else None,
        must=fields["must"].text() if "must" in fields else None,
        source=fields["source"].text() if "source" in fields else None,
    )


_ARGUMENT_DTYPES = (*DTYPES, SAME, "uint64", "complex128", "float8_e5m2")


def _argument(node: Node) -> Argument:
    value = node.value
    if isinstance(value, list):
        return tuple(_argument(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return _tensor(node)
    dtype = value["dtype"].text(_ARGUMENT_DTYPES) if "dtype" in value else None
    if set(value) == {"dtype"}:
        return Dtype(dtype or SAME)
    kind = next((kind for kind in ("normal", "uniform", "integers") if kind in value), None)
    if kind is None:
        node.fail(
            "no argument", hint="a tensor is {normal: SHAPE}, {uniform: SHAPE}, {integers: SHAPE} or {tensor: VALUES}"
        )
    node.record([kind], ["from", "to", "dtype", "transposed"])
    shape = tuple(item.integer(low=0) for item in value[kind].items())
    usual = "int64" if kind == "integers" else SAME
    low = value["from"].number() if "from" in value else 0.0
    high = value["to"].number() if "to" in value else 1.0
    if high <= low:
        node.fail(f"nothing lies from {low} to below {high}")
    transposed = value["transposed"].boolean() if "transposed" in value else False
    if transposed and len(shape) != 2:
        node.fail("only a matrix can be transposed")
    return Drawn(kind, shape, low, high, dtype or usual, transposed)


def _tensor(node: Node) -> Literal:
    fields = node.record(["tensor"], ["dtype"])
    dtype = fields["dtype"].text(_ARGUMENT_DTYPES) if "dtype" in fields else SAME
    return Literal(_written(fields["tensor"]), dtype)


def _written(node: Node) -> Written:
    value = node.value
    if isinstance(value, list):
        return tuple(_written(item) for item in value)
    if isinstance(value, (dict, str)) or value is None:
        node.fail("a tensor holds numbers")
    return value


def with_cases(
    operators: dict[str, OperatorSpec], found: Iterable[tuple[OperatorSpec, WrittenCase]]
) -> dict[str, OperatorSpec]:
    """The operators with their cases, and those that have nothing but cases."""
    whole = dict(operators)
    for spec, case in found:
        known = operator_named(spec.name, operators) or spec.name
        owner = whole.get(known) or replace(spec, name=known)
        whole[known] = replace(owner, cases=(*owner.cases, case))
    return whole
