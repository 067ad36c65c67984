"""A case recorded twice: once wrong, once passing."""

from __future__ import annotations

from dataclasses import replace


def test_a_second_row_of_a_case_is_noticed(unsigned, rows):
    whole = rows(unsigned.suite)
    unsigned.forge([replace(whole[1], outcome="wrong", error=1.0), *whole])
    found = unsigned.verify()
    assert found.status == "INVALID"
    detail = next(check.detail for check in found.checks if check.id == "cases")
    assert f"1 recorded more than once: {whole[1].case}" in detail


def test_an_equal_row_twice_is_noticed_too(unsigned, rows):
    whole = rows(unsigned.suite)
    unsigned.forge([*whole, whole[-1]])
    unsigned.rejected("cases")
