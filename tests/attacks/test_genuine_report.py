"""What is not an attack: the reports that must verify, and those that our own signer refuses."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from datetime import timedelta

import pytest

from conformance.errors import CheckFailure, UsageError
from conformance.results import ENVELOPE_NAME, JOURNAL_NAME, REPORT_NAME, RESULTS_NAME, SUMMARY_NAME
from onboard.attest.dsse import decode
from onboard.attest.verify import holds, to_json


def test_an_honest_report_is_valid_and_every_check_was_reached(bench):
    found = bench.verify()
    assert found.status == "VALID"
    assert all(check.ok is True for check in found.checks)
    assert len({check.id for check in found.checks}) == len(found.checks) == 17
    assert found.verdict == "pass"
    assert found.levels == {"bring-up": ("pass", 10, 10), "inference": ("pass", 11, 11)}
    assert found.simulated is False
    assert found.signer.name == "Example Silicon"


def test_the_report_id_is_the_digest_of_the_payload(bench):
    signed = bench.sign()
    payload = decode(signed.path.read_bytes()).payload
    assert signed.report == bench.verify().report == hashlib.sha256(payload).hexdigest()


def test_signing_again_gives_the_same_bytes(bench):
    before = (bench.folder / ENVELOPE_NAME).read_bytes()
    bench.sign()
    assert (bench.folder / ENVELOPE_NAME).read_bytes() == before


def test_the_statement_has_the_standard_fields(bench):
    document = bench.statement()
    predicate = document["predicate"]
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert document["subject"] == [
        {
            "name": "torch_trn-0.1.0-cp311-cp311-linux_x86_64.whl",
            "digest": {"sha256": hashlib.sha256(b"wheel").hexdigest()},
        }
    ]
    assert predicate["result"] == "PASSED"
    assert [entry["name"] for entry in predicate["configuration"]] == ["suite", "policy", "plan", "profile", "torch"]
    assert predicate["configuration"][4]["uri"] == "pkg:pypi/torch@2.13.0%2Bcpu"
    assert predicate["passedTests"] == [
        "operators.forward/cat/float32", "operators.forward/exp/float32", "operators.forward/mm/bfloat16",
        "operators.forward/mm/float32", "runtime.copies/runtime/any",
    ]  # fmt: skip
    assert predicate["warnedTests"] == predicate["failedTests"] == []


def test_a_failed_run_is_signed_and_valid_and_reports_its_failure(unsigned, with_row):
    unsigned.run(with_row(unsigned, "mm", outcome="wrong", error=1.0)).sign()
    found = unsigned.verify()
    assert (found.status, found.verdict) == ("VALID", "fail")
    predicate = unsigned.statement()["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["operators.forward/mm/float32"])
    assert not holds(found, "bring-up", unsigned.suite)


@pytest.mark.parametrize("outcome", ["error", "crash", "timeout", "flaky", "missing", "unsupported", "unjudged"])
def test_what_keeps_a_judged_level_from_passing_is_a_failed_test(unsigned, with_row, outcome):
    rows = with_row(unsigned, "cat", outcome=outcome, error=None, bound=None, rung=None)
    unsigned.run(rows).sign()
    assert unsigned.verify().status == "VALID"
    predicate = unsigned.statement()["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["operators.forward/cat/float32"])


def test_a_fallback_where_native_is_asked_is_a_failed_test(unsigned, with_row):
    unsigned.run(with_row(unsigned, "cat", execution="fallback")).sign()
    assert unsigned.verify().verdict == "fail"
    assert unsigned.statement()["predicate"]["failedTests"] == ["operators.forward/cat/float32"]


def test_what_only_a_previewed_level_asks_is_a_warning(unsigned, with_row):
    unsigned.run(with_row(unsigned, "exp", outcome="wrong", error=1.0)).sign()
    found = unsigned.verify()
    assert (found.status, found.verdict) == ("VALID", "pass")
    predicate = unsigned.statement()["predicate"]
    assert (predicate["result"], predicate["warnedTests"]) == ("WARNED", ["operators.forward/exp/float32"])
    assert holds(found, "bring-up", unsigned.suite)
    assert not holds(found, "inference", unsigned.suite)


def test_a_level_that_does_not_exist_is_a_usage_error(bench):
    with pytest.raises(UsageError, match="unknown level 'inferense'") as caught:
        holds(bench.verify(), "inferense", bench.suite)
    assert "inference" in caught.value.hint


def test_a_declared_and_permitted_gap_does_not_cost_the_level(unsigned, rows):
    lacking = [row if row.dtype != "bfloat16" else _unsupported(row) for row in rows(unsigned.suite)]
    unsigned.run(lacking).sign()
    found = unsigned.verify()
    assert (found.status, found.verdict) == ("VALID", "pass")
    predicate = unsigned.statement()["predicate"]
    assert (predicate["result"], predicate["warnedTests"]) == ("WARNED", ["operators.forward/mm/bfloat16"])


def _unsupported(row):
    from dataclasses import replace

    return replace(row, outcome="unsupported", error=None, bound=None, rung=None, execution=None)


def test_a_simulated_device_is_carried_through_and_never_plainly_passed(unsigned):
    unsigned.run(simulated=True).sign()
    found = unsigned.verify()
    assert (found.status, found.verdict, found.simulated) == ("VALID", "pass", True)
    assert unsigned.statement()["predicate"]["result"] == "WARNED"
    assert to_json(found)["simulated"] is True
    assert any("SIMULATED DEVICE" in check.detail for check in found.checks)


def test_a_rendered_summary_is_bound_like_the_rest(unsigned):
    unsigned.run()
    (unsigned.folder / SUMMARY_NAME).write_text("<!doctype html>")
    unsigned.sign()
    assert unsigned.verify().status == "VALID"
    (unsigned.folder / SUMMARY_NAME).write_text("<!doctype HTML>")
    unsigned.rejected("evidence")


def test_unknown_members_of_the_statement_are_ignored(bench):
    bench.restate(lambda document: document["predicate"]["onboard"].update(later="addition"))
    assert bench.verify().status == "VALID"


def test_json_of_a_verification_is_json_and_lists_every_check(bench):
    document = json.loads(json.dumps(to_json(bench.verify())))
    assert (document["status"], document["verdict"]) == ("VALID", "pass")
    assert all(set(check) == {"id", "ok", "title", "detail", "remedy"} for check in document["checks"])
    assert document["levels"]["bring-up"] == {"verdict": "pass", "required": 10, "passed": 10}


def test_every_failed_check_says_what_to_do(bench):
    (bench.folder / RESULTS_NAME).unlink()
    failed = [check for check in bench.verify().checks if check.ok is False]
    assert failed
    assert all(check.detail and check.remedy for check in failed)


def test_a_folder_that_is_none_is_a_usage_error(bench):
    bench.folder = bench.folder / "absent"
    with pytest.raises(UsageError, match="not a folder"):
        bench.verify()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"complete": False}, "broken off"),
        ({"narrowed": True}, "a part of the plan"),
        ({"verdict": "fail"}, "verdict is 'fail', derived 'pass'"),
        ({"planned": 13}, "planned is 13"),
        ({"device": "cpu:1"}, "the device is 'trn', stated 'cpu:1'"),
        ({"suite_digest": "0" * 64}, "suite.digest"),
        ({"judged": ("inference",)}, "lacks one of its prerequisites"),
        ({"judged": ()}, "no level was judged"),
        ({"environment": {"torch": "2.9.1", "device": {"type": "trn"}}}, "no frozen plan"),
        (
            {"environment": {"torch": "2.13.0+cpu", "device": {"type": "trn", "simulated": True}}, "simulated": False},
            None,
        ),
    ],
)
def test_the_signer_refuses_what_is_not_a_whole_honest_run(unsigned, changes, complaint):
    unsigned.run(**changes)
    if complaint is None:
        # The report takes the driver's word that it is a simulation, whatever the profile says.
        assert unsigned.sign().statement.simulated is True
        return
    with pytest.raises(CheckFailure, match=complaint):
        unsigned.sign()
    assert not (unsigned.folder / ENVELOPE_NAME).exists()


@pytest.mark.parametrize("name", [JOURNAL_NAME, "notes.txt"])
def test_the_signer_refuses_a_folder_with_something_else_in_it(unsigned, name):
    unsigned.run()
    (unsigned.folder / name).write_text("x")
    with pytest.raises(CheckFailure, match=name):
        unsigned.sign()


def test_the_signer_refuses_a_folder_without_a_report(unsigned):
    unsigned.run()
    (unsigned.folder / REPORT_NAME).unlink()
    with pytest.raises(CheckFailure, match=r"report\.json is missing"):
        unsigned.sign()


def test_the_signer_refuses_a_lying_row(unsigned, with_row):
    unsigned.run(with_row(unsigned, "mm", error=1.0))
    with pytest.raises(CheckFailure, match="recorded as pass"):
        unsigned.sign()


def test_without_a_wheel_the_installed_distribution_is_the_subject(unsigned):
    environment = {"torch": "2.13.0+cpu", "device": {"type": "cpu"}}
    unsigned.run(environment=environment, device="cpu", backend=None)
    assert unsigned.sign(subject=None).statement.subject.name.endswith("(installed files)")
    unsigned.run(backend=None)
    with pytest.raises(CheckFailure, match="nothing says which distribution"):
        unsigned.sign(subject=None)


def test_neither_signing_nor_verifying_imports_torch():
    code = "import sys, onboard.attest.sign, onboard.attest.verify; print({'torch', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_report_is_judged_as_of_the_time_given(bench):
    assert bench.verify(at=bench_time(bench) + timedelta(days=183)).status == "VALID"


def bench_time(bench):
    return bench.verify().statement.finished
