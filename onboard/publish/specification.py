"""The suite itself as documents and text: one operator, one overload, and how much of torch the plan covers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conformance.coverage import table
from conformance.coverage.witnesses import read_witnesses, witnesses_path
from conformance.errors import UsageError, did_you_mean
from conformance.run.planning import installed_torch
from conformance.spec.denominators import load_rules, nearest
from conformance.spec.plan import plan_path, read_plan
from onboard.console import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.coverage.apart import Coverage
    from conformance.spec.denominators import Overload, Rule
    from conformance.spec.operators import OperatorSpec, Oracle
    from conformance.spec.suite import Suite

_SERVED = {
    "kernel": "a backend needs a kernel",
    "default": "PyTorch's code for any backend",
    "math": "PyTorch's composite code",
}


def described(suite: Suite, name: str) -> dict[str, Any]:
    """An operator of the suite or an overload of torch; raises UsageError for a name that is neither."""
    if name.startswith("aten::"):
        return _described_overload(suite, name)
    found = [name] if name in suite.operators else [n for n in suite.operators if n.rpartition(".")[2] == name]
    if len(found) != 1:
        hint = f"did you mean {', '.join(found)}?" if found else did_you_mean(name, suite.operators)
        raise UsageError(f"the suite has no operator {name!r}", hint=hint or "`onboard spec list` names them all")
    return _described_operator(suite, suite.operators[found[0]])


def _described_operator(suite: Suite, spec: OperatorSpec) -> dict[str, Any]:
    version = installed_torch()
    plan = read_plan(plan_path(suite.root, version))
    seen = read_witnesses(witnesses_path(suite.root, version))
    cases: dict[str, dict[str, int]] = {}
    for group in plan.groups if plan else ():
        if group.operator == spec.name and group.check.startswith("operators."):
            cases.setdefault(group.check, {})[group.dtype] = len(group.names)
    shown = [name for name, case in seen.overloads.items() if case.split("/")[1] == spec.name] if seen else []
    return {
        "kind": "operator",
        "operator": spec.name,
        "family": spec.family,
        "level": spec.level,
        "since": spec.since,
        "must": spec.must,
        "layouts": list(spec.layouts),
        "dtypes": {dtype: _oracle(spec.oracle_for(dtype)) for dtype in spec.dtypes},
        "cases": cases,
        "overloads": sorted({*(f"aten::{one}" for one in spec.aten), *shown}),
    }


def _oracle(oracle: Oracle) -> dict[str, Any]:
    """What is said of it; what is left at its default is left out."""
    plain = type(oracle)(oracle.rung)
    return {
        name: value for name, value in asdict(oracle).items() if name == "rung" or value != getattr(plain, name)
    }  # fmt: skip


def _described_overload(suite: Suite, name: str) -> dict[str, Any]:
    version = installed_torch()
    known = nearest(suite.root, version)
    overloads = {one.name: one for one in known.overloads} if known else {}
    if name not in overloads:
        raise UsageError(f"the suite knows no overload {name!r}", hint=did_you_mean(name, overloads))
    one = overloads[name]
    seen = read_witnesses(witnesses_path(suite.root, version))
    case = seen.overloads.get(name) if seen else None
    entries = table.entries_of(name, suite, seen) if seen else ()
    return {"kind": "overload", **_overload(one, load_rules(suite.root)), "entries": list(entries), "reached_by": case}


def _overload(one: Overload, rules: Sequence[Rule]) -> dict[str, Any]:
    why = next((rule.why for rule in rules if rule.id == one.rule), None)
    names = {"overload": one.name, "served": one.served, "core": one.core, "host": one.host}
    return {**names, "rule": one.rule, "why": why}


def entry_lines(document: dict[str, Any]) -> Iterator[str]:
    """What `described` gave, as text."""
    if document["kind"] == "overload":
        yield f"{document['overload']}{'  (core)' if document['core'] else ''}"
        yield f"  served by    {_SERVED[document['served']]}"
        yield f"  entry        {', '.join(document['entries']) or 'none'}"
        yield f"  reached by   {document['reached_by'] or 'no planned case'}"
        if document["rule"]:
            yield f"  outside      {document['rule']}: {document['why']}"
        return
    yield f"{document['operator']}: {document['family']}, level {document['level']} since {document['since']}"
    if document["must"]:
        yield f"  must         {document['must']}"
    yield f"  layouts      {', '.join(document['layouts'])}"
    for dtype, oracle in document["dtypes"].items():
        rest = ", ".join(f"{name}: {value}" for name, value in oracle.items() if name != "rung")
        yield f"  {dtype:<12} {oracle['rung']}{f'  ({rest})' if rest else ''}"
    for check, dtypes in document["cases"].items():
        yield f"  {check}: {', '.join(f'{count} {dtype}' for dtype, count in dtypes.items())} cases"
    if document["overloads"]:
        yield f"  shows        {', '.join(document['overloads'])}"


def covered(found: Coverage, rules: Sequence[Rule], wanted: Sequence[str]) -> dict[str, Any]:
    """What `onboard spec coverage` says, as a document; `reached` is null where nothing was measured."""
    seen = found.seen
    rows = [row for row in table.rows(found.now, seen) if row.name in wanted]
    missing = None
    if seen is not None:
        parts = [name for name in wanted if name != table.OPINFO]
        overloads = table.missing(found.now, seen, parts)
        missing = {
            "opinfo": table.missing_opinfo(found.now, seen) if table.OPINFO in wanted else [],
            "overloads": [
                {**_overload(one, rules), "denominators": [p for p in parts if one.belongs(p)]} for one in overloads
            ],
        }
    return {
        "torch": found.now.torch,
        "digest": found.now.digest,
        "measured": None if seen is None else {"plan": seen.plan, "digest": seen.digest, "stale": found.stale},
        "differs": {"lost": list(found.lost), "gained": list(found.gained)},
        "denominators": [
            {
                "name": row.name, "means": row.means, "total": row.total, "outside": row.outside,
                "inside": row.inside, "reached": row.reached, "percent": row.percent,
            }
            for row in rows
        ],
        "rules": [
            {"rule": row.rule.id, "why": row.rule.why, "overloads": row.overloads, "reached": row.reached}
            for row in table.rule_rows(found.now, seen, rules)
        ],
        "new_upstream": {
            "overloads": [_overload(one, rules) for one in found.new.overloads],
            "opinfo": list(found.new.opinfo),
            "gone": list(found.new.gone),
        },
        "missing": missing,
    }  # fmt: skip


def coverage_lines(document: dict[str, Any], *, missing: bool) -> Iterator[Line]:
    """The same as text: a table, the rules, what is new upstream, and on demand what is not reached."""
    yield Line(f"torch {document['torch']}, denominators sha256 {document['digest']}")
    yield Line("")
    yield Line(f"{'denominator':<12}{'total':>6}{'outside':>9}{'inside':>8}{'reached':>9}{'':>9}  means")
    for row in document["denominators"]:
        share = "-" if row["percent"] is None else f"{row['percent']:.1f} %"
        counts = f"{row['total']:>6}{row['outside']:>9}{row['inside']:>8}{_count(row['reached']):>9}{share:>9}"
        yield Line(f"{row['name']:<12}{counts}  {row['means']}")
    yield Line("")
    yield Line("outside, by rule, and how many of them some case calls all the same")
    for row in document["rules"]:
        yield Line(f"{row['rule']:<18}{row['overloads']:>6}{_count(row['reached']):>9}  {row['why']}")
    yield Line("")
    yield from _findings(document)
    if missing:
        yield from _missing(document)


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)


def _findings(document: dict[str, Any]) -> Iterator[Line]:
    measured, new, differs = document["measured"], document["new_upstream"], document["differs"]
    if measured is None:
        yield Line("nothing is frozen for this torch: --measure runs the plan", "unknown")
    elif measured["stale"]:
        yield Line(f"{measured['stale']}: run `onboard spec freeze`", "failed")
    names = [*new["opinfo"], *(one["overload"] for one in new["overloads"])]
    yield Line(f"new upstream: {', '.join(names) or 'none'}", "warning" if names else "ok")
    if new["gone"]:
        yield Line(f"gone upstream: {', '.join(new['gone'])}", "warning")
    for kind in ("lost", "gained"):
        if differs[kind]:
            yield Line(f"{kind} against what is frozen: {', '.join(differs[kind])}", "failed")


def _missing(document: dict[str, Any]) -> Iterator[Line]:
    if document["missing"] is None:
        return
    yield Line("")
    for name in document["missing"]["opinfo"]:
        yield Line(f"opinfo {name}: no case of it is judged")
    for one in document["missing"]["overloads"]:
        absent = "no planned case calls it" if one["host"] else "the host has no kernel to run it with"
        reason = f"outside: {one['rule']}" if one["rule"] else absent
        yield Line(f"{one['overload']}  [{', '.join(one['denominators'])}]  {reason}")
