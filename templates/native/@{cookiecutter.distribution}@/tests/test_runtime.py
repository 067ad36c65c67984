"""Devices, streams, events, memory, storage."""

from __future__ import annotations

import copy
import io
import multiprocessing

import pytest
import torch


def test_two_devices():
    assert torch.@{ cookiecutter.device }@.device_count() == 2
    assert torch.accelerator.current_accelerator().type == "@{ cookiecutter.device }@"
    with torch.@{ cookiecutter.device }@.device(1):
        assert torch.@{ cookiecutter.device }@.current_device() == 1
        assert torch.ones(1, device="@{ cookiecutter.device }@").device.index == 1
    assert torch.@{ cookiecutter.device }@.current_device() == 0


def test_no_such_device():
    with pytest.raises(RuntimeError, match="between 0 and 1, got 7"):
        torch.ones(1, device="@{ cookiecutter.device }@:7")


def test_the_driver_says_what_it_is():
    properties = torch.@{ cookiecutter.device }@.get_device_properties()
    assert isinstance(properties.simulated, bool)
    assert properties.total_memory == torch.@{ cookiecutter.device }@.mem_get_info()[1]


def test_copies_keep_every_bit_of_the_storage():
    base = torch.arange(24.0).view(4, 6)
    view = base[1:, 1::2].t()
    there = base.to("@{ cookiecutter.device }@")[1:, 1::2].t()
    assert there.stride() == view.stride()
    assert there.storage_offset() == view.storage_offset()
    assert torch.equal(there.cpu(), view)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.complex64]
)
def test_copies_convert(dtype):
    values = torch.tensor([-2.5, -0.0, 0.3, 1.0, 100.0])
    assert torch.equal(values.to("@{ cookiecutter.device }@").to(dtype).cpu(), values.to(dtype))
    assert torch.equal(values.to("@{ cookiecutter.device }@", dtype).cpu(), values.to(dtype))


def test_between_devices():
    values = torch.arange(6.0, device="@{ cookiecutter.device }@:0").view(2, 3).t()
    moved = values.to("@{ cookiecutter.device }@:1")
    assert moved.device.index == 1
    assert torch.equal(moved.cpu(), values.cpu())


def test_conjugate_and_negative_views():
    values = torch.tensor([1 + 2j, 3 - 4j])
    there = values.to("@{ cookiecutter.device }@")
    assert torch.equal(there.conj().cpu().resolve_conj(), values.conj().resolve_conj())
    assert torch.equal(there.conj().imag.clone().cpu(), values.conj().imag.clone())


def test_pinned_memory():
    pinned = torch.arange(4.0).pin_memory()
    assert pinned.is_pinned()
    assert not torch.arange(4.0).is_pinned()
    there = pinned.to("@{ cookiecutter.device }@", non_blocking=True)
    del pinned  # the copy may still be under way
    assert torch.equal(there.cpu(), torch.arange(4.0))


def test_memory_is_counted_and_given_back():
    torch.accelerator.synchronize()
    before = torch.accelerator.memory_allocated()
    block = torch.empty(1000, device="@{ cookiecutter.device }@")
    assert torch.accelerator.memory_allocated() == before + 4000
    del block
    assert torch.accelerator.memory_allocated() == before
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == before


def test_out_of_memory():
    with pytest.raises(torch.OutOfMemoryError, match="@{ cookiecutter.device }@ out of memory"):
        torch.empty(1 << 40, device="@{ cookiecutter.device }@")


def test_streams_run_in_order_and_beside_each_other():
    stream = torch.@{ cookiecutter.device }@.Stream()
    with torch.@{ cookiecutter.device }@.stream(stream):
        assert torch.@{ cookiecutter.device }@.current_stream() == stream
        big = torch.ones(300, 300, device="@{ cookiecutter.device }@")
        for _ in range(5):
            big = big @ big / 300
    assert torch.@{ cookiecutter.device }@.current_stream() == torch.@{ cookiecutter.device }@.default_stream()
    torch.@{ cookiecutter.device }@.current_stream().wait_stream(stream)
    big.record_stream(torch.@{ cookiecutter.device }@.current_stream())
    assert big.sum().item() == 90_000


def test_events():
    start, end = torch.@{ cookiecutter.device }@.Event(enable_timing=True), torch.@{ cookiecutter.device }@.Event(enable_timing=True)
    start.record()
    work = torch.ones(200, 200, device="@{ cookiecutter.device }@")
    work = work @ work
    end.record()
    end.synchronize()
    assert start.query()
    assert end.query()
    assert start.elapsed_time(end) > 0


def test_storage():
    values = torch.arange(3.0, device="@{ cookiecutter.device }@")
    assert torch.equal(values.resize_(5)[:3].cpu(), torch.arange(3.0))
    assert torch.equal(torch.empty(0, device="@{ cookiecutter.device }@").set_(values).cpu()[:3], torch.arange(3.0))
    assert torch.equal(copy.deepcopy(values).cpu()[:3], torch.arange(3.0))


def test_save_and_load():
    file = io.BytesIO()
    torch.save(torch.arange(3.0, device="@{ cookiecutter.device }@"), file)
    for target in ("@{ cookiecutter.device }@:0", "@{ cookiecutter.device }@:1", "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=target)
        assert loaded.device == torch.device(target)
        assert torch.equal(loaded.cpu(), torch.arange(3.0))


def _use_in_child(queue: multiprocessing.Queue[str]) -> None:
    try:
        torch.ones(1, device="@{ cookiecutter.device }@")
        queue.put("worked")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_is_told_why_it_cannot():
    torch.ones(1, device="@{ cookiecutter.device }@")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_use_in_child, args=(queue,))
    child.start()
    assert "Cannot re-initialize @{ cookiecutter.device }@ in forked subprocess" in queue.get(timeout=30)
    child.join(30)
    assert child.exitcode == 0
