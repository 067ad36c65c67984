from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conformance.errors import UsageError
from onboard.attest.keys import PublicKey
from onboard.attest.trust import Signer, Trust, load_trust, objection, parse_trust, stanza

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def _private(seed=1):
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)


def _key(seed=1):
    return PublicKey(_private(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def _signer(**changes):
    values = {"name": "Example Silicon", "role": "vendor", "key": _key(), "devices": ("trn",)}
    return Signer(**{**values, **changes})


@pytest.mark.parametrize(
    "signer",
    [
        _signer(),
        _signer(role="wg", devices=()),
        _signer(name='Quote " back \\ line\n \x07 é 中', devices=("trn", 'neu"ron')),
        _signer(valid_after=NOW - DAY, valid_before=NOW + DAY, revoked_at=NOW, reason="superseded"),
    ],
)
def test_a_stanza_reads_back_as_its_signer(signer, tmp_path):
    path = tmp_path / "trust.toml"
    path.write_text(stanza(signer) + "\n" + stanza(_signer(name="Other", key=_key(2))), encoding="utf-8")
    assert load_trust(path).signers == (signer, _signer(name="Other", key=_key(2)))


BASE = stanza(_signer())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"no \[\[signer\]\]"),
        ("signer = []", r"no \[\[signer\]\]"),
        ("signer = [1]", "expected a"),
        ("signer = 3", r"no \[\[signer\]\]"),
        ("[[signers]]\nname = 'x'", "unknown field 'signers'"),
        ("a = [[[[" + "[" * 100_000, "not TOML"),
        ("a = \xff", "not TOML"),
        (BASE.replace("role", "roll"), "unknown field 'roll'"),
        (BASE.replace('"vendor"', '"admin"'), "'admin' is none of vendor, wg"),
        (BASE.replace('name = "Example Silicon"\n', ""), "'name' is missing"),
        (BASE.replace('"Example Silicon"', '" "'), "'name' must be text"),
        (BASE.replace('"Example Silicon"', "7"), "'name' must be text"),
        (BASE.replace("MCowBQYDK2Vw", "MCowBQYDK2Vx"), "public_key: not a"),
        (BASE.replace('scope = {devices = ["trn"]}', ""), "a vendor needs a scope"),
        (BASE.replace('["trn"]', "[]"), "a vendor needs a scope"),
        (BASE.replace('["trn"]', '["trn", 1]'), "list of device names"),
        (BASE.replace('["trn"]', '"trn"'), "list of device names"),
        (BASE.replace('{devices = ["trn"]}', '"trn"'), "scope must be a table"),
        (BASE.replace("devices", "device"), "unknown field 'device'"),
        (BASE + "valid_after = '2026-01-01T00:00:00Z'", "with its zone"),
        (BASE + "valid_after = 2026-01-01T00:00:00", "with its zone"),
        (BASE + "valid_after = 2026-01-01", "with its zone"),
        (BASE + "revoked_at = 2026-01-01T00:00:00Z", "go together"),
        (BASE + "reason = 'retired'", "go together"),
        (BASE + "revoked_at = 2026-01-01T00:00:00Z\nreason = 'whim'", "'whim' is none of"),
        (BASE + "valid_after = 2026-01-02T00:00:00Z\nvalid_before = 2026-01-02T00:00:00Z", "not before"),
        (BASE + BASE.replace("Example", "Alias"), "have the same key"),
        (BASE + BASE.replace('"vendor"', '"wg"'), "have the same key"),
    ],
)
def test_a_doubtful_trust_file_is_refused(text, complaint):
    with pytest.raises(UsageError, match=complaint) as caught:
        parse_trust(text.encode("latin-1"), "trust.toml")
    assert caught.value.message.startswith("trust.toml: ")


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(UsageError, match="can't be read"):
        load_trust(tmp_path / "absent.toml")
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="larger than"):
        load_trust(big)


def test_the_signer_is_found_by_the_signature_alone():
    trust = Trust((_signer(key=_key(2), name="two"), _signer(name="one")))
    signature = _private(1).sign(b"data")
    assert trust.who_signed(signature, b"data").name == "one"
    assert trust.who_signed(signature, b"else") is None
    assert trust.who_signed(_private(3).sign(b"data"), b"data") is None
    assert trust.by_keyid(_key(2).keyid).name == "two"
    assert trust.by_keyid("") is None


@pytest.mark.parametrize(
    ("signer", "complaint"),
    [
        (_signer(), None),
        (_signer(valid_after=NOW, valid_before=NOW + DAY), None),
        (_signer(revoked_at=NOW + DAY, reason="superseded"), None),
        (_signer(role="wg"), "as wg, not as vendor"),
        (_signer(devices=("other",)), "for other, not for trn"),
        (_signer(valid_after=NOW + DAY), "valid only after"),
        (_signer(valid_before=NOW), "valid only before"),
        (_signer(revoked_at=NOW, reason="superseded"), "revoked at"),
        (_signer(revoked_at=NOW + DAY, reason="compromised"), "compromised"),
    ],
)
def test_a_signer_counts_in_its_role_scope_and_time_only(signer, complaint):
    found = objection(signer, "vendor", "trn", NOW)
    assert found is None if complaint is None else complaint in found
