"""The page that a worker and its supervisor share never shows what was not written."""

import multiprocessing
import time

import pytest

from conformance.run.slot import STARTING, Slot

NUMBERS = (0x01_01_01_01, -2)


def _write(path, seconds):
    slot = Slot(path)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for number in NUMBERS:
            slot.enter(number)
    slot.close()


def test_a_new_page_says_that_the_worker_is_starting(tmp_path):
    slot = Slot(tmp_path / "slot")
    number, seconds = slot.read()
    assert number == STARTING
    assert 0 <= seconds < 60
    slot.close()


def test_a_page_that_exists_keeps_what_it_says(tmp_path):
    first, second = Slot(tmp_path / "slot"), None
    first.enter(7)
    second = Slot(tmp_path / "slot")
    assert second.read()[0] == 7
    first.close()
    second.close()


def test_a_reader_in_another_process_never_sees_half_a_write(tmp_path):
    path = tmp_path / "slot"
    slot = Slot(path)
    slot.enter(NUMBERS[0])
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(path, 2.0))
    writer.start()
    reads = 0
    while writer.is_alive():
        number, seconds = slot.read()
        reads += 1
        if number not in NUMBERS or not -1 < seconds < 60:
            writer.kill()
            pytest.fail(f"read {number:#x}, entered {seconds} s ago, after {reads} reads")
    writer.join()
    slot.close()
    assert writer.exitcode == 0
    assert reads > 1000
