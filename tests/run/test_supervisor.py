"""Nothing is lost, and every crash and hang stays on its own case."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest


def outcomes(supervisor):
    return [row.outcome for _, row in sorted(supervisor.rows.items())]


def only(supervisor, outcome):
    (row,) = [row for row in supervisor.rows.values() if row.outcome == outcome]
    return row


@pytest.mark.parametrize(("act", "message"), [("segfault", "SIGSEGV"), ("abort", "SIGABRT"), ("leave", "exit code 3")])
def test_a_crash_costs_its_own_case_only(run_script, act, message):
    supervisor = run_script(f"ok,ok,{act},ok,ok")
    assert outcomes(supervisor) == ["pass", "pass", "crash", "pass", "pass"]
    assert message in only(supervisor, "crash").message


def test_a_crash_while_inputs_are_made_costs_the_cases_that_wait_for_them(run_script):
    supervisor = run_script("ok,ok,ok,abort-preparing,ok")
    assert outcomes(supervisor) == ["pass", "pass", "pass", "crash", "crash"]


def test_a_crash_after_the_last_case_is_no_case_s(run_script):
    assert outcomes(run_script("ok,ok,ok-then-abort")) == ["pass", "pass", "pass"]


def test_a_hang_that_blocks_every_signal_costs_its_own_case_only(run_script):
    supervisor = run_script("ok,deaf-loop,ok")
    assert outcomes(supervisor) == ["pass", "timeout", "pass"]
    assert "no result within" in only(supervisor, "timeout").message


def test_a_case_that_compiles_has_the_time_of_a_first_call(run_script):
    assert outcomes(run_script("ok,nap,ok", first_call_seconds=20)) == ["pass", "timeout", "pass"]
    patient = run_script("ok,nap,ok", first_call_seconds=20, compiling=("operators.*",))
    assert outcomes(patient) == ["pass", "pass", "pass"]


def test_compilers_work_one_at_a_time_while_anything_else_is_to_do(run_script, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    supervisor = run_script(
        "compile.smoke/alone", "compile.smoke/alone,alone", "nap,ok", case_seconds=5, compiling=("compile.*",)
    )
    assert set(outcomes(supervisor)) == {"pass"}


def test_sys_exit_and_huge_exceptions_are_errors_of_their_case(run_script):
    supervisor = run_script("ok,sys-exit,long-error,ok")
    assert outcomes(supervisor) == ["pass", "error", "error", "pass"]
    assert all(len(row.message) <= 2_000 for row in supervisor.rows.values())


def test_floods_and_detached_children_harm_nobody(run_script):
    assert outcomes(run_script("flood,detached-child,ok")) == ["pass", "pass", "pass"]


def test_a_planned_case_that_the_check_does_not_make_is_missing(run_script):
    supervisor = run_script("ok,absent-case,ok")
    assert outcomes(supervisor) == ["pass", "missing", "pass"]


def test_inputs_that_cannot_be_made_are_errors_of_the_cases_that_wait_for_them(run_script):
    supervisor = run_script("ok,unmakable,ok")
    assert outcomes(supervisor) == ["pass", "error", "error"]


def test_many_faults_over_many_groups_lose_nothing(run_script):
    scripts = [f"ok,ok,{act},ok,{act}" for act in ("segfault", "abort", "leave", "sys-exit")] * 2
    scripts = [script + ",ok" * number for number, script in enumerate(scripts)]
    supervisor = run_script(*scripts)
    planned = {f"operators.forward/{s}/any/case-{n:04}" for s in scripts for n in range(len(s.split(",")))}
    assert set(supervisor.rows) == planned
    for row in supervisor.rows.values():
        act = row.operator.split(",")[int(row.case[-4:])]
        assert row.outcome == {"ok": "pass", "sys-exit": "error"}.get(act, "crash")


def test_the_journal_holds_every_row(run_script, tmp_path):
    supervisor = run_script("ok,segfault,ok")
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert {json.loads(line)["case"] for line in lines} == set(supervisor.rows)


def test_an_interrupt_keeps_the_rows_and_leaves_no_process(run_script, tmp_path):
    class Interrupting:
        def __init__(self):
            self.seen = 0

        def started(self, planned, environment): ...

        def row(self, row):
            self.seen += 1
            if self.seen == 3:
                raise KeyboardInterrupt

        def tick(self, running): ...

    listener = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        run_script("ok,ok,ok,ok,deaf-loop", listener=listener)
    assert len((tmp_path / "journal.jsonl").read_text().splitlines()) >= 3
    deadline = time.monotonic() + 5
    while _orphans(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _orphans(tmp_path)


def _orphans(folder):
    """Processes that still hold a log of this run open."""
    found = []
    for fd in Path("/proc").glob("[0-9]*/fd/[12]"):
        try:
            if str(fd.readlink()).startswith(str(folder)):
                found.append(fd)
        except OSError:
            continue
    return found
