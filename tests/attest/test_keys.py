from __future__ import annotations

import base64
import hashlib
import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from conformance.errors import EnvironmentFailure, UsageError
from onboard.attest.keys import load_key, new_key, parse_public_key, read_passphrase

PASSPHRASE = b"four random words here"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vendor.pem"


def test_a_new_key_is_encrypted_private_and_signs(path):
    previous = os.umask(0)
    try:
        public = new_key(path, PASSPHRASE)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    key = load_key(path, PASSPHRASE)
    assert key.public == public
    signature = key.sign(b"data")
    assert public.verifies(signature, b"data")
    assert not public.verifies(signature, b"Data")
    assert not public.verifies(signature[:-1], b"data")


def test_the_keyid_is_the_digest_of_the_der_key(path):
    public = new_key(path, PASSPHRASE)
    der = load_pem_public_key(public.pem.encode()).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert public.keyid == hashlib.sha256(der).hexdigest()


def test_an_existing_file_is_never_replaced(path):
    path.write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        new_key(path, PASSPHRASE)
    assert path.read_text() == "precious"


def test_a_dangling_link_is_not_followed(path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="exists"):
        new_key(path, PASSPHRASE)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(EnvironmentFailure, match="can't be written"):
        new_key(tmp_path / "absent" / "key.pem", PASSPHRASE)


def test_a_short_passphrase_is_refused_and_leaves_no_file(path):
    with pytest.raises(UsageError, match="fewer than 12"):
        new_key(path, b"short")
    assert not path.exists()


def test_wrong_missing_and_empty_passphrase_give_one_message(path):
    new_key(path, PASSPHRASE)
    messages = set()
    for passphrase in (b"another passphrase", None, b""):
        with pytest.raises(UsageError) as caught:
            load_key(path, passphrase)
        messages.add((caught.value.message, caught.value.hint))
    assert len(messages) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_that_others_can_reach_is_refused(path, mode):
    new_key(path, PASSPHRASE)
    path.chmod(mode)
    with pytest.raises(UsageError, match=f"mode {mode:04o}") as caught:
        load_key(path, PASSPHRASE)
    assert caught.value.hint == f"chmod 600 {path}"


def test_an_unencrypted_key_is_refused(path):
    new_key(path, PASSPHRASE)
    bare = load_pem_private_key(path.read_bytes(), PASSPHRASE)
    path.write_bytes(bare.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(UsageError, match="not an encrypted"):
        load_key(path, None)


def test_a_key_of_another_kind_is_refused(path):
    other = generate_private_key(SECP256R1())
    path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSPHRASE)))
    path.chmod(0o600)
    with pytest.raises(UsageError, match="not an Ed25519 key"):
        load_key(path, PASSPHRASE)


def test_files_that_are_no_keys_are_refused(path, tmp_path):
    with pytest.raises(UsageError, match="can't be read"):
        load_key(tmp_path / "absent", PASSPHRASE)
    with pytest.raises(UsageError, match="can't be read"):
        load_key(tmp_path, PASSPHRASE)
    path.write_bytes(b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="can't be opened"):
        load_key(path, PASSPHRASE)
    path.write_bytes(b"x" * 20_000)
    with pytest.raises(UsageError, match="not a key file"):
        load_key(path, PASSPHRASE)


def test_public_keys_are_read_in_every_written_form(path):
    public = new_key(path, PASSPHRASE)
    der = load_pem_public_key(public.pem.encode()).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for text in (public.pem, base64.b64encode(public.raw).decode(), base64.b64encode(der).decode()):
        assert parse_public_key(text) == public


def test_what_is_no_ed25519_public_key_is_refused():
    pem = generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for text in ("", "AAAA", "not base64!", "é", pem.decode(), "-----BEGIN PUBLIC KEY-----"):
        with pytest.raises(ValueError, match="not a"):
            parse_public_key(text)


def test_the_passphrase_comes_from_the_file_first(tmp_path):
    file = tmp_path / "passphrase"
    file.write_bytes(b"from the file \r\n")
    environment = {"ONBOARD_KEY_PASSPHRASE": "from the environment"}
    assert read_passphrase(file, environment) == b"from the file "
    assert read_passphrase(None, environment) == b"from the environment"
    assert read_passphrase(None, {}) is None
    with pytest.raises(UsageError, match="can't be read"):
        read_passphrase(tmp_path / "absent", environment)
