"""Shards merge into the run that they are, and into nothing else."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

pytestmark = pytest.mark.slow
SELECTED = ("--device", "cpu", "--checks", "*.[fcd]*", "--ops", "a*", "--dtypes", "float32", "--workers", "2")


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """The whole run, and its two shards, each in a folder of its own."""
    from onboard.cli.app import run

    folder = tmp_path_factory.mktemp("runs")
    for name, extra in (("whole", ()), ("one", ("--shard", "1/2")), ("two", ("--shard", "2/2"))):
        assert run(["conform", *SELECTED, *extra, "--out", str(folder / name)]) == 0
    return folder


@pytest.fixture
def shards(runs, tmp_path):
    """Copies of the shards that a test may spoil."""
    for name in ("one", "two"):
        shutil.copytree(runs / name, tmp_path / name)
    return tmp_path / "one", tmp_path / "two"


def rows(folder):
    with gzip.open(folder / "results.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [{**json.loads(line), "seconds": 0} for line in lines]


def edit(folder, change):
    path = folder / "report.json"
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps(report))


def test_shards_amount_to_the_whole(onboard, runs, tmp_path):
    merged = onboard("merge", str(runs / "two"), str(runs / "one"), "--out", str(tmp_path / "out"), "--json")
    assert merged.code == 0, merged.err
    assert rows(tmp_path / "out") == rows(runs / "whole")
    whole, found = json.loads((runs / "whole" / "report.json").read_text()), json.loads(merged.out)
    for name in ("verdict", "levels", "planned", "outcomes", "execution", "families", "narrowed", "complete", "shard"):
        assert found[name] == whole[name]
    halves = [json.loads((runs / name / "report.json").read_text()) for name in ("one", "two")]
    assert all(0 < half["planned"] < whole["planned"] for half in halves)
    assert [half["shard"]["index"] for half in halves] == [1, 2]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda report: report.update(seed=1), "not of one run: seed is 1 and 0"),
        (lambda report: report.update(torch="1.0"), "not of one run: torch"),
        (lambda report: report["suite"].update(digest="0"), "not of one run: suite.digest"),
        (lambda report: report["shard"].update(index=1), "are both shard 1/2"),
        (lambda report: report["shard"].update(of=3), "not of one run: shard.of"),
        (lambda report: report.update(complete=False), "the run was broken off"),
        (lambda report: report.update(shard=None), "the run is no shard"),
        (lambda report: report.pop("shard"), "its files are damaged"),
        (lambda report: report.pop("complete"), "its files are damaged"),
        (lambda report: report["shard"].update(index="x"), "its files are damaged"),
        (lambda report: report["shard"]["selected"].pop("ops"), "its files are damaged"),
        (lambda report: report.update(started=7), "its files are damaged"),
    ],
)
def test_what_is_not_of_one_run_is_not_merged(onboard, shards, tmp_path, change, problem):
    edit(shards[1], change)
    merged = onboard("merge", *map(str, shards), "--out", str(tmp_path / "out"))
    assert merged.code == 2
    assert problem in merged.err
    assert not (tmp_path / "out").exists()


def test_a_shard_that_is_not_there_is_named(onboard, shards, tmp_path):
    merged = onboard("merge", str(shards[1]), "--out", str(tmp_path / "out"))
    assert merged.code == 2
    assert "of 2 shards, 1 is not there" in merged.err


def test_another_machine_is_another_run(onboard, shards, tmp_path):
    path = shards[1] / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "cpu_capability": "NONE"}))
    merged = onboard("merge", *map(str, shards), "--out", str(tmp_path / "out"))
    assert merged.code == 2
    assert "cpu_capability is 'NONE'" in merged.err


@pytest.mark.parametrize("spare", [True, False])
def test_a_shard_has_its_own_cases_and_no_others(onboard, shards, tmp_path, spare):
    own, others = rows(shards[1]), rows(shards[0])
    kept = [*own, *others[:1]] if spare else own[1:]
    with gzip.open(shards[1] / "results.jsonl.gz", "wt", encoding="utf-8") as packed:
        packed.writelines(json.dumps(row) + "\n" for row in kept)
    merged = onboard("merge", *map(str, shards), "--out", str(tmp_path / "out"))
    assert merged.code == 2
    assert ("has, and should not have," if spare else "lacks") in merged.err


def test_a_shard_is_not_signed(onboard, tmp_path):
    refused = onboard("conform", "--device", "cpu", "--shard", "1/2", "--key", "k", "--out", str(tmp_path / "out"))
    assert refused.code == 2
    assert "a shard is not signed" in refused.err
