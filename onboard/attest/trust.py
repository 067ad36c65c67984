"""The trust file: whose key counts, as what, for which devices, and when."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean
from onboard.attest.keys import PublicKey, parse_public_key

if TYPE_CHECKING:
    from pathlib import Path

# tomli is the same parser under its name before Python 3.11.
tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

ROLES = ("vendor", "wg")
#: `compromised` voids every signature of the key; the others void what is verified after `revoked_at`.
REASONS = ("compromised", "superseded", "retired")
MAX_TRUST_BYTES = 1 << 20

_REQUIRED = ("name", "role", "public_key")
_OPTIONAL = ("scope", "valid_after", "valid_before", "revoked_at", "reason")


@dataclass(frozen=True, slots=True)
class Signer:
    """One trusted key. `devices` are torch device strings; times know their zone, None where the file says nothing."""

    name: str
    role: str
    key: PublicKey
    devices: tuple[str, ...] = ()
    valid_after: datetime | None = None
    valid_before: datetime | None = None
    revoked_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """The signers of one trust file; no key occurs twice."""

    signers: tuple[Signer, ...] = field(default=())

    def who_signed(self, signature: bytes, data: bytes) -> Signer | None:
        """Find the signer whose key made `signature` over `data`; every key is tried, a keyid decides nothing."""
        return next((signer for signer in self.signers if signer.key.verifies(signature, data)), None)

    def by_keyid(self, keyid: str) -> Signer | None:
        """Find the signer that a keyid names: for messages only."""
        return next((signer for signer in self.signers if signer.key.keyid == keyid), None)


def load_trust(path: Path) -> Trust:
    """Read a trust file; raises UsageError naming file, signer and field for anything unknown, missing or doubled."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TRUST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", hint="see --trust") from None
    if len(data) > MAX_TRUST_BYTES:
        raise UsageError(f"{path} is larger than {MAX_TRUST_BYTES} bytes", hint="see --trust")
    return parse_trust(data, str(path))


def parse_trust(data: bytes, source: str) -> Trust:
    """Parse the bytes of a trust file, named `source` in errors; see load_trust."""
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}: not TOML: {error}", hint="see `onboard key new` for a stanza") from None
    _known(document, ("signer",), source)
    stanzas = document.get("signer", [])
    if not isinstance(stanzas, list) or not stanzas:
        raise UsageError(f"{source}: no [[signer]]", hint="`onboard key new` prints the stanza to paste")
    signers = tuple(_signer(stanza, f"{source}: signer {index}") for index, stanza in enumerate(stanzas, 1))
    seen: dict[bytes, str] = {}
    for signer in signers:
        if signer.key.raw in seen:
            raise UsageError(
                f"{source}: {signer.name!r} and {seen[signer.key.raw]!r} have the same key",
                hint="one key has one name, one role and one scope: keep one of the two",
            )
        seen[signer.key.raw] = signer.name
    return Trust(signers)


def objection(signer: Signer, role: str, device: str, at: datetime) -> str | None:
    """Say why this signer does not count as `role` for `device` at the time `at`, or None when it does."""
    if signer.role != role:
        return f"{signer.name} is trusted as {signer.role}, not as {role}"
    if role == "vendor" and device not in signer.devices:
        return f"{signer.name} is trusted for {', '.join(signer.devices)}, not for {device}"
    if signer.revoked_at is not None and (signer.reason == "compromised" or at >= signer.revoked_at):
        return f"the key of {signer.name} was revoked at {signer.revoked_at.isoformat()}: {signer.reason}"
    if signer.valid_after is not None and at < signer.valid_after:
        return f"the key of {signer.name} is valid only after {signer.valid_after.isoformat()}"
    if signer.valid_before is not None and at >= signer.valid_before:
        return f"the key of {signer.name} was valid only before {signer.valid_before.isoformat()}"
    return None


def stanza(signer: Signer) -> str:
    """Write the `[[signer]]` block of a trust file for a signer; reads back as the same signer."""
    lines = [
        "[[signer]]",
        f"name = {_quoted(signer.name)}",
        f"role = {_quoted(signer.role)}",
        f'public_key = """\n{signer.key.pem}"""',
    ]
    times = {name: getattr(signer, name) for name in ("valid_after", "valid_before", "revoked_at")}
    lines += [f"{name} = {value.isoformat()}" for name, value in times.items() if value is not None]
    if signer.reason is not None:
        lines.append(f"reason = {_quoted(signer.reason)}")
    if signer.devices:
        lines.append(f"scope = {{devices = [{', '.join(map(_quoted, signer.devices))}]}}")
    return "\n".join(lines) + "\n"


def _signer(stanza: Any, where: str) -> Signer:
    if not isinstance(stanza, dict):
        raise UsageError(f"{where}: expected a [[signer]] table")
    _known(stanza, (*_REQUIRED, *_OPTIONAL), where)
    name, role, public_key = (_text(stanza, key, where) for key in _REQUIRED)
    where = f"{where} ({name})"
    if role not in ROLES:
        raise UsageError(f"{where}: the role {role!r} is none of {', '.join(ROLES)}", hint=did_you_mean(role, ROLES))
    try:
        key = parse_public_key(public_key)
    except ValueError as error:
        raise UsageError(f"{where}: public_key: {error}", hint="paste the output of `onboard key new`") from None
    signer = Signer(
        name=name,
        role=role,
        key=key,
        devices=_devices(stanza.get("scope", {}), where),
        valid_after=_time(stanza, "valid_after", where),
        valid_before=_time(stanza, "valid_before", where),
        revoked_at=_time(stanza, "revoked_at", where),
        reason=_text(stanza, "reason", where) if "reason" in stanza else None,
    )
    _consistent(signer, where)
    return signer


def _consistent(signer: Signer, where: str) -> None:
    if signer.role == "vendor" and not signer.devices:
        raise UsageError(f"{where}: a vendor needs a scope", hint='for instance scope = {devices = ["trn"]}')
    if (signer.revoked_at is None) != (signer.reason is None):
        raise UsageError(f"{where}: revoked_at and reason go together")
    if signer.reason is not None and signer.reason not in REASONS:
        raise UsageError(f"{where}: the reason {signer.reason!r} is none of {', '.join(REASONS)}")
    if signer.valid_after and signer.valid_before and signer.valid_after >= signer.valid_before:
        raise UsageError(f"{where}: valid_after is not before valid_before")


def _devices(scope: Any, where: str) -> tuple[str, ...]:
    if not isinstance(scope, dict):
        raise UsageError(f"{where}: scope must be a table", hint='for instance scope = {devices = ["trn"]}')
    _known(scope, ("devices",), f"{where}: scope")
    devices = scope.get("devices", [])
    if not isinstance(devices, list) or not all(isinstance(device, str) and device for device in devices):
        raise UsageError(f"{where}: scope.devices must be a list of device names")
    return tuple(devices)


def _known(table: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"known fields: {', '.join(known)}"
            raise UsageError(f"{where}: unknown field {key!r}", hint=hint)


def _text(table: dict[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if value is None:
        raise UsageError(f"{where}: the field {key!r} is missing")
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{where}: the field {key!r} must be text")
    return value


def _time(table: dict[str, Any], key: str, where: str) -> datetime | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise UsageError(
            f"{where}: {key} must be a time with its zone, without quotes",
            hint=f"for instance {key} = 2027-01-31T00:00:00Z",
        )
    return value


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
