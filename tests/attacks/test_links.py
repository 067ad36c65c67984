"""Links that lead the reader to files outside the report."""

from __future__ import annotations

import pytest

from conformance.results import ENVELOPE_NAME, ENVIRONMENT_NAME, REPORT_NAME, RESULTS_NAME, SUMMARY_NAME


@pytest.mark.parametrize("name", [ENVELOPE_NAME, RESULTS_NAME, ENVIRONMENT_NAME, REPORT_NAME])
def test_a_link_to_the_very_same_bytes_is_refused(bench, tmp_path, name):
    path = bench.folder / name
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    bench.rejected("files", "envelope" if name == ENVELOPE_NAME else "evidence")


def test_a_link_to_a_secret_is_not_read(bench, tmp_path):
    (tmp_path / "secret").write_text("very secret")
    (bench.folder / SUMMARY_NAME).symlink_to(tmp_path / "secret")
    found = bench.rejected("files")
    assert "a link" in found.checks[0].detail
    assert "very secret" not in repr(found)


def test_dangling_and_endless_links_are_refused(bench):
    (bench.folder / SUMMARY_NAME).symlink_to(bench.folder / SUMMARY_NAME)
    bench.rejected("files")
    (bench.folder / SUMMARY_NAME).unlink()
    (bench.folder / SUMMARY_NAME).symlink_to("/nowhere")
    bench.rejected("files")


def test_a_link_to_a_device_is_refused(bench):
    (bench.folder / SUMMARY_NAME).symlink_to("/dev/zero")
    bench.rejected("files")
