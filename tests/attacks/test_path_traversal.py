"""Evidence by a name that leads out of the folder."""

from __future__ import annotations

import hashlib

import pytest

NAMES = (
    "../secret", "/etc/hostname", "a/../report.json", "./report.json", "report.json/", "..", "", "report.json\0",
    "results.jsonl.gz/../report.json",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_with_a_path_in_it_is_refused(bench, name):
    (bench.folder.parent / "secret").write_bytes(b"secret")
    digest = hashlib.sha256(b"secret").hexdigest()

    def add(document):
        document["predicate"]["onboard"]["evidence"].append({"name": name, "sha256": digest, "size": 6})

    bench.restate(add)
    bench.rejected("evidence")


@pytest.mark.parametrize("name", [7, None, ["report.json"]])
def test_a_name_that_is_no_text_is_refused(bench, name):
    bench.restate(lambda document: document["predicate"]["onboard"]["evidence"][0].update(name=name))
    bench.rejected("statement")
