"""The unsigned files that people and programs read first: they have to say what the statement says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.results import ENVIRONMENT_NAME, REPORT_NAME
from onboard.attest import configuration
from onboard.attest.statement import encode_time
from onboard.attest.strictjson import member

if TYPE_CHECKING:
    from onboard.attest.statement import Statement


def judged_levels(summary: Any) -> tuple[str, ...]:
    """Give the levels that made the verdict of report.json, in its order; raises MalformedError."""
    levels = member(summary, "levels", dict, REPORT_NAME)
    return tuple(name for name, level in levels.items() if member(level, "judged", bool, f"{REPORT_NAME}: {name}"))


def disagreements(statement: Statement, summary: Any, environment: Any) -> list[str]:
    """List where report.json or environment.json differ from the statement; raises MalformedError for missing parts."""
    device = member(environment, "device", dict, ENVIRONMENT_NAME)
    suite = member(summary, "suite", dict, REPORT_NAME)
    levels = member(summary, "levels", dict, REPORT_NAME)
    profile = statement.configured("profile")
    described = (configuration.of_profile(statement.profile, profile.sha256), profile)
    uris = (configuration.torch_uri(statement.torch), statement.configured("torch").uri)
    pairs: list[tuple[str, object, object]] = [
        ("verdict", summary.get("verdict"), statement.verdict),
        ("device", summary.get("device"), statement.device),
        ("profile", summary.get("profile"), statement.profile),
        ("profile_digest", summary.get("profile_digest"), profile.sha256),
        ("simulated", summary.get("simulated"), statement.simulated),
        ("suite.digest", suite.get("digest"), statement.configured("suite").sha256),
        ("judged levels", judged_levels(summary), statement.judged),
        ("started", summary.get("started"), encode_time(statement.started)),
        ("finished", summary.get("finished"), encode_time(statement.finished)),
        ("planned", summary.get("planned"), statement.planned),
        ("outcomes", _counted(summary), _nonzero(statement.outcomes)),
        ("levels", {name: _entry(level) for name, level in levels.items()}, statement.levels),
    ]
    found = [f"statement: {stated!r} where {due!r} is due" for due, stated in (described, uris) if due != stated]
    found += [
        f"{REPORT_NAME}: {name} is {_short(said)}, derived {_short(derived)}"
        for name, said, derived in pairs
        if said != derived
    ]
    if environment.get("torch") != statement.torch:
        found.append(f"{ENVIRONMENT_NAME}: torch is {environment.get('torch')!r}, stated {statement.torch!r}")
    return found + _device(statement, device)


def _device(statement: Statement, device: dict[str, Any]) -> list[str]:
    found = []
    if member(device, "type", str, ENVIRONMENT_NAME) != statement.device.partition(":")[0]:
        found.append(f"{ENVIRONMENT_NAME}: the device is {device['type']!r}, stated {statement.device!r}")
    if device.get("simulated") is True and not statement.simulated:
        found.append(f"{ENVIRONMENT_NAME}: the driver says that it is a simulation, the report does not")
    return found


def _entry(level: Any) -> tuple[object, object, object]:
    if not isinstance(level, dict):
        return (level, None, None)
    return (level.get("verdict"), level.get("required"), level.get("passed"))


def _counted(summary: Any) -> dict[str, object]:
    return _nonzero(member(summary, "outcomes", dict, REPORT_NAME))


def _nonzero(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: count for name, count in counts.items() if count != 0}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
