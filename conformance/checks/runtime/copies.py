"""`runtime.copies`: what travels between host and device, or within the device, arrives bit by bit and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from conformance.checks.runtime.kit import Area, Probe, expect, expect_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STORED = (
    "bfloat16", "bool", "complex128", "complex64", "float16", "float32", "float64", "int16", "int32", "int64", "int8",
    "uint8",
)  # fmt: skip
DIRECTIONS = ("to-device", "to-host", "within")


def round_trip(device: torch.device, dtype: torch.dtype) -> None:
    """Every byte occurs, in an order that no pattern of copying reproduces by accident; 257 elements fill no tile.

    The targets hold the complement before, so that whatever is not written shows.
    """
    if dtype is torch.bool:
        due = torch.tensor([(i * i + i // 7) % 3 == 0 for i in range(257)])
        other = torch.tensor([not value for value in due.tolist()])
    else:
        pattern = [(i * 167 + i // 256 * 59 + 13) % 256 for i in range(257 * dtype.itemsize)]
        due = torch.tensor(pattern, dtype=torch.uint8).view(dtype)
        other = torch.tensor([255 - byte for byte in pattern], dtype=torch.uint8).view(dtype)
    there = due.to(device)
    expect(there.device.type == device.type, f".to({device}) gives a tensor on {there.device}")
    expect_bits(there, due, f"{dtype} to the device and back")
    again = other.to(device)
    expect_bits(again, other, f"{dtype} to the device and back")
    again.copy_(there)
    expect_bits(again, due, f"{dtype} copied within the device")
    other.copy_(there)
    expect_bits(other, due, f"{dtype} copied into a host tensor")


def special_values(device: torch.device, dtype: torch.dtype, words: list[int]) -> None:
    """NaNs keep their sign and payload, zeros their sign, subnormals their value."""
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    signed = [word - (1 << 8 * dtype.itemsize) if word >> (8 * dtype.itemsize - 1) else word for word in words]
    due = torch.tensor(signed, dtype=integer)
    there = due.view(dtype).to(device)
    expect_bits(there.cpu().view(integer), due, f"{dtype} bit patterns to the device and back")
    again = torch.ones(len(words), dtype=dtype).to(device)
    again.copy_(there)
    expect_bits(again.cpu().view(integer), due, f"{dtype} bit patterns copied within the device")


def layouts(device: torch.device, layout: str, direction: str) -> None:
    """The same values arrive whatever the strides of the source."""
    base = torch.arange(2 * 6 * 8, dtype=torch.float32).view(2, 6, 8)
    views: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "transposed": lambda t: t.transpose(0, 2),
        "stepped": lambda t: t[:, ::2, 1::3],
        "offset": lambda t: t[1:, 2:5, 3:7],
        "expanded": lambda t: t[0, 0, :5].view(5, 1).expand(5, 4),
        "overlapping": lambda t: t.as_strided((5, 3), (2, 1), 7),
        "permuted": lambda t: t.permute(1, 2, 0)[1:, :, 1:],
        "zero-dim": lambda t: t[1, 2, 3],
        "zero-size": lambda t: t[:, 3:3, :],
        "contiguous": lambda t: t,
    }
    view = views[layout]
    shown = view(base)
    due = torch.tensor(shown.tolist(), dtype=torch.float32).reshape(shown.shape)
    if direction == "to-device":
        found = shown.to(device)
    elif direction == "to-host":
        found = view(base.to(device)).cpu()
    else:
        found = view(base.to(device)).clone(memory_format=torch.contiguous_format)
        expect(found.device.type == device.type, f"the clone lies on {found.device}")
    expect_bits(found, due, f"a tensor whose layout is {layout}, {direction}")


def targets(device: torch.device, layout: str, direction: str) -> None:
    """A copy into a part of a tensor reaches that part, and not one byte beside it."""
    views: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "slice": lambda t: t[2:4],
        "step": lambda t: t[::2, 1::3],
        "column": lambda t: t[:, 3],
        "corner": lambda t: t[4:, 6:],
        "transposed": lambda t: t.t()[2:5],
        "element": lambda t: t[5, 7],
        "nothing": lambda t: t[3:3],
    }
    view = views[layout]
    places = view(torch.arange(48).view(6, 8))
    written = {place: number + 1.0 for number, place in enumerate(places.flatten().tolist())}
    due = torch.tensor([written.get(place, -7.0) for place in range(48)]).view(6, 8)
    values = torch.tensor(list(written.values()), dtype=torch.float32).view(places.shape)
    target = torch.full((6, 8), -7.0)
    if direction != "to-host":
        target = target.to(device)
    view(target).copy_(values if direction == "to-device" else values.to(device))
    expect_bits(target, due, f"a tensor after a copy into its {layout}, {direction}")


def broadcast(device: torch.device, direction: str) -> None:
    source = torch.tensor([1.0, 2.0, 3.0])
    due = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    target = torch.zeros(2, 3) if direction == "to-host" else torch.zeros(2, 3).to(device)
    target.copy_(source if direction == "to-device" else source.to(device))
    expect_bits(target, due, f"a row copied into every row, {direction}")


def own_part(device: torch.device) -> None:
    """Copying a tensor onto itself leaves it as it was."""
    tensor = torch.tensor([1.0, 2.0, 3.0]).to(device)
    tensor.copy_(tensor)
    expect_bits(tensor, torch.tensor([1.0, 2.0, 3.0]), "a tensor copied onto itself")


def independent(device: torch.device) -> None:
    source = torch.tensor([1.0, 2.0])
    there = source.to(device, copy=True)
    source[0] = 9.0
    expect_bits(there, torch.tensor([1.0, 2.0]), "a copy after its source was written")
    back = there.to("cpu", copy=True)
    there.copy_(torch.tensor([5.0, 6.0]))
    expect_bits(back, torch.tensor([1.0, 2.0]), "a copy on the host after the device tensor was written")


def asynchronous_up(device: torch.device) -> None:
    """A copy that need not block is finished before the device uses it."""
    due = torch.arange(4096, dtype=torch.float32)
    again = due.to(device, non_blocking=True).clone()
    expect_bits(again, due, "a clone of what was copied up without blocking")


def asynchronous_down(device: torch.device) -> None:
    """A copy that need not block is finished when the host has waited for the device."""
    due = torch.arange(4096, dtype=torch.float32)
    back = due.to(device).to("cpu", non_blocking=True)
    torch.get_device_module(device).synchronize()
    expect_bits(back, due, "what was copied down without blocking, after synchronize()")


def convert(
    device: torch.device,
    source: torch.dtype,
    target: torch.dtype,
    values: list[float],
    due: list[float],
    direction: str,
) -> None:
    start, wanted = torch.tensor(values, dtype=source), torch.tensor(due, dtype=target)
    if direction == "to-device":
        found = start.to(device, target)
    elif direction == "to-host":
        found = start.to(device).to("cpu", target)
    else:
        found = start.to(device).to(target)
    expect_bits(found, wanted, f"{source} to {target}, {direction}")


#: Pairs of dtypes with values and what they must become: rounding to nearest even, truncation, overflow, truth.
CONVERSIONS: tuple[tuple[str, str, list[float], list[float]], ...] = (
    ("float32", "bfloat16", [1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -0.0, 3.4e38],
     [1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -0.0, float("inf")]),
    ("bfloat16", "float32", [1.0, -1.0078125, 2.0**-126, float("-inf")], [1.0, -1.0078125, 2.0**-126, float("-inf")]),
    ("float32", "float16", [1.0, 1 + 2**-11, 1 + 3 * 2**-11, 65504.0, 65520.0, 2.0**-14],
     [1.0, 1.0, 1 + 2**-9, 65504.0, float("inf"), 2.0**-14]),
    ("float32", "int64", [1.9, -1.9, 0.0, 16777216.0, -0.5], [1, -1, 0, 16777216, 0]),
    ("int64", "float32", [1, -3, 2**24 + 1, 2**24 + 3], [1.0, -3.0, 16777216.0, 16777220.0]),
    ("int64", "int32", [1, -1, 2**31 - 1, 2**32 + 5, 2**31], [1, -1, 2**31 - 1, 5, -(2**31)]),
    ("float32", "bool", [0.0, -0.0, 1.0, -0.25, float("nan")], [False, False, True, True, True]),
    ("bool", "float32", [True, False, True], [1.0, 0.0, 1.0]),
    ("uint8", "float32", [0, 127, 255], [0.0, 127.0, 255.0]),
    ("float64", "float32", [1.0, 1 + 2**-24, 1 + 3 * 2**-24, 1e300], [1.0, 1.0, 1 + 2**-22, float("inf")]),
    ("float32", "float64", [1.0, 0.1, -2.5], [1.0, 0.10000000149011612, -2.5]),
)  # fmt: skip

#: Bit patterns of float32, bfloat16, float16 and float64: NaNs with payloads, zeros, subnormals, the largest, infinity.
_WORDS = {
    "float32": [
        0x7FC00001, 0xFFC12345, 0x7F800001, 0xFFFFFFFF, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF, 0x7F800000,
    ],
    "bfloat16": [0x7FC1, 0xFFC5, 0x7F81, 0xFFFF, 0x8000, 0x0001, 0x807F, 0x7F7F, 0x7F80],
    "float16": [0x7E01, 0xFE23, 0x7C01, 0xFFFF, 0x8000, 0x0001, 0x83FF, 0x7BFF, 0x7C00],
    "float64": [
        0x7FF8000000000001, 0xFFF8000012345678, 0x7FF0000000000001, 0x8000000000000000, 0x1, 0x7FEFFFFFFFFFFFFF,
    ],
}  # fmt: skip

_LAYOUTS = (
    "contiguous", "expanded", "offset", "overlapping", "permuted", "stepped", "transposed", "zero-dim", "zero-size",
)  # fmt: skip
_TARGETS = ("column", "corner", "element", "nothing", "slice", "step", "transposed")


def _conversions() -> Iterator[Probe]:
    for source, target, values, due in CONVERSIONS:
        for direction in DIRECTIONS:
            arguments = (getattr(torch, source), getattr(torch, target), values, due, direction)
            # Of the two dtypes float32 is the one that a device has.
            rarer = target if source == "float32" else source
            yield Probe(f"{source}-{target}-{direction}", convert, arguments, rarer)


CHECK = Area(
    "runtime.copies",
    {
        "round-trip": tuple(Probe(dtype, round_trip, (getattr(torch, dtype),), dtype) for dtype in STORED),
        "bits": tuple(
            Probe(dtype, special_values, (getattr(torch, dtype), words), dtype) for dtype, words in _WORDS.items()
        ),
        "layout": tuple(Probe(f"{name}-{way}", layouts, (name, way)) for name in _LAYOUTS for way in DIRECTIONS),
        "target": tuple(Probe(f"{name}-{way}", targets, (name, way)) for name in _TARGETS for way in DIRECTIONS),
        "convert": tuple(_conversions()),
        "memory": (
            Probe("asynchronous-down", asynchronous_down),
            Probe("asynchronous-up", asynchronous_up),
            *(Probe(f"broadcast-{way}", broadcast, (way,)) for way in DIRECTIONS),
            Probe("independent", independent),
            Probe("onto-itself", own_part),
        ),
    },
)
