"""The in-toto statement: what is said about which backend, in the terms of the test-result predicate."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from onboard.attest.configuration import Configuration
from onboard.attest.folder import Evidence
from onboard.attest.strictjson import MalformedError, dump, member, parse, texts
from onboard.attest.subject import Subject

if TYPE_CHECKING:
    from onboard.attest.derive import Outcome

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"
SCHEMA = "onboard-report/1"
MAX_STATEMENT_BYTES = 8 << 20

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TORCH = re.compile(r"\d{1,3}\.\d{1,3}[0-9A-Za-z.+-]{0,80}")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class Statement:
    """A report as it is signed. `levels` maps a level to its verdict and its counts of required and passed cases.

    `result` and the three lists of groups are the standard fields that a generic policy reads; whoever ignores the
    rest is never more lenient than whoever reads it.
    """

    subject: Subject
    result: str
    configuration: tuple[Configuration, ...]
    passed: tuple[str, ...]
    warned: tuple[str, ...]
    failed: tuple[str, ...]
    run: str
    device: str
    profile: str
    simulated: bool
    torch: str
    verdict: str
    judged: tuple[str, ...]
    levels: dict[str, tuple[str, int, int]]
    planned: int
    outcomes: dict[str, int]
    started: datetime
    finished: datetime
    evidence: tuple[Evidence, ...]

    def configured(self, name: str) -> Configuration:
        """Find a configuration by name; raises MalformedError when the statement has none."""
        for configuration in self.configuration:
            if configuration.name == name:
                return configuration
        raise MalformedError(f"statement: the configuration {name!r} is missing")


def run_id(results: bytes) -> str:
    """Name a run by its results: they hold the times of every case, so no two runs share them."""
    return hashlib.sha256(results).hexdigest()[:32]


def result_of(outcome: Outcome, *, simulated: bool) -> str:
    """Reduce an outcome to PASSED, WARNED or FAILED; a simulated device never gets more than WARNED."""
    if outcome.verdict != "pass":
        return "FAILED"
    return "WARNED" if outcome.warned or simulated else "PASSED"


def level_entries(outcome: Outcome) -> dict[str, tuple[str, int, int]]:
    """Reduce derived level verdicts to what a statement holds of them."""
    return {name: (level.verdict, level.required, level.passed) for name, level in outcome.levels.items()}


def encode_statement(statement: Statement) -> bytes:
    """Write a statement as the payload to be signed; equal statements give equal bytes."""
    own = {
        "schema": SCHEMA,
        "run": statement.run,
        "device": statement.device,
        "profile": statement.profile,
        "simulated": statement.simulated,
        "torch": statement.torch,
        "verdict": statement.verdict,
        "judged": list(statement.judged),
        "levels": {
            name: {"verdict": verdict, "required": required, "passed": passed}
            for name, (verdict, required, passed) in statement.levels.items()
        },
        "planned": statement.planned,
        "outcomes": statement.outcomes,
        "started": encode_time(statement.started),
        "finished": encode_time(statement.finished),
        "evidence": [{"name": e.name, "sha256": e.sha256, "size": e.size} for e in statement.evidence],
    }
    predicate = {
        "result": statement.result,
        "configuration": [_encode_configuration(entry) for entry in statement.configuration],
        "passedTests": list(statement.passed),
        "warnedTests": list(statement.warned),
        "failedTests": list(statement.failed),
        "onboard": own,
    }
    return dump(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": statement.subject.name, "digest": {"sha256": statement.subject.sha256}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
    )


def decode_statement(payload: bytes) -> Statement:
    """Read the payload of a report; unknown members are ignored, as in-toto asks. Raises MalformedError."""
    what = "statement"
    document = parse(payload, what, max_bytes=MAX_STATEMENT_BYTES)
    for key, expected in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        if (found := member(document, key, str, what)) != expected:
            raise MalformedError(f"{what}: {key} is {found!r}, expected {expected!r}")
    subjects = member(document, "subject", list, what)
    if len(subjects) != 1:
        raise MalformedError(f"{what}: {len(subjects)} subjects, expected one")
    predicate = member(document, "predicate", dict, what)
    own = member(predicate, "onboard", dict, what)
    if (schema := member(own, "schema", str, what)) != SCHEMA:
        raise MalformedError(f"{what}: the schema is {schema!r}, this version reads {SCHEMA!r}")
    return Statement(
        subject=Subject(member(subjects[0], "name", str, what), _digest(subjects[0], what)),
        result=member(predicate, "result", str, what),
        configuration=_configurations(member(predicate, "configuration", list, what)),
        passed=texts(predicate, "passedTests", what),
        warned=texts(predicate, "warnedTests", what),
        failed=texts(predicate, "failedTests", what),
        run=member(own, "run", str, what),
        device=member(own, "device", str, what),
        profile=member(own, "profile", str, what),
        simulated=member(own, "simulated", bool, what),
        torch=_version(member(own, "torch", str, what)),
        verdict=member(own, "verdict", str, what),
        judged=texts(own, "judged", what),
        levels=_levels(member(own, "levels", dict, what)),
        planned=member(own, "planned", int, what),
        outcomes=_counts(member(own, "outcomes", dict, what)),
        started=decode_time(member(own, "started", str, what), what),
        finished=decode_time(member(own, "finished", str, what), what),
        evidence=tuple(_evidence(entry) for entry in member(own, "evidence", list, what)),
    )


def decode_time(text: str, what: str) -> datetime:
    """Read a UTC time of the form 2026-12-01T12:00:00Z; raises MalformedError."""
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        raise MalformedError(f"{what}: not a UTC time like 2026-12-01T12:00:00Z: {text!r}") from None


def encode_time(time: datetime) -> str:
    """Write a time as UTC to the second, as decode_time reads it."""
    return time.astimezone(timezone.utc).strftime(_TIME)


def _encode_configuration(entry: Configuration) -> dict[str, Any]:
    written: dict[str, Any] = {"name": entry.name, "digest": {"sha256": entry.sha256}, "annotations": entry.notes}
    return written if entry.uri is None else {**written, "uri": entry.uri}


def _configurations(entries: list[Any]) -> tuple[Configuration, ...]:
    what = "statement: configuration"
    found = []
    for entry in entries:
        notes = member(entry, "annotations", dict, what)
        if not all(isinstance(note, str) for note in notes.values()):
            raise MalformedError(f"{what}: annotations must be texts")
        uri = member(entry, "uri", str, what) if "uri" in entry else None
        found.append(Configuration(member(entry, "name", str, what), _digest(entry, what), notes, uri))
    if len({entry.name for entry in found}) != len(found):
        raise MalformedError(f"{what}: two entries have one name")
    return tuple(found)


def _levels(found: dict[str, Any]) -> dict[str, tuple[str, int, int]]:
    what = "statement: levels"
    return {
        name: (
            member(entry, "verdict", str, what),
            member(entry, "required", int, what),
            member(entry, "passed", int, what),
        )
        for name, entry in found.items()
    }


def _counts(found: dict[str, Any]) -> dict[str, int]:
    return {name: member(found, name, int, "statement: outcomes") for name in found}


def _version(text: str) -> str:
    if not _TORCH.fullmatch(text):
        raise MalformedError(f"statement: not a torch version: {text[:80]!r}")
    return text


def _evidence(entry: Any) -> Evidence:
    what = "statement: evidence"
    return Evidence(member(entry, "name", str, what), _sha256(entry, what), member(entry, "size", int, what))


def _digest(holder: Any, what: str) -> str:
    return _sha256(member(holder, "digest", dict, what), what)


def _sha256(holder: Any, what: str) -> str:
    value = member(holder, "sha256", str, what)
    if not _SHA256.fullmatch(value):
        raise MalformedError(f"{what}: not a sha256 in lowercase hex: {value!r}")
    return value
