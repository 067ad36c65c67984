"""A run that was killed goes on, and ends as one that nobody killed."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
#: Runs are killed so often, each time after a part of a second more, until one comes to its end.
KILLS = 8
SELECTED = ("--device", "cpu", "--checks", "operators.forward", "--ops", "[a-e]*", "--workers", "2")


def start(log, *arguments):
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "onboard", "conform", *arguments],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file,
        )  # fmt: skip


def results(out):
    with gzip.open(out / "results.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [{**json.loads(line), "seconds": 0} for line in lines]


def family(pid):
    """The process, its fork server and its workers."""
    found = [pid]
    for parent in found:
        children = Path(f"/proc/{parent}/task/{parent}/children")
        found += [int(child) for child in children.read_text().split()] if children.exists() else []
    return found


def records(out):
    journal = out / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_is_not(tmp_path):
    whole, out, log = tmp_path / "whole", tmp_path / "out", tmp_path / "log"
    assert start(log, *SELECTED, "--out", str(whole)).wait(timeout=300) == 0
    draw = random.Random(7)
    running, killed = start(log, *SELECTED, "--out", str(out)), 0
    for kill in range(KILLS):
        known = records(out)
        deadline = time.monotonic() + 120
        while running.poll() is None and records(out) <= max(known, 2) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(draw.random() / 10)
        if running.poll() is not None:
            break
        # The supervisor, the server or a worker, in turn: only the first two end the run.
        processes = family(running.pid)
        victim = processes[min(kill % 3, len(processes) - 1)]
        os.kill(victim, signal.SIGKILL)
        killed += 1
        if kill % 3 == 2:
            continue
        if running.wait(timeout=60) == 0:
            break  # it had come to its end in the meantime
        assert not (out / "results.jsonl.gz").exists()
        running = start(log, "--resume", str(out))
    assert running.wait(timeout=300) == 0, log.read_text()
    assert killed >= 4
    assert results(out) == results(whole)
    assert not (out / "journal.jsonl").exists()


def test_what_cannot_go_on_says_why(onboard, tmp_path):
    out = tmp_path / "out"
    ended = onboard("conform", "--device", "cpu", "--ops", "relu", "--dtypes", "float32", "--out", str(out))
    assert ended.code == 0
    again = onboard("conform", "--resume", str(out))
    assert again.code == 2
    assert "holds no broken run" in again.err
    other = onboard("conform", "--resume", str(out), "--ops", "abs")
    assert other.code == 2
    assert "the options that the run had" in other.err
    nothing = onboard("conform")
    assert nothing.code == 2
    assert "name the device with --device" in nothing.err
