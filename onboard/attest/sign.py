"""Signing a run: the statement is derived from the evidence, and the run's own summary has to agree with it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import CheckFailure, EnvironmentFailure
from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME
from conformance.spec.plan import plan_path, read_plan
from conformance.spec.suite import load_suite
from onboard.attest import configuration
from onboard.attest.derive import case_problems, derive, level_problem, outcome_problems
from onboard.attest.dsse import Envelope, encode, pae
from onboard.attest.folder import LIMITS, REQUIRED, read_folder
from onboard.attest.rows import read_rows
from onboard.attest.statement import (
    PAYLOAD_TYPE,
    Statement,
    decode_statement,
    decode_time,
    encode_statement,
    level_entries,
    result_of,
    run_id,
)
from onboard.attest.strictjson import member, parse
from onboard.attest.subject import Subject, distribution_subject, record_digest
from onboard.attest.summary import disagreements, judged_levels

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.spec.plan import Plan
    from conformance.spec.suite import Suite
    from onboard.attest.configuration import Configuration
    from onboard.attest.derive import Outcome
    from onboard.attest.keys import SigningKey

#: Devices that torch itself provides: its distribution is what was tested.
TORCH_DEVICES = frozenset({"cpu", "cuda", "mps", "xpu"})


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed report: where it lies and its id, the sha256 of the payload in hex."""

    path: Path
    report: str
    statement: Statement


def sign_run(directory: Path, key: SigningKey, *, subject: Subject | None = None, suite: Suite | None = None) -> Signed:
    """Sign the run in `directory` and write report.dsse.json into it.

    `subject` is the backend's wheel where it is known; otherwise the installed files of the backend's distribution are
    hashed, or those of torch for a device of torch's own. Raises CheckFailure for a run that is broken off, narrowed,
    not on a frozen plan, or contradicts itself; a run that failed can be signed like any other.
    """
    statement = state(directory, subject=subject, suite=suite or load_suite())
    payload = encode_statement(statement)
    if decode_statement(payload) != statement:
        raise CheckFailure(
            "the statement does not read back as itself", hint="report this as a defect of torch-onboard"
        )
    envelope = Envelope(PAYLOAD_TYPE, payload, key.public.keyid, key.sign(pae(PAYLOAD_TYPE, payload)))
    path = directory / ENVELOPE_NAME
    _write(path, encode(envelope))
    return Signed(path, hashlib.sha256(payload).hexdigest(), statement)


def state(directory: Path, *, subject: Subject | None, suite: Suite) -> Statement:
    """Derive the statement about a run from its files; raises CheckFailure as sign_run does."""
    folder = read_folder(directory)
    _refuse(f"{name}: {problem}" for name, problem in folder.problems.items())
    _refuse(f"{name} is missing" for name in REQUIRED if name not in folder.files)
    summary = parse(folder.files[REPORT_NAME], REPORT_NAME, max_bytes=LIMITS[REPORT_NAME])
    environment = parse(folder.files[ENVIRONMENT_NAME], ENVIRONMENT_NAME)
    _refuse_partial(summary)
    torch = member(environment, "torch", str, ENVIRONMENT_NAME)
    plan = read_plan(plan_path(suite.root, torch))
    if plan is None:
        raise CheckFailure(
            f"torch {torch} has no frozen plan: the run is uncalibrated and certifies nothing",
            hint="run it on a torch whose plan stands in specs/plans, or freeze one: onboard spec freeze",
        )
    judged, shown = judged_levels(summary), tuple(member(summary, "levels", dict, REPORT_NAME))
    problem = level_problem(suite, judged, shown)
    _refuse([problem] if problem else [])
    rows = read_rows(folder.files[RESULTS_NAME])
    _refuse(case_problems(suite, plan, rows, judged, shown))
    _refuse(outcome_problems(suite, rows))
    outcome = derive(suite, plan, rows, judged, shown)
    statement = Statement(
        subject=subject or _installed(summary),
        configuration=_configuration(summary, torch, suite, plan),
        torch=torch,
        judged=judged,
        planned=len(rows),
        evidence=folder.evidence(),
        run=run_id(folder.files[RESULTS_NAME]),
        **_said(summary),
        **_derived(outcome, simulated=member(summary, "simulated", bool, REPORT_NAME)),
    )
    _refuse(disagreements(statement, summary, environment))
    return statement


def _said(summary: Any) -> dict[str, Any]:
    """Take what only the run itself can know."""
    return {
        "device": member(summary, "device", str, REPORT_NAME),
        "profile": member(summary, "profile", str, REPORT_NAME),
        "simulated": member(summary, "simulated", bool, REPORT_NAME),
        "started": decode_time(member(summary, "started", str, REPORT_NAME), REPORT_NAME),
        "finished": decode_time(member(summary, "finished", str, REPORT_NAME), REPORT_NAME),
    }


def _derived(outcome: Outcome, *, simulated: bool) -> dict[str, Any]:
    return {
        "result": result_of(outcome, simulated=simulated),
        "passed": outcome.passed,
        "warned": outcome.warned,
        "failed": outcome.failed,
        "verdict": outcome.verdict,
        "levels": level_entries(outcome),
        "outcomes": outcome.outcomes,
    }


def _refuse_partial(summary: Any) -> None:
    if not member(summary, "complete", bool, REPORT_NAME):
        raise CheckFailure("the run was broken off", hint="finish it: a partial report can't be signed as complete")
    if member(summary, "narrowed", bool, REPORT_NAME):
        raise CheckFailure(
            "the run took a part of the plan only", hint="run it again without --checks, --ops, --dtypes"
        )


def _configuration(summary: Any, torch: str, suite: Suite, plan: Plan) -> tuple[Configuration, ...]:
    profile = member(summary, "profile", str, REPORT_NAME)
    return (
        configuration.of_suite(suite),
        configuration.of_policy(suite),
        configuration.of_plan(plan),
        configuration.of_profile(profile, member(summary, "profile_digest", str, REPORT_NAME)),
        configuration.of_torch(torch, record_digest("torch")),
    )


def _installed(summary: Any) -> Subject:
    device = member(summary, "device", str, REPORT_NAME)
    backend = summary.get("backend")
    if backend is not None:
        return distribution_subject(member(backend, "name", str, f"{REPORT_NAME}: backend"))
    if device.partition(":")[0] in TORCH_DEVICES:
        return distribution_subject("torch")
    raise CheckFailure(
        f"nothing says which distribution provides the device {device!r}",
        hint="install the backend from a wheel, and name it under package.distribution in the profile",
    )


def _refuse(problems: Any) -> None:
    found = list(problems)
    if found:
        raise CheckFailure(f"this run can't be signed: {'; '.join(found)}", hint="run `onboard conform` again")


def _write(path: Path, data: bytes) -> None:
    """Replace the envelope as a whole: a reader never sees half of one."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise EnvironmentFailure(f"{path} can't be written: {error.strerror}") from None
