"""`runtime.accelerator`: the device through `torch.accelerator`: presence, streams, events, memory statistics."""

from __future__ import annotations

import gc
import time

import torch

from conformance.checks.runtime.kit import Area, NotApplicableError, Probe, expect, expect_bits, not_on_cpu


def lacking(device: torch.device, attribute: str, error: Exception) -> None:
    """Let a probe not apply where the default of an interface answered and the module does not claim better."""
    claims = hasattr(torch.get_device_module(device), attribute)
    defaults = ("Backend doesn't support", "is not a DeviceAllocator")
    if claims or not any(text in str(error) for text in defaults):
        raise error
    raise NotApplicableError(f"the backend has no {attribute}: the default of torch's interface answered")


def available(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    found = torch.accelerator.is_available()
    expect(found is True, f"torch.accelerator.is_available() returns {found!r}")


def current(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    found = torch.accelerator.current_accelerator()
    expect(found is not None and found.type == device.type, f"torch.accelerator.current_accelerator() is {found}")


def count(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    found, due = torch.accelerator.device_count(), torch.get_device_module(device).device_count()
    expect(found == due >= 1, f"torch.accelerator counts {found} devices, torch.{device.type} {due}")


def index(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    before = torch.accelerator.current_device_index()
    try:
        for wanted in range(torch.accelerator.device_count()):
            torch.accelerator.set_device_index(wanted)
            found = torch.accelerator.current_device_index()
            expect(found == wanted, f"after set_device_index({wanted}) the current index is {found}")
            found = torch.get_device_module(device).current_device()
            expect(found == wanted, f"after set_device_index({wanted}) torch.{device.type} says {found}")
    finally:
        torch.accelerator.set_device_index(before)


def synchronizes(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    there = torch.arange(65536, dtype=torch.float32).to(device).clone()
    torch.accelerator.synchronize()
    torch.accelerator.synchronize(torch.device(device.type, 0))
    expect_bits(there, torch.arange(65536, dtype=torch.float32), "a clone after synchronize()")


def current_stream(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    found = torch.accelerator.current_stream()
    expect(found.device.type == device.type, f"the current stream is on {found.device}")
    again = torch.accelerator.current_stream()
    expect(found == again, "two calls of current_stream() give streams that are not equal")


def stream_selected(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    before = torch.accelerator.current_stream()
    try:
        stream = torch.Stream(device=device)
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "Stream", error)
    with stream:
        inside = torch.accelerator.current_stream()
        there = torch.arange(4096, dtype=torch.float32).to(device).clone()
    after = torch.accelerator.current_stream()
    expect(inside == stream, "inside `with stream` another stream is current")
    expect(after == before, "after `with stream` the current stream is not the one before")
    stream.synchronize()
    expect(stream.query() is True, "a synchronized stream does not say that it is done")
    expect_bits(there, torch.arange(4096, dtype=torch.float32), "what was copied on a stream of its own")


def stream_waits(device: torch.device) -> None:
    """What one stream wrote, another reads right after waiting for it."""
    not_on_cpu(device, "part in torch.accelerator")
    try:
        first, second = torch.Stream(device=device), torch.Stream(device=device)
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "Stream", error)
    start = torch.arange(65536, dtype=torch.float32).to(device)
    torch.accelerator.synchronize()
    with first:
        made = start.clone()
    second.wait_stream(first)
    with second:
        copied = made.clone()
    second.synchronize()
    expect_bits(copied, torch.arange(65536, dtype=torch.float32), "a clone on a stream that waited for its source")


def event_recorded(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    try:
        event = torch.Event(device=device)
        event.record()
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "Event", error)
    event.synchronize()
    expect(event.query() is True, "a synchronized event does not say that it happened")


def event_waited(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    try:
        first, second = torch.Stream(device=device), torch.Stream(device=device)
        event = torch.Event(device=device)
        with first:
            made = torch.arange(65536, dtype=torch.float32).to(device).clone()
        event.record(first)
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "Event", error)
    event.wait(second)
    with second:
        copied = made.clone()
    second.synchronize()
    expect_bits(copied, torch.arange(65536, dtype=torch.float32), "a clone on a stream that waited for an event")


def event_timed(device: torch.device) -> None:
    """Host clock around the events: what lies between them can't take longer than the host waited for both."""
    not_on_cpu(device, "part in torch.accelerator")
    try:
        begin, end = torch.Event(device=device, enable_timing=True), torch.Event(device=device, enable_timing=True)
        began = time.perf_counter()
        begin.record()
        torch.arange(65536, dtype=torch.float32).to(device).clone()
        end.record()
        end.synchronize()
        found = begin.elapsed_time(end)
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "Event", error)
    most = (time.perf_counter() - began) * 1000
    expect(0 <= found <= most, f"elapsed_time() is {found} ms where the host waited {most} ms")


def memory_rises(device: torch.device) -> None:
    """Allocating raises the allocated bytes by at least the size of the tensor, freeing lowers them by as much."""
    not_on_cpu(device, "part in torch.accelerator")
    gc.collect()
    torch.accelerator.synchronize()
    try:
        before = torch.accelerator.memory_allocated()
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "memory_allocated", error)
    size = 1 << 20
    tensor = torch.empty(size, dtype=torch.uint8, device=device)
    during = torch.accelerator.memory_allocated()
    peak = torch.accelerator.max_memory_allocated()
    expect(during - before >= size, f"allocating {size} bytes raised memory_allocated() by {during - before}")
    expect(peak >= during, f"max_memory_allocated() is {peak} where {during} bytes are allocated")
    del tensor
    gc.collect()
    torch.accelerator.synchronize()
    after = torch.accelerator.memory_allocated()
    expect(during - after >= size, f"freeing {size} bytes lowered memory_allocated() by {during - after}")


def memory_reserved(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    try:
        reserved, allocated = torch.accelerator.memory_reserved(), torch.accelerator.memory_allocated()
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "memory_allocated", error)
    expect(reserved >= allocated, f"memory_reserved() is {reserved} where {allocated} bytes are allocated")
    torch.accelerator.empty_cache()
    kept = torch.accelerator.memory_allocated()
    expect(kept >= tensor.nbytes, f"empty_cache() left {kept} bytes allocated while a tensor of {tensor.nbytes} lives")


def peak_resets(device: torch.device) -> None:
    not_on_cpu(device, "part in torch.accelerator")
    try:
        torch.accelerator.memory_allocated()
    except (RuntimeError, NotImplementedError) as error:
        lacking(device, "memory_allocated", error)
    tensor = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    del tensor
    gc.collect()
    torch.accelerator.reset_peak_memory_stats()
    peak, now = torch.accelerator.max_memory_allocated(), torch.accelerator.memory_allocated()
    expect(peak == now, f"after reset_peak_memory_stats() the peak is {peak} where {now} bytes are allocated")


CHECK = Area(
    "runtime.accelerator",
    {
        "presence": (
            Probe("available", available),
            Probe("count", count),
            Probe("current", current),
            Probe("index", index),
            Probe("synchronize", synchronizes),
        ),
        "stream": (
            Probe("current", current_stream),
            Probe("selected", stream_selected),
            Probe("waits", stream_waits),
        ),
        "event": (
            Probe("recorded", event_recorded),
            Probe("timed", event_timed),
            Probe("waited", event_waited),
        ),
        "memory": (
            Probe("peak-resets", peak_resets),
            Probe("reserved", memory_reserved),
            Probe("rises", memory_rises),
        ),
    },
)
