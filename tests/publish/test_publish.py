"""What people see: the terminal within 80 columns, the page with everything escaped."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from conformance.findings import Finding
from conformance.report import FamilyLine, Report
from conformance.results import OUTCOMES
from conformance.verdict import LevelVerdict
from onboard.publish import progress
from onboard.publish.page import render_page
from onboard.publish.terminal import report_lines, verdict_line

HOSTILE = "<script>alert(1)</script> [red]x[/red] \x1b[31mred"
COUNTS = dict.fromkeys(OUTCOMES, 0)


@pytest.fixture
def report():
    finding = Finding(
        "wrong-exp", "exp", "wrong", "exp gives wrong answers", 12,
        "operators.forward/exp/float32/sample-0000/plain/function",
        HOSTILE, "import torch\nprint(1)\n", ("float32",), ("plain",), ("softmax",), ("aten::exp.out",),
    )  # fmt: skip
    return Report(
        verdict="fail", levels={"bring-up": LevelVerdict("fail", 20, 8, ("12 cases wrong",))}, judged=("bring-up",),
        previewed=(), device="trn", profile="trn", profile_digest="0" * 64, simulated=True, suite_version="0.1.0",
        suite_digest="1" * 64, torch="2.13.0+cpu", plan_digest="2" * 64, calibrated=True, complete=True, narrowed=False,
        planned=20, outcomes={**COUNTS, "pass": 8, "wrong": 12},
        execution={"native": 1, "composite": 0, "fallback": 1, "absent": 0}, self_compared=0,
        unjudged_operators={"svd": "no rung yet"}, beside_host=1, host_off_operators={"histc": "its edges"},
        families=(FamilyLine("elementwise-mathematics-and-more", 2, {**COUNTS, "pass": 8, "wrong": 12},
                             {"native": 1, "composite": 0, "fallback": 1, "absent": 0}),),
        findings=(finding,), next="onboard repro out wrong-exp", backend=("torch-trn", "0.1.0"),
        started="2026-01-01T00:00:00Z", finished="2026-01-01T00:00:10Z", seconds=10.0, seed=0, out="out",
    )  # fmt: skip


def test_the_terminal_shows_verdict_findings_reproducer_and_what_next(report):
    text = "\n".join(line.text for line in report_lines(report))
    for part in ("SIMULATED DEVICE", "verdict fail", "8 of 20 cases pass", "12 wrong", "[wrong-exp]", "import torch",
                 "also: softmax", "aten::exp.out", "next: onboard repro out wrong-exp", "svd"):  # fmt: skip
        assert part in text


def test_the_table_fits_into_80_columns(report):
    lines = [line.text for line in report_lines(report)]
    head = next(i for i, text in enumerate(lines) if text.startswith("family"))
    assert all(len(text) <= 80 for text in lines[head : head + 3])


def test_an_interrupted_run_says_so(report):
    assert "(interrupted)" in verdict_line(replace(report, complete=False))


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_the_page_runs_no_script_and_asks_nobody(report):
    page = render_page(report)
    parser = Tags()
    parser.feed(page)
    assert "script" not in parser.tags
    assert not {"img", "link", "iframe", "object"} & set(parser.tags)
    assert "default-src 'none'" in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


def test_the_page_shows_what_the_terminal_shows(report):
    page = render_page(report)
    for part in (
        "SIMULATED DEVICE",
        "8 of 20 planned cases pass",
        "wrong-exp",
        "12 cases wrong",
        "svd",
        "torch-trn 0.1.0",
    ):
        assert part in page
    assert page.count('scope="row"') == 4


def test_an_outcome_that_no_case_had_is_named_and_takes_no_column(report):
    page = render_page(report)
    assert '<th scope="col">wrong</th>' in page
    assert '<th scope="col">crash</th>' not in page
    assert "No case ended as error, crash, timeout, flaky, unsupported, waived, unjudged, missing." in page


def test_a_clean_report_has_no_finding(report):
    assert "no planned case failed" in render_page(replace(report, findings=()))


def test_the_time_left_is_told_by_the_rate_of_late_and_not_before_there_is_one(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    tally = progress.Tally({}, {})
    assert tally.line() == "starting the device"
    tally.begin(1000)
    assert "no estimate yet" in tally.line()
    now[0] += 30  # the first cases are slow
    tally.done = 40
    assert tally.line() == "40 of 1000 cases, 0 failing, 1/s, no estimate yet"
    for _ in range(6):
        now[0] += 5
        tally.done += 100
        line = tally.line()
    assert line == "640 of 1000 cases, 0 failing, 20/s, about 18 s left"
