"""Every figure of docs/oracle.md is what its example gives."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "oracle.md"


def test_the_figures_of_the_page(monkeypatch):
    monkeypatch.chdir(PAGE.parents[1])  # the page reads the frozen plan of this checkout
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 20
    assert found.failed == 0
