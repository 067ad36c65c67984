"""The DSSE envelope: bytes, their type, and exactly one signature over both (protocol 1.0.2)."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from onboard.attest.strictjson import MalformedError, dump, member, parse

MAX_ENVELOPE_BYTES = 16 << 20

_ALPHABETS = (re.compile(r"[A-Za-z0-9+/]*={0,2}"), re.compile(r"[A-Za-z0-9_-]*={0,2}"))


@dataclass(frozen=True, slots=True)
class Envelope:
    """A decoded envelope. `payload` holds the very bytes that were signed: these are parsed, never the envelope again.

    `keyid` is a hint that nothing authenticates; it never decides what is trusted.
    """

    payload_type: str
    payload: bytes
    keyid: str
    signature: bytes


def pae(payload_type: str, payload: bytes) -> bytes:
    """Give the pre-authentication encoding: what the signature is computed over. Lengths count bytes."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def encode(envelope: Envelope) -> bytes:
    """Write an envelope in the one form that a report file has: sorted, compact, standard base64, a final newline."""
    document = {
        "payloadType": envelope.payload_type,
        "payload": base64.b64encode(envelope.payload).decode("ascii"),
        "signatures": [{"keyid": envelope.keyid, "sig": base64.b64encode(envelope.signature).decode("ascii")}],
    }
    return dump(document) + b"\n"


def decode(data: bytes, what: str = "envelope") -> Envelope:
    """Read an envelope; standard and URL-safe base64 are both read, unknown members are ignored.

    Raises MalformedError when it is not strict JSON, lacks a member, has none or several signatures, or holds base64
    that is not the exact encoding of its bytes.
    """
    document = parse(data, what, max_bytes=MAX_ENVELOPE_BYTES, max_depth=8)
    payload_type = member(document, "payloadType", str, what)
    payload = member(document, "payload", str, what)
    signatures = member(document, "signatures", list, what)
    if len(signatures) != 1:
        raise MalformedError(f"{what}: {len(signatures)} signatures, expected exactly one")
    only = signatures[0]
    keyid = "" if isinstance(only, dict) and only.get("keyid") is None else member(only, "keyid", str, what)
    return Envelope(
        payload_type=payload_type,
        payload=_base64(payload, f"{what}: payload"),
        keyid=keyid,
        signature=_base64(member(only, "sig", str, what), f"{what}: signature"),
    )


def _base64(text: str, what: str) -> bytes:
    # Python's decoder drops foreign characters and stray bits: several texts would stand for one byte string.
    if not any(alphabet.fullmatch(text) for alphabet in _ALPHABETS):
        raise MalformedError(f"{what}: not base64")
    standard = text.translate(str.maketrans("-_", "+/"))
    padded = standard if "=" in standard else standard + "=" * (-len(standard) % 4)
    try:
        data = base64.b64decode(padded, validate=True)
    except binascii.Error:
        raise MalformedError(f"{what}: not base64") from None
    if base64.b64encode(data).decode("ascii") != padded:
        raise MalformedError(f"{what}: base64 with stray bits")
    return data
