"""Ed25519 keys: made, kept encrypted, loaded, named."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
    load_pem_public_key,
)

from conformance.errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PASSPHRASE_VARIABLE = "ONBOARD_KEY_PASSPHRASE"  # noqa: S105 - the name of a variable, not a secret
# PKCS#8 as cryptography writes it derives the key with few rounds: the passphrase has to carry the weight.
MIN_PASSPHRASE = 12
MAX_KEY_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key by its 32 raw bytes: two keys are the same key exactly when these are equal."""

    raw: bytes

    @property
    def keyid(self) -> str:
        """Lowercase hex sha256 of the DER SubjectPublicKeyInfo, as `openssl pkey -pubin -outform DER` prints it."""
        return hashlib.sha256(self._encoded(Encoding.DER)).hexdigest()

    @property
    def pem(self) -> str:
        return self._encoded(Encoding.PEM).decode("ascii")

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is this key's signature over `data`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def _encoded(self, encoding: Encoding) -> bytes:
        return Ed25519PublicKey.from_public_bytes(self.raw).public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A loaded private key with its public half."""

    private: Ed25519PrivateKey
    public: PublicKey

    def sign(self, data: bytes) -> bytes:
        return self.private.sign(data)


def new_key(path: Path, passphrase: bytes) -> PublicKey:
    """Write a new private key to `path`, encrypted, readable by its owner alone; an existing file is never replaced.

    Raises UsageError for a short passphrase or an existing file, EnvironmentFailure when the file can't be written.
    """
    if len(passphrase) < MIN_PASSPHRASE:
        raise UsageError(
            f"the passphrase has {len(passphrase)} bytes, fewer than {MIN_PASSPHRASE}",
            hint="four or five random words make a good one",
        )
    private = Ed25519PrivateKey.generate()
    data = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase))
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists", hint="choose another name: a key is never overwritten") from None
    except OSError as error:
        raise EnvironmentFailure(f"{path} can't be written: {error.strerror}") from None
    with os.fdopen(handle, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return _public(private)


def load_key(path: Path, passphrase: bytes | None) -> SigningKey:
    """Read an encrypted private key; raises UsageError unless it is an encrypted Ed25519 key that only its owner reads.

    A wrong and a missing passphrase give the same message.
    """
    data = _read_private(path)
    if b"-----BEGIN ENCRYPTED PRIVATE KEY-----" not in data:
        raise UsageError(
            f"{path} is not an encrypted private key",
            hint="make one with `onboard key new`, or encrypt yours with `openssl pkcs8 -topk8`",
        )
    try:
        private = load_pem_private_key(data, passphrase or b"")
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UsageError(
            f"{path} can't be opened with this passphrase",
            hint=f"give it with --passphrase-file or in {PASSPHRASE_VARIABLE}",
        ) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError(f"{path} is not an Ed25519 key", hint="make one with `onboard key new`")
    return SigningKey(private, _public(private))


def read_passphrase(file: Path | None, environment: Mapping[str, str]) -> bytes | None:
    """Take the passphrase from `file`, else from ONBOARD_KEY_PASSPHRASE, else None.

    With None the caller may ask on a terminal. One line break at the end of the file is not part of it.
    """
    if file is None:
        value = environment.get(PASSPHRASE_VARIABLE)
        return None if value is None else value.encode("utf-8")
    try:
        with file.open("rb") as source:
            data = source.read(MAX_KEY_BYTES)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}", hint="see --passphrase-file") from None
    return data.removesuffix(b"\n").removesuffix(b"\r")


def parse_public_key(text: str) -> PublicKey:
    """Read a public key: PEM, or base64 of the DER SubjectPublicKeyInfo or of the 32 raw bytes; raises ValueError."""
    try:
        if "-----BEGIN" in text:
            key = load_pem_public_key(text.encode("ascii"))
        else:
            data = base64.b64decode("".join(text.split()).encode("ascii"), validate=True)
            key = Ed25519PublicKey.from_public_bytes(data) if len(data) == 32 else load_der_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("not a public key in PEM or base64") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("not an Ed25519 key")  # noqa: TRY004 - the text is wrong, not its Python type
    return PublicKey(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def _public(private: Ed25519PrivateKey) -> PublicKey:
    return PublicKey(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def _read_private(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_KEY_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", hint="see --key") from None
    if not stat.S_ISREG(status.st_mode) or len(data) > MAX_KEY_BYTES:
        raise UsageError(f"{path} is not a key file", hint="make one with `onboard key new`")
    if status.st_mode & 0o077:
        raise UsageError(
            f"{path} can be read or changed by other users (mode {stat.S_IMODE(status.st_mode):04o})",
            hint=f"chmod 600 {path}",
        )
    return data
