"""Nothing is lost, and every crash and hang stays on its own case."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import EnvironmentFailure
from conformance.run.journal import read_journal


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
    recorded = read_journal(tmp_path / "journal.jsonl")
    assert recorded.rows == supervisor.rows
    assert recorded.environment == supervisor.environment


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

        def worker(self, number, event, detail): ...

    listener = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        run_script("ok,ok,ok,ok,deaf-loop", listener=listener)
    assert len(read_journal(tmp_path / "journal.jsonl").rows) >= 3
    deadline = time.monotonic() + 5
    while _orphans(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _orphans(tmp_path)


def test_a_worker_that_was_killed_from_outside_costs_no_case(run_script, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert outcomes(run_script("ok,killed-once,ok")) == ["pass", "pass", "pass"]


def test_a_case_that_gets_its_worker_killed_each_time_is_a_crash(run_script):
    supervisor = run_script("ok,killed,ok")
    assert outcomes(supervisor) == ["pass", "crash", "pass"]
    assert "SIGKILL" in only(supervisor, "crash").message


def test_what_does_not_end_alike_is_flaky(run_script, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    supervisor = run_script("ok,sometimes,wrong,ok", "ok,segfault", repeat=3)
    assert outcomes(supervisor) == ["pass", "crash", "pass", "flaky", "wrong", "pass"]
    row = only(supervisor, "flaky")
    assert row.message == "pass at first, error in turn 2 of 3: RuntimeError: not this time"
    assert (row.error, row.bound, row.rung) == (None, None, None)
    assert read_journal(tmp_path / "journal.jsonl").rows == supervisor.rows


def comparable(rows):
    """Without times, and of a crash only the signal: the stack below it has addresses."""
    return {case: replace(row, seconds=0.0, message=row.message.partition("\n")[0]) for case, row in rows.items()}


def test_a_run_that_broke_off_goes_on_to_the_same_end(run_script):
    """With the same reproducers too: of the failing cases of a group, each smaller than those before has one."""
    scripts = ["ok,wrong,segfault,ok,wrong-small", "ok,sys-exit,ok"]
    whole = run_script(*scripts, case_seconds=20)
    assert sum(row.repro is not None for row in whole.rows.values()) >= 2

    class Counting:
        def __init__(self):
            self.rows = []

        def started(self, planned, environment):
            assert planned == 8

        def row(self, row):
            self.rows.append(row.case)

        def tick(self, running): ...

        def worker(self, number, event, detail): ...

    for ended in (1, 4, 7):
        listener, before = Counting(), dict(sorted(whole.rows.items())[:ended])
        again = run_script(*scripts, case_seconds=20, rows=before, environment=whole.environment, listener=listener)
        assert comparable(again.rows) == comparable(whole.rows)
        assert sorted(listener.rows) == sorted(whole.rows)


def test_a_run_with_nothing_left_starts_no_worker(run_script):
    whole = run_script("ok,ok")
    again = run_script("ok,ok", rows=dict(whole.rows), environment=whole.environment)
    assert again.rows == whole.rows


def test_a_run_does_not_go_on_in_another_environment(run_script):
    whole = run_script("ok,ok")
    rows = dict(sorted(whole.rows.items())[:1])
    with pytest.raises(EnvironmentFailure, match="another torch than the run began with"):
        run_script("ok,ok", rows=rows, environment={**whole.environment, "torch": "1.0"})


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
