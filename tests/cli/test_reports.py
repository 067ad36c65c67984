"""`onboard key`, `onboard repro` and `onboard verify`: what the command line adds to the functions behind them."""

from __future__ import annotations

import datetime as dt
import json
import stat
import subprocess
import sys

import pytest

from onboard.attest.trust import parse_trust
from onboard.cli.verify import _moment

SCRIPT = "import torch\nprint(torch.exp(torch.ones(2)))\n"


@pytest.fixture
def passphrase(tmp_path):
    path = tmp_path / "passphrase"
    path.write_text("four random words here\n")
    return str(path)


@pytest.fixture
def report(tmp_path):
    findings = [
        {"id": "exp-wrong", "operator": "exp", "outcome": "wrong", "repro": SCRIPT},
        {"id": "sum-crash", "operator": "sum", "outcome": "crash", "repro": None},
    ]
    (tmp_path / "report.json").write_text(json.dumps({"findings": findings}))
    return tmp_path


def test_a_new_key_prints_a_stanza_that_the_trust_file_takes(in_process, tmp_path, passphrase):
    key = tmp_path / "key.pem"
    ran = in_process(
        "key", "new", "--out", str(key), "--name", 'Acme "Labs"', "--devices", "acme, acme2",
        "--days", "10", "--passphrase-file", passphrase,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    (signer,) = parse_trust(ran.out.encode(), "stdout").signers
    assert (signer.name, signer.role, signer.devices) == ('Acme "Labs"', "vendor", ("acme", "acme2"))
    assert signer.valid_before - signer.valid_after == dt.timedelta(days=10)
    assert abs(signer.valid_after - dt.datetime.now(dt.timezone.utc)) < dt.timedelta(minutes=1)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"ENCRYPTED" in key.read_bytes()
    assert str(key) in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--role", "vendr", "--devices", "a"), "vendor"),
        (("--role", "vendor"), "scope"),
        (("--devices", "a", "--name", "two\nlines"), "--name"),
        (("--devices", "a", "--days", "0"), "--days"),
    ],
)
def test_a_bad_key_request_is_2_and_makes_no_key(in_process, tmp_path, passphrase, arguments, said):
    key = tmp_path / "key.pem"
    ran = in_process("key", "new", "--out", str(key), "--name", "Acme", "--passphrase-file", passphrase, *arguments)
    assert ran.code == 2
    assert said in ran.err
    assert not key.exists()


def test_a_key_without_passphrase_and_terminal_is_2(in_process, tmp_path, monkeypatch):
    monkeypatch.delenv("ONBOARD_KEY_PASSPHRASE", raising=False)
    ran = in_process("key", "new", "--out", str(tmp_path / "key.pem"), "--name", "Acme", "--devices", "acme")
    assert ran.code == 2
    assert "--passphrase-file" in ran.err


def test_an_existing_key_is_never_replaced(in_process, tmp_path, passphrase):
    (tmp_path / "key.pem").write_text("precious")
    ran = in_process(
        "key",
        "new",
        "--out",
        str(tmp_path / "key.pem"),
        "--name",
        "A",
        "--devices",
        "a",
        "--passphrase-file",
        passphrase,
    )
    assert ran.code == 2
    assert (tmp_path / "key.pem").read_text() == "precious"


def test_the_reproducer_is_a_program_that_runs_as_printed(in_process, report):
    ran = in_process("repro", str(report), "exp-wrong")
    assert (ran.code, ran.out, ran.err) == (0, SCRIPT, "")
    done = subprocess.run([sys.executable, "-c", ran.out], capture_output=True, text=True, timeout=60, check=False)
    assert "2.7183" in done.stdout


def test_the_report_file_itself_may_be_named(in_process, report):
    assert in_process("repro", str(report / "report.json"), "exp-wrong").out == SCRIPT


@pytest.mark.parametrize(
    ("finding", "said"), [("exp-wrnog", "did you mean exp-wrong"), ("sum-crash", "without a reproducer")]
)
def test_an_unknown_finding_or_one_without_a_program_is_2(in_process, report, finding, said):
    ran = in_process("repro", str(report), finding)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"findings": 1}', '{"findings": [], "findings": []}', "[" * 100_000, '{"findings": NaN}'],
)
def test_a_file_that_is_no_report_is_2(in_process, tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    ran = in_process("repro", str(tmp_path), "x")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 2


def test_a_missing_report_is_2(in_process, tmp_path):
    ran = in_process("repro", str(tmp_path / "nothing"), "x")
    assert ran.code == 2


@pytest.fixture
def trust(in_process, tmp_path, passphrase):
    ran = in_process(
        "key",
        "new",
        "--out",
        str(tmp_path / "k.pem"),
        "--name",
        "A",
        "--devices",
        "cpu",
        "--passphrase-file",
        passphrase,
    )
    path = tmp_path / "trust.toml"
    path.write_text(ran.out)
    return str(path)


def test_a_folder_without_an_envelope_is_invalid_with_each_check(in_process, tmp_path, trust):
    folder = tmp_path / "empty"
    folder.mkdir()
    ran = in_process("verify", str(folder), "--trust", trust, "--json")
    document = json.loads(ran.out)
    assert ran.code == 1
    assert document["status"] == "INVALID"
    assert document["verdict"] is None
    assert {check["id"] for check in document["checks"]} >= {"files", "envelope", "signature", "cases"}
    shown = in_process("verify", str(folder), "--trust", trust)
    assert shown.code == 1
    assert shown.out.count("failed") >= 1
    assert "INVALID" in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--at", "yesterday"), "--at"),
        (("--require", "inferense"), "inference"),
        (("--trust", "/nonexistent/trust.toml"), "trust.toml"),
    ],
)
def test_a_bad_request_to_verify_is_2(in_process, tmp_path, trust, arguments, said):
    folder = tmp_path / "empty"
    folder.mkdir()
    ran = in_process("verify", str(folder), "--trust", trust, *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_times_are_utc_unless_they_say_otherwise():
    assert _moment("2026-12-01") == dt.datetime(2026, 12, 1, tzinfo=dt.timezone.utc)
    assert _moment("2026-12-01T12:00:00Z") == dt.datetime(2026, 12, 1, 12, tzinfo=dt.timezone.utc)
    assert _moment("2026-12-01T12:00:00+02:00") == dt.datetime(2026, 12, 1, 10, tzinfo=dt.timezone.utc)
