"""A small suite, an honest run on it, and a dishonest vendor who holds a trusted key."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from conformance.device.profile import default_profile
from conformance.report import summarize
from conformance.results import ENVELOPE_NAME, RESULTS_NAME, Row, write_results
from conformance.run.api import save
from conformance.spec.plan import Group, make_plan, plan_path, read_plan, write_plan
from conformance.spec.select import select
from conformance.spec.suite import Suite, load_suite
from onboard.attest import sign
from onboard.attest.dsse import Envelope, decode, encode, pae
from onboard.attest.keys import SigningKey, load_key, new_key
from onboard.attest.statement import PAYLOAD_TYPE, run_id
from onboard.attest.strictjson import dump
from onboard.attest.subject import Subject
from onboard.attest.trust import Signer, Trust
from onboard.attest.verify import verify

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc)
BEGAN = NOW - timedelta(days=10)
TORCH = "2.13.0+cpu"
SUBJECT = Subject("torch_trn-0.1.0-cp311-cp311-linux_x86_64.whl", hashlib.sha256(b"wheel").hexdigest())
ENVIRONMENT = {"torch": TORCH, "device": {"type": "trn", "count": 2}, "seed": 0}

SUITE_FILES = {
    "suite.yaml": 'suite: onboard\nversion: 0.0.9\nnewest_torch: "2.15"\nseconds: {case: 10, first_call: 60}\n',
    "policy.yaml": "levels:\n  bring-up: {unsupported_dtypes: [bfloat16]}\n  inference: {}\n",
    "levels/bring-up.yaml": (
        "level: bring-up\nafter: []\nsummary: It exists.\nrequire:\n"
        "  - {checks: [runtime.*]}\n"
        "  - {checks: [operators.forward], operators: [mm, cat], execution: native}\n"
    ),
    "levels/inference.yaml": (
        "level: inference\nafter: [bring-up]\nsummary: It infers.\nrequire:\n  - {checks: [operators.forward]}\n"
    ),
    "operators/matmul.yaml": (
        "family: matmul\nlevel: bring-up\nsince: 1\ndtypes: [float32, bfloat16]\noracle: {rung: dot}\n"
        "operators: {mm: }\n"
    ),
    "operators/moving.yaml": (
        "family: moving\nlevel: bring-up\nsince: 1\ndtypes: [float32]\noracle: {rung: exact}\noperators: {cat: }\n"
    ),
    "operators/pointwise.yaml": (
        "family: pointwise\nlevel: inference\nsince: 1\ndtypes: [float32]\noracle: {rung: conditioned}\n"
        "operators: {exp: }\n"
    ),
}
GROUPS = (
    Group("runtime.copies", "runtime", "any", ("round-trip",)),
    Group("operators.forward", "mm", "float32", tuple(f"opinfo-{n:04}" for n in range(4))),
    Group("operators.forward", "mm", "bfloat16", tuple(f"opinfo-{n:04}" for n in range(2))),
    Group("operators.forward", "cat", "float32", tuple(f"opinfo-{n:04}" for n in range(3))),
    Group("operators.forward", "exp", "float32", tuple(f"opinfo-{n:04}" for n in range(2))),
)
RUNGS = {"mm": ("dot", 3e-7, 1e-6), "cat": ("exact", 0, 0), "exp": ("conditioned", 5e-8, 2e-7)}


def make_suite(root: Path, changes: dict[str, str] | None = None, groups=GROUPS) -> Suite:
    for name, text in {**SUITE_FILES, **(changes or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for version in ("2.13", "2.12", "2.11"):
        write_plan(plan_path(root, version), make_plan(version, groups))
    return load_suite(root)


def honest_row(group: Group, case: str) -> Row:
    dtype = None if group.dtype == "any" else group.dtype
    rung, error, bound = RUNGS.get(group.operator, (None, None, None))
    execution = "native" if rung else None
    overload = f"{group.operator}.default" if rung else None
    return Row(
        case, group.check, group.operator, overload, dtype, "plain", "function", "pass", execution, error, bound, rung,
        0.01, "",
    )  # fmt: skip


def honest_rows(suite: Suite) -> list[Row]:
    plan = read_plan(plan_path(suite.root, TORCH))
    return [honest_row(group, case) for group in plan.groups for case in group.cases()]


def failing(verification) -> set[str]:
    return {check.id for check in verification.checks if check.ok is False}


@dataclass
class Bench:
    """One report folder with what it takes to make it, spoil it and judge it."""

    folder: Path
    suite: Suite
    key: SigningKey
    trust: Trust
    monkeypatch: pytest.MonkeyPatch

    def run(self, rows=None, *, environment=ENVIRONMENT, simulated=False, levels=("bring-up",), began=BEGAN, **changes):
        """Write the folder as a run leaves it, with the real report."""
        rows = honest_rows(self.suite) if rows is None else rows
        profile = replace(default_profile("trn"), levels=levels, simulated=simulated)
        plan = read_plan(plan_path(self.suite.root, environment["torch"])) or make_plan("2.13", GROUPS)
        report = summarize(
            suite=self.suite, plan=plan, profile=profile, selection=select(self.suite, plan, profile), rows=rows,
            findings=(), environment=environment, began=began.timestamp(), seconds=60.0,
            complete=changes.pop("complete", True), out=Path("out"), backend=("torch-trn", "0.1.0"),
        )  # fmt: skip
        self.folder.mkdir(exist_ok=True)
        save(self.folder, replace(report, **changes), rows, environment)
        return self

    def sign(self, subject=SUBJECT):
        return sign.sign_run(self.folder, self.key, subject=subject, suite=self.suite)

    def forge(self, rows=None, **changes):
        """Sign a run that our own signer would refuse, everything else made to fit."""
        self.run(rows, **changes)
        for guard in ("case_problems", "outcome_problems", "disagreements"):
            self.monkeypatch.setattr(sign, guard, lambda *_: [])
        return self.sign()

    def statement(self):
        return json.loads(decode((self.folder / ENVELOPE_NAME).read_bytes()).payload)

    def restate(self, change, payload_type=PAYLOAD_TYPE):
        """Sign a changed statement with the trusted key. `change` edits the document, or gives the payload's bytes."""
        document = self.statement()
        payload = change(document)
        return self.seal(payload if isinstance(payload, bytes) else dump(document), payload_type)

    def seal(self, payload: bytes, payload_type=PAYLOAD_TYPE, key=None):
        key = key or self.key
        envelope = Envelope(payload_type, payload, key.public.keyid, key.sign(pae(payload_type, payload)))
        (self.folder / ENVELOPE_NAME).write_bytes(encode(envelope))

    def rebind(self):
        """Make the statement bind the files as they now are, and sign it again."""

        def change(document):
            own = document["predicate"]["onboard"]
            for entry in own["evidence"]:
                data = (self.folder / entry["name"]).read_bytes()
                entry.update(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
            own["run"] = run_id((self.folder / RESULTS_NAME).read_bytes())

        self.restate(change)

    def edit(self, name, change):
        """Rewrite a JSON file of the folder and bind it again."""
        document = json.loads((self.folder / name).read_bytes())
        change(document)
        (self.folder / name).write_text(json.dumps(document))
        self.rebind()

    def write_rows(self, rows):
        write_results(self.folder / RESULTS_NAME, rows)
        self.rebind()

    def verify(self, *, at=NOW, trust=None, suite=None):
        return verify(self.folder, trust or self.trust, at=at, suite=suite or self.suite)

    def rejected(self, *ids, status="INVALID", **options):
        """Assert the status and that exactly these checks fail; gives the verification."""
        found = self.verify(**options)
        assert (found.status, failing(found)) == (status, set(ids)), found.checks
        if status not in ("VALID", "STALE"):
            assert found.verdict is None
            assert found.levels == {}
        return found


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The suite, the key, and one signed report to be copied: hashing what is installed takes its time."""
    root = tmp_path_factory.mktemp("attest")
    passphrase = b"four random words here"
    new_key(root / "key.pem", passphrase)
    suite, key = make_suite(root / "suite"), load_key(root / "key.pem", passphrase)
    with pytest.MonkeyPatch.context() as monkeypatch:
        Bench(root / "report", suite, key, trust_in(key), monkeypatch).run().sign()
    return suite, key, root / "report"


@pytest.fixture
def unsigned(shared, tmp_path, monkeypatch):
    """A bench with an empty folder."""
    suite, key, _ = shared
    return Bench(tmp_path / "report", suite, key, trust_in(key), monkeypatch)


@pytest.fixture
def bench(shared, unsigned):
    """A bench with a signed, honest report."""
    shutil.copytree(shared[2], unsigned.folder)
    return unsigned


@pytest.fixture
def other_key(tmp_path):
    passphrase = b"another five random words"
    new_key(tmp_path / "other.pem", passphrase)
    return load_key(tmp_path / "other.pem", passphrase)


def trust_in(key, **changes) -> Trust:
    values = {"name": "Example Silicon", "role": "vendor", "key": key.public, "devices": ("trn",)}
    return Trust((Signer(**{**values, **changes}),))


@pytest.fixture
def trusting():
    return trust_in


@pytest.fixture
def suites():
    """Make other suites."""
    return make_suite


@pytest.fixture
def with_row():
    """Give the honest rows with the first row of an operator changed, or dropped by None."""

    def change(bench, named, /, **changes):
        rows = honest_rows(bench.suite)
        index = next(i for i, row in enumerate(rows) if (row.operator, row.dtype) == (named, "float32"))
        rows[index] = replace(rows[index], **changes)
        return rows

    return change


@pytest.fixture
def rows():
    return honest_rows
