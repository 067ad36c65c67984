"""Findings: failing cases grouped by what is likely one cause, the silent wrong answers first."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.results import FAILING, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: From what deceives a user to what merely stops them.
SEVERITY = ("wrong", "flaky", "crash", "timeout", "error", "missing")
ABSENT = "absent-kernels"


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause. `operator` names where it shows most plainly; `also` are operators that fail because of it.

    `cases` counts the failing cases, `case` is the one with the smallest input, `repro` a script that shows it.
    `kernels` are overloads: the faulty one, or those that do not exist.
    """

    id: str
    operator: str
    outcome: str
    title: str
    cases: int
    case: str
    message: str
    repro: str | None
    dtypes: tuple[str, ...]
    layouts: tuple[str, ...]
    also: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def find(rows: Sequence[Row]) -> list[Finding]:
    """Group the failing rows; every failing row is in exactly one finding."""
    failing = [row for row in rows if row.outcome in FAILING]
    absent = [row for row in failing if row.execution == "absent"]
    rest = [row for row in failing if row.execution != "absent"]
    found = _absent(absent)
    found += _wrong([row for row in rest if row.outcome in ("wrong", "flaky")], _kernels_by_operator(rows))
    found += _stopped([row for row in rest if row.outcome in ("crash", "timeout")])
    found += _by_message([row for row in rest if row.outcome in ("error", "missing")])
    return sorted(found, key=_rank)


def _rank(finding: Finding) -> tuple[bool, int, bool, int, str]:
    runtime = finding.case.startswith("runtime.")
    return not runtime, SEVERITY.index(finding.outcome), finding.id == ABSENT, -finding.cases, finding.id


def _kernels_by_operator(rows: Iterable[Row]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row.operator].update(row.kernels)
    return found


def base_name(name: str) -> str:
    """`exp` of `aten::exp.out`, of `exp_`, and of `special.exp`; `relu` of `nn.functional.relu`."""
    if name.startswith("aten::"):
        return name[len("aten::") :].split(".", maxsplit=1)[0].strip("_")
    return name.removeprefix("nn.functional.").split(".")[-1].strip("_")


def _wrong(rows: list[Row], kernels: dict[str, set[str]]) -> list[Finding]:
    """One finding per operator, and composites under the kernel that was found wrong on its own."""
    by_operator: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_operator[f"{row.check}|{row.operator}"].append(row)
    roots: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for key in sorted(by_operator, key=lambda k: _plainest_first(k, kernels)):
        operator = key.split("|")[1]
        root = next((roots[kernel] for kernel in sorted(kernels[operator]) if kernel in roots), None)
        if root is not None:
            members[root].append(key)
            continue
        members[key] = [key]
        own = _own_kernel(operator, kernels[operator])
        if own is not None:
            roots[own] = key
    root_kernel = {root: kernel for kernel, root in roots.items()}
    found = []
    for root, keys in members.items():
        cases = [row for key in keys for row in by_operator[key]]
        operator = root.split("|")[1]
        kernel = root_kernel.get(root)
        title = f"{operator} gives wrong answers"
        also = tuple(sorted({key.split("|")[1] for key in keys} - {operator}))
        identity = f"wrong-{operator}" if by_operator[root][0].check.startswith("operators.") else f"wrong-{root}"
        found.append(
            _finding(identity.replace("|", "-"), by_operator[root], cases, title, also, (kernel,) if kernel else ())
        )
    return found


def _plainest_first(key: str, kernels: Mapping[str, set[str]]) -> tuple[bool, bool, int, str]:
    """Operators that have a kernel of their own name, then those that few kernels serve: blamed before their users."""
    check, operator = key.split("|")
    named = any(base_name(kernel) == base_name(operator) for kernel in kernels[operator])
    return not check.startswith("operators."), not named, len(kernels[operator]), key


#: What every operator's call runs as well: to share one of these is no common cause.
_MEMORY = frozenset({"empty", "empty_strided", "empty_like", "copy", "copy_from", "copy_from_and_resize", "to_copy",
                     "as_strided", "view", "resize", "set", "fill", "zero", "clone", "local_scalar_dense"})  # fmt: skip


def _own_kernel(operator: str, kernels: set[str]) -> str | None:
    """The kernel that is the operator's own: the only one that computed, or the one of its name."""
    computing = [kernel for kernel in kernels if base_name(kernel) not in _MEMORY]
    if len(computing) == 1:
        return computing[0]
    named = sorted(kernel for kernel in kernels if base_name(kernel) == base_name(operator))
    return named[0] if named else None


def _absent(rows: list[Row]) -> list[Finding]:
    """Every operator without a kernel, as one finding: the cause is one, a device that is not finished."""
    if not rows:
        return []
    waiting: Counter[str] = Counter()
    for kernel, _ in {(kernel, row.operator) for row in rows for kernel in row.kernels}:
        waiting[kernel] += 1
    operators = tuple(sorted({row.operator for row in rows}))
    kernels = tuple(kernel for kernel, _ in sorted(waiting.items(), key=lambda item: (-item[1], item[0])))
    title = f"{len(kernels)} kernels are absent; {len(operators)} operators wait for them"
    return [_finding(ABSENT, rows, rows, title, operators[1:], kernels)]


def _stopped(rows: list[Row]) -> list[Finding]:
    by_cause: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        by_cause[row.outcome, row.operator].append(row)
    return [
        _finding(f"{outcome}-{operator}", cases, cases, f"{operator}: {cases[0].message.splitlines()[0]}", (), ())
        for (outcome, operator), cases in by_cause.items()
    ]


def _by_message(rows: list[Row]) -> list[Finding]:
    """Errors that say the same but for numbers, shapes and names are one cause."""
    by_text: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        area = row.check.split(".")[0]
        by_text[row.outcome, area, normalize(row.message)].append(row)
    found = []
    for (outcome, area, text), cases in by_text.items():
        operators = tuple(sorted({row.operator for row in cases}))
        mark = hashlib.sha256(f"{area}{text}".encode()).hexdigest()[:6]
        title = f"{cases[0].message.splitlines()[0] if cases[0].message else outcome}"
        found.append(_finding(f"{outcome}-{operators[0]}-{mark}", cases, cases, title, operators[1:], ()))
    return found


_NOISE = re.compile(r"0x[0-9a-fA-F]+|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|-?\d+(\.\d+)?([eE][-+]?\d+)?")


def normalize(message: str) -> str:
    """A message without what differs from case to case: numbers, shapes, quoted names."""
    first = message.splitlines()[0] if message else ""
    return " ".join(_NOISE.sub("_", first).split())


def _finding(
    identity: str, plainest: list[Row], cases: list[Row], title: str, also: tuple[str, ...], kernels: tuple[str, ...]
) -> Finding:
    shown = min(plainest, key=lambda row: (row.repro is None, len(row.repro or ""), row.case))
    return Finding(
        id=re.sub(r"[^A-Za-z0-9_.-]+", "-", identity),
        operator=shown.operator,
        outcome=shown.outcome,
        title=title,
        cases=len(cases),
        case=shown.case,
        message=shown.message,
        repro=shown.repro,
        dtypes=tuple(sorted({row.dtype for row in cases if row.dtype})),
        layouts=tuple(sorted({row.layout for row in cases if row.layout})),
        also=also,
        kernels=kernels,
    )
