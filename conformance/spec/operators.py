"""An operator as the suite declares it: its family, level, dtypes, and the rung of the oracle that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.spec.yamlfile import Node, read_yaml

if TYPE_CHECKING:
    from pathlib import Path

RUNGS = ("exact", "dot", "random", "conditioned", "unjudged")
DTYPES = ("float32", "bfloat16", "int64", "bool", "complex64", "float64", "float16", "int32", "int16", "int8", "uint8")
LEVELS = ("bring-up", "inference", "training", "compile", "distributed", "extra")


@dataclass(frozen=True, slots=True)
class Oracle:
    """How an operator is judged: the rung, its parameters, and why where it deviates from its family.

    `extra` counts roundings beyond those of the contraction (alpha, beta, bias); `terms` names how the number of terms
    per output is found. `why` is required where nothing is judged.
    """

    rung: str
    terms: str | None = None
    extra: int = 0
    why: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """One OpInfo entry (`name` is its full name, variant included) with its place in the suite."""

    name: str
    family: str
    level: str
    since: int
    dtypes: tuple[str, ...]
    oracle: Oracle
    by_dtype: dict[str, Oracle]
    must: str | None
    aten: tuple[str, ...] = ()

    def oracle_for(self, dtype: str) -> Oracle:
        return self.by_dtype.get(dtype, self.oracle)


def load_family(path: Path, source: str) -> list[OperatorSpec]:
    """Read one family; every operator inherits what the family says and states only what differs."""
    root = read_yaml(path, source)
    top = root.record(["family", "level", "since", "dtypes", "oracle", "operators"], ["must"])
    base = _oracle(top["oracle"], None)
    common = _by_dtype(top["oracle"], base)
    dtypes = top["dtypes"].texts(DTYPES)
    specs = []
    for name, node in top["operators"].mapping().items():
        fields = {} if node.value is None else node.record([], ["oracle", "dtypes", "level", "since", "must", "aten"])
        oracle = _oracle(fields["oracle"], base) if "oracle" in fields else base
        overrides = dict(common)
        if "oracle" in fields:
            overrides = _by_dtype(fields["oracle"], oracle)
        specs.append(
            OperatorSpec(
                name=name,
                family=top["family"].text(),
                level=(fields["level"] if "level" in fields else top["level"]).text(LEVELS),
                since=(fields["since"] if "since" in fields else top["since"]).integer(low=1),
                dtypes=fields["dtypes"].texts(DTYPES) if "dtypes" in fields else dtypes,
                oracle=oracle,
                by_dtype=overrides,
                must=fields["must"].text() if "must" in fields else None,
                aten=fields["aten"].texts() if "aten" in fields else (),
            )
        )
    return specs


def _oracle(node: Node, base: Oracle | None) -> Oracle:
    fields = node.record([] if base else ["rung"], ["rung", "terms", "extra", "why", "dtypes"])
    oracle = Oracle(
        rung=fields["rung"].text(RUNGS) if "rung" in fields else base.rung if base else "",
        terms=fields["terms"].text() if "terms" in fields else base.terms if base else None,
        extra=fields["extra"].integer(low=0) if "extra" in fields else base.extra if base else 0,
        why=fields["why"].text() if "why" in fields else None,
    )
    if oracle.rung == "unjudged" and not oracle.why:
        node.fail("what is not judged needs a reason", hint="add `why:`")
    return oracle


def _by_dtype(node: Node, base: Oracle) -> dict[str, Oracle]:
    fields = node.mapping()
    if "dtypes" not in fields:
        return {}
    found = {}
    for dtype, child in fields["dtypes"].mapping().items():
        if dtype not in DTYPES:
            child.fail(f"unknown dtype {dtype!r}", hint=f"known dtypes: {', '.join(DTYPES)}")
        found[dtype] = _oracle(child, base)
    return found
