"""OpenSSL as a second judge: our verifier must not be the only one to accept our signatures."""

from __future__ import annotations

import hashlib
import shutil
import subprocess

import pytest

from onboard.attest.dsse import Envelope, decode, encode, pae
from onboard.attest.keys import load_key, new_key
from onboard.attest.statement import PAYLOAD_TYPE

PASSPHRASE = b"four random words here"


@pytest.fixture
def openssl():
    found = shutil.which("openssl")
    if found is None:
        pytest.fail("the `openssl` command is missing: this test needs a judge that is not ours (apt install openssl)")

    def run(*arguments):
        return subprocess.run([found, *map(str, arguments)], capture_output=True, check=False)

    return run


@pytest.fixture
def signed(tmp_path):
    """An envelope on disk, taken apart again into the files that openssl reads."""
    public = new_key(tmp_path / "key.pem", PASSPHRASE)
    key = load_key(tmp_path / "key.pem", PASSPHRASE)
    payload = '{"_type":"https://in-toto.io/Statement/v1","é":1}'.encode()
    written = encode(Envelope(PAYLOAD_TYPE, payload, public.keyid, key.sign(pae(PAYLOAD_TYPE, payload))))
    envelope = decode(written)
    (tmp_path / "pub.pem").write_text(public.pem)
    (tmp_path / "pae.bin").write_bytes(pae(envelope.payload_type, envelope.payload))
    (tmp_path / "sig.bin").write_bytes(envelope.signature)
    return tmp_path, public


def _verify(openssl, folder):
    return openssl(
        "pkeyutl", "-verify", "-pubin", "-inkey", folder / "pub.pem", "-rawin", "-in", folder / "pae.bin",
        "-sigfile", folder / "sig.bin",
    )  # fmt: skip


def test_openssl_accepts_our_signature_and_rejects_a_changed_bit(openssl, signed):
    folder, _ = signed
    done = _verify(openssl, folder)
    assert (done.returncode, done.stdout.strip()) == (0, b"Signature Verified Successfully"), done.stderr
    for name in ("pae.bin", "sig.bin"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert _verify(openssl, folder).returncode != 0
        (folder / name).write_bytes(whole)
    assert _verify(openssl, folder).returncode == 0


def test_openssl_gives_the_same_keyid_and_opens_our_key(openssl, signed):
    folder, public = signed
    der = openssl("pkey", "-pubin", "-in", folder / "pub.pem", "-outform", "DER")
    assert hashlib.sha256(der.stdout).hexdigest() == public.keyid
    opened = openssl("pkey", "-in", folder / "key.pem", "-passin", f"pass:{PASSPHRASE.decode()}", "-pubout")
    assert opened.stdout.decode() == public.pem
    assert openssl("pkey", "-in", folder / "key.pem", "-passin", "pass:wrong").returncode != 0
