"""Verifying a report offline: every check listed, everything derived anew, nothing recorded believed."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from conformance.errors import CheckFailure, OnboardError, UsageError, did_you_mean
from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME
from conformance.spec.plan import plan_path, read_plan, torch_minor
from conformance.spec.suite import load_suite
from onboard.attest import configuration, rules
from onboard.attest.derive import case_problems, derive, level_problem, outcome_problems
from onboard.attest.dsse import Envelope, decode, encode, pae
from onboard.attest.folder import LIMITS, REQUIRED, Folder, read_folder
from onboard.attest.rows import read_rows
from onboard.attest.statement import PAYLOAD_TYPE, Statement, decode_statement, level_entries, result_of, run_id
from onboard.attest.strictjson import parse
from onboard.attest.summary import disagreements
from onboard.attest.trust import Signer, Trust, objection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from conformance.results import Row
    from conformance.spec.plan import Plan
    from conformance.spec.suite import Suite
    from onboard.attest.derive import Outcome
    from onboard.attest.rules import Rule

VALID, STALE, UNTRUSTED, INVALID = "VALID", "STALE", "UNTRUSTED", "INVALID"
MAX_AGE = timedelta(days=183)
MAX_MINORS_BEHIND = 3
CLOCK_SKEW = timedelta(minutes=5)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a verification. `ok` is None where an earlier failure left nothing to check."""

    id: str
    ok: bool | None
    title: str
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a report. `verdict` and `levels` are None and empty unless the status is VALID or STALE.

    `report` is the id: the sha256 of the payload in hex. `simulated` is what the statement says, None without one.
    """

    status: str
    verdict: str | None
    levels: dict[str, tuple[str, int, int]]
    simulated: bool | None
    report: str | None
    signer: Signer | None
    statement: Statement | None
    checks: tuple[Check, ...]


class _Ledger:
    """Collects the checks in order; a step that fails gives None, and what needs its result is not reached."""

    def __init__(self) -> None:
        self.checks: list[Check] = []
        self.blames: set[str] = set()

    def step(self, rule: Rule, work: Callable[[], tuple[T, str]] | None) -> T | None:
        if work is None:
            self.checks.append(Check(rule.id, None, rule.title, "not reached", ""))
            return None
        try:
            value, detail = work()
        except _BlameError as error:
            self._fail(rule, error.message, error.status)
            return None
        except OnboardError as error:
            self._fail(rule, error.message, rule.status)
            return None
        self.checks.append(Check(rule.id, True, rule.title, _printable(detail), ""))
        return value

    def _fail(self, rule: Rule, detail: str, status: str) -> None:
        self.checks.append(Check(rule.id, False, rule.title, _printable(detail), rule.remedy))
        self.blames.add(status)

    def status(self) -> str:
        return next((status for status in (INVALID, UNTRUSTED, STALE) if status in self.blames), VALID)


class _BlameError(CheckFailure):
    """A failure whose status is not that of its rule."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


def verify(directory: Path, trust: Trust, *, at: datetime | None = None, suite: Suite | None = None) -> Verification:
    """Verify the report in `directory` against the trusted signers, as of `at` (now), with the verifier's own suite.

    Everything that can be wrong with the report is a failed check, never an exception; raises UsageError when
    `directory` is no folder.
    """
    own = suite or load_suite()
    now = at or datetime.now(timezone.utc)
    folder = read_folder(directory)
    ledger = _Ledger()
    ledger.step(rules.FILES, lambda: _files(folder))
    envelope = ledger.step(rules.ENVELOPE, lambda: _envelope(folder))
    signer = ledger.step(rules.SIGNATURE, None if envelope is None else lambda: _signature(envelope, trust))
    trusted = None if envelope is None or signer is None else envelope.payload
    statement = ledger.step(rules.STATEMENT, None if trusted is None else lambda: _statement(trusted))
    counts = None if statement is None or signer is None else lambda: _signer(signer, statement, now)
    ledger.step(rules.SIGNER, counts)
    if statement is None:
        for rule in rules.CONTENT:
            ledger.step(rule, None)
        outcome = None
    else:
        outcome = _content(ledger, statement, folder, own, now)
    status = ledger.status()
    believed = outcome if status in (VALID, STALE) else None
    return Verification(
        status=status,
        verdict=believed.verdict if believed else None,
        levels=level_entries(believed) if believed else {},
        simulated=statement.simulated if statement else None,
        report=hashlib.sha256(envelope.payload).hexdigest() if envelope else None,
        signer=signer,
        statement=statement,
        checks=tuple(ledger.checks),
    )


def holds(verification: Verification, level: str, suite: Suite | None = None) -> bool:
    """Whether a VALID report shows that `level` is held; raises UsageError for a level that the suite does not have."""
    known = (suite or load_suite()).levels
    if level not in known:
        raise UsageError(f"unknown level {level!r}", hint=did_you_mean(level, known) or f"known: {', '.join(known)}")
    verdict, _, _ = verification.levels.get(level, ("absent", 0, 0))
    return verification.status == VALID and verdict == "pass"


def to_json(verification: Verification) -> dict[str, Any]:
    """Give the document that `onboard verify --json` prints."""
    statement, signer = verification.statement, verification.signer
    return {
        "status": verification.status,
        "verdict": verification.verdict,
        "levels": {
            name: {"verdict": verdict, "required": required, "passed": passed}
            for name, (verdict, required, passed) in verification.levels.items()
        },
        "simulated": verification.simulated,
        "report": verification.report,
        "signer": signer and {"name": signer.name, "role": signer.role, "keyid": signer.key.keyid},
        "subject": statement and {"name": statement.subject.name, "sha256": statement.subject.sha256},
        "device": statement and statement.device,
        "profile": statement and statement.profile,
        "checks": [asdict(check) for check in verification.checks],
    }


def _content(ledger: _Ledger, statement: Statement, folder: Folder, suite: Suite, now: datetime) -> Outcome | None:
    """Run the checks of rules.CONTENT in its order."""
    ledger.step(rules.EVIDENCE, lambda: _evidence(folder, statement))
    same = ledger.step(rules.SUITE, lambda: _suite(suite, statement))
    plan = ledger.step(rules.PLAN, None if same is None else lambda: _plan(suite, statement))
    packed = folder.files.get(RESULTS_NAME)
    rows = ledger.step(rules.RESULTS, None if packed is None else lambda: _rows(packed))
    outcome = None
    if plan is None or rows is None:
        for rule in (rules.CASES, rules.OUTCOMES, rules.VERDICT):
            ledger.step(rule, None)
    else:
        ledger.step(rules.CASES, lambda: _cases(suite, plan, rows, statement))
        ledger.step(rules.OUTCOMES, lambda: _outcomes(suite, rows))
        outcome = ledger.step(rules.VERDICT, lambda: _verdict(suite, plan, rows, statement))
    unread = {REPORT_NAME, ENVIRONMENT_NAME} - folder.files.keys()
    ledger.step(rules.SUMMARY, None if unread else lambda: _summary(folder, statement))
    ledger.step(rules.TIMES, lambda: _times(statement, now))
    ledger.step(rules.AGE, lambda: _age(statement, now))
    ledger.step(rules.TORCH, lambda: _torch(statement, suite))
    ledger.step(rules.CURRENT, lambda: _current(suite))
    return outcome


def _files(folder: Folder) -> tuple[None, str]:
    found = [f"{name}: {problem}" for name, problem in folder.problems.items()]
    found += [f"{name}: missing" for name in (*REQUIRED, ENVELOPE_NAME) if name not in folder.files | folder.problems]
    _fail_on(found)
    return None, f"{len(folder.files)} files"


def _envelope(folder: Folder) -> tuple[Envelope, str]:
    data = folder.files.get(ENVELOPE_NAME)
    if data is None:
        raise CheckFailure(f"there is no {ENVELOPE_NAME} to read: the report is not signed")
    envelope = decode(data, ENVELOPE_NAME)
    if envelope.payload_type != PAYLOAD_TYPE:
        raise CheckFailure(f"the payload type is {envelope.payload_type!r}, expected {PAYLOAD_TYPE!r}")
    # Spaces, member order, alphabet and keyid are not signed: one writing only, or one report has many files.
    if encode(envelope) != data:
        raise CheckFailure("not written as onboard writes it: something outside the signature was changed")
    return envelope, f"{len(envelope.payload)} bytes of {PAYLOAD_TYPE}"


def _signature(envelope: Envelope, trust: Trust) -> tuple[Signer, str]:
    signer = trust.who_signed(envelope.signature, pae(envelope.payload_type, envelope.payload))
    named = trust.by_keyid(envelope.keyid)
    if signer is None and named is None:
        raise _BlameError(f"no trusted key made this signature; it names the key {envelope.keyid!r}", UNTRUSTED)
    if signer is None:
        raise CheckFailure(f"not a signature of {named.name if named else ''} over this payload")
    if envelope.keyid != signer.key.keyid:
        raise CheckFailure(f"signed by {signer.name}, but the envelope names the key {envelope.keyid!r}")
    return signer, f"Ed25519, {signer.name}, key {signer.key.keyid[:16]}"


def _statement(payload: bytes) -> tuple[Statement, str]:
    statement = decode_statement(payload)
    simulated = " (SIMULATED DEVICE)" if statement.simulated else ""
    return statement, f"{statement.subject.name} on {statement.device}{simulated}"


def _signer(signer: Signer, statement: Statement, now: datetime) -> tuple[None, str]:
    problem = objection(signer, "vendor", statement.device, now)
    if problem is not None:
        raise CheckFailure(problem)
    return None, f"{signer.name} may sign for {statement.device}"


def _evidence(folder: Folder, statement: Statement) -> tuple[None, str]:
    bound = {entry.name: entry for entry in statement.evidence}
    found = {entry.name: entry for entry in folder.evidence()}
    problems = [f"{name!r} is no name of an evidence file" for name in bound if name not in LIMITS]
    if len(bound) != len(statement.evidence):
        problems.append("a file is listed twice")
    problems += [f"{name} is not signed for" for name in REQUIRED if name not in bound]
    problems += [f"{name} is missing" for name in bound if name not in found]
    problems += [f"{name} is not signed for" for name in found if name not in bound]
    problems += [
        f"{name} was changed: sha256 {found[name].sha256[:16]}, {found[name].size} bytes; "
        f"signed for {entry.sha256[:16]}, {entry.size} bytes"
        for name, entry in bound.items()
        if name in found and found[name] != entry
    ]
    if RESULTS_NAME in folder.files and statement.run != run_id(folder.files[RESULTS_NAME]):
        problems.append(f"the run id does not belong to {RESULTS_NAME}")
    _fail_on(problems)
    return None, f"{len(bound)} files"


def _suite(suite: Suite, statement: Statement) -> tuple[bool, str]:
    stated = statement.configured("suite")
    if stated.sha256 != suite.digest:
        version = stated.notes.get("version", "?")
        raise CheckFailure(
            f"measured with suite {version} ({stated.sha256[:16]}), this is {suite.version} ({suite.digest[:16]})"
        )
    for own in (configuration.of_suite(suite), configuration.of_policy(suite)):
        if statement.configured(own.name) != own:
            raise CheckFailure(f"the {own.name} is not described as this verifier describes it")
    return True, f"suite {suite.version}"


def _plan(suite: Suite, statement: Statement) -> tuple[Plan, str]:
    plan = read_plan(plan_path(suite.root, statement.torch))
    if plan is None:
        raise CheckFailure(f"the suite has no frozen plan for torch {statement.torch}: uncalibrated")
    if statement.configured("plan").sha256 != plan.digest:
        raise CheckFailure(f"measured with another plan for torch {plan.torch}")
    if statement.configured("plan") != configuration.of_plan(plan):
        raise CheckFailure("the plan is not described as this verifier describes it")
    problem = level_problem(suite, statement.judged, tuple(statement.levels))
    if problem is not None:
        raise CheckFailure(problem)
    return plan, f"torch {plan.torch}, {plan.size} cases"


def _rows(packed: bytes) -> tuple[list[Row], str]:
    rows = read_rows(packed)
    return rows, f"{len(rows)} rows"


def _cases(suite: Suite, plan: Plan, rows: list[Row], statement: Statement) -> tuple[None, str]:
    _fail_on(case_problems(suite, plan, rows, statement.judged, tuple(statement.levels)))
    if statement.planned != len(rows):
        raise CheckFailure(f"{statement.planned} cases stated, {len(rows)} recorded")
    return None, f"{len(rows)} cases, each exactly once"


def _outcomes(suite: Suite, rows: list[Row]) -> tuple[None, str]:
    _fail_on(outcome_problems(suite, rows))
    measured = sum(row.rung is not None and row.error is not None for row in rows)
    return None, f"{measured} of {len(rows)} outcomes derived from error and bound"


def _verdict(suite: Suite, plan: Plan, rows: list[Row], statement: Statement) -> tuple[Outcome, str]:
    outcome = derive(suite, plan, rows, statement.judged, tuple(statement.levels))
    pairs: list[tuple[str, object, object]] = [
        ("verdict", statement.verdict, outcome.verdict),
        ("result", statement.result, result_of(outcome, simulated=statement.simulated)),
        ("outcomes", statement.outcomes, outcome.outcomes),
        ("levels", statement.levels, level_entries(outcome)),
        ("passedTests", statement.passed, outcome.passed),
        ("warnedTests", statement.warned, outcome.warned),
        ("failedTests", statement.failed, outcome.failed),
    ]
    _fail_on(
        f"{name} does not follow from the results" + (f": {derived}" if isinstance(derived, str) else "")
        for name, stated, derived in pairs
        if stated != derived
    )
    return outcome, outcome.verdict


def _summary(folder: Folder, statement: Statement) -> tuple[None, str]:
    summary = parse(folder.files[REPORT_NAME], REPORT_NAME, max_bytes=LIMITS[REPORT_NAME])
    environment = parse(folder.files[ENVIRONMENT_NAME], ENVIRONMENT_NAME)
    _fail_on(disagreements(statement, summary, environment))
    return None, "says what the statement says"


def _times(statement: Statement, now: datetime) -> tuple[None, str]:
    if statement.finished < statement.started:
        raise CheckFailure("it ended before it began")
    if statement.finished - now > CLOCK_SKEW:
        raise CheckFailure(f"it ended at {statement.finished.isoformat()}, after {now.isoformat()}")
    return None, f"ended {statement.finished.isoformat()}"


def _age(statement: Statement, now: datetime) -> tuple[None, str]:
    age = now - statement.finished
    if age > MAX_AGE:
        raise CheckFailure(f"{age.days} days old, more than {MAX_AGE.days}")
    return None, f"{max(age.days, 0)} days old"


def _torch(statement: Statement, suite: Suite) -> tuple[None, str]:
    measured, newest = (tuple(map(int, torch_minor(v).split("."))) for v in (statement.torch, suite.newest_torch))
    # Minors of another major can't be counted; an older major is behind whatever its minor.
    if measured[0] < newest[0] or (measured[0] == newest[0] and newest[1] - measured[1] > MAX_MINORS_BEHIND):
        raise CheckFailure(f"torch {statement.torch}, more than {MAX_MINORS_BEHIND} minors behind {suite.newest_torch}")
    return None, f"torch {statement.torch}, newest {suite.newest_torch}"


def _current(suite: Suite) -> tuple[None, str]:
    if suite.withdrawn:
        raise CheckFailure(f"suite {suite.version} was withdrawn")
    return None, f"suite {suite.version}"


def _printable(text: str) -> str:
    """Write out what a terminal would obey or can't show: details quote names and texts of whoever made the report."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def _fail_on(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        raise CheckFailure("; ".join(found))
