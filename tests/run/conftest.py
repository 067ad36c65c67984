from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from conformance.data import specs_dir
from conformance.device.profile import default_profile
from conformance.run.journal import Journal
from conformance.run.pool import Pool
from conformance.run.supervisor import Limits, Supervisor
from conformance.spec.plan import Group


class Silent:
    def started(self, planned, environment): ...
    def row(self, row): ...
    def tick(self, running): ...
    def worker(self, number, event, detail): ...


def _group(script):
    check, _, acts = script.rpartition("/")
    names = tuple(f"case-{n:04}" for n in range(len(acts.split(","))))
    return Group(check or "operators.forward", acts, "any", names)


@pytest.fixture
def run_script(tmp_path, monkeypatch):
    """Run scripts of acts (see misbehaving.py), each perhaps after `check/`, and give the supervisor back."""
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, sys.path)]))

    def run(*scripts, workers=2, case_seconds=1.0, listener=None, compiling=(), first_call_seconds=1.0, **known):
        groups = [_group(script) for script in scripts]
        request = {
            "profile": asdict(default_profile("cpu")),
            "import": None,
            "suite": str(specs_dir()),
            "seed": 0,
        }
        pool = Pool(tmp_path, request, registry="misbehaving")
        journal = Journal(tmp_path / "journal.jsonl", {})
        supervisor = Supervisor(
            pool, Limits(case_seconds, first_call_seconds, compiling), journal, listener or Silent(), workers, **known
        )
        try:
            pool.wait_ready()
            supervisor.run(groups)
        finally:
            pool.close()
            journal.close()
        return supervisor

    return run
