"""`runtime.serialization`: tensors survive torch.save, pickle and deepcopy, with their device and their sharing."""

from __future__ import annotations

import copy
import io
import pickle

import torch

from conformance.checks.runtime.kit import Area, Probe, expect, expect_bits


def saved(device: torch.device, target: str) -> None:
    due = torch.tensor([[1.0, -0.0, float("nan")], [3.0, 4.0, 2.0**-149]])
    source = due if target == "host-to-device" else due.to(device)
    where = {"own": None, "device-to-host": "cpu", "host-to-device": device}[target]
    file = io.BytesIO()
    torch.save({"tensor": source}, file)
    file.seek(0)
    found = torch.load(file, map_location=where, weights_only=True)["tensor"]
    wanted = "cpu" if target == "device-to-host" else device.type
    expect(found.device.type == wanted, f"the loaded tensor lies on {found.device} where {wanted} is due")
    expect_bits(found, due, f"saved and loaded, {target}")


def saved_views(device: torch.device) -> None:
    """Views keep their strides and offset, and two views of one storage share it after loading, too."""
    base = torch.arange(12, dtype=torch.float32).to(device)
    file = io.BytesIO()
    torch.save([base.view(3, 4)[:, 1:3], base[4:]], file)
    file.seek(0)
    first, second = torch.load(file, weights_only=True)
    expect(first.stride() == (4, 1), f"the strides are {first.stride()} where (4, 1) is due")
    expect_bits(first, torch.tensor([[1.0, 2.0], [5.0, 6.0], [9.0, 10.0]]), "a loaded view")
    second.copy_(torch.full((8,), -1.0))
    due = torch.tensor([[1.0, 2.0], [-1.0, -1.0], [-1.0, -1.0]])
    expect_bits(first, due, "a loaded view after another view of its storage was written")


def deep_copied(device: torch.device) -> None:
    source = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(device)
    found = copy.deepcopy(source[1:])
    expect(found.device == source.device, f"the copy lies on {found.device} where {source.device} is due")
    source.copy_(torch.full((4,), 9.0))
    expect_bits(found, torch.tensor([2.0, 3.0, 4.0]), "a deep copy after its source was written")


def pickled(device: torch.device) -> None:
    due = torch.tensor([1.5, -2.5])
    found = pickle.loads(pickle.dumps(due.to(device)))  # noqa: S301 - it was written a moment ago
    expect(found.device.type == device.type, f"the tensor lies on {found.device} where {device.type} is due")
    expect_bits(found, due, "pickled and read back")


def parameters(device: torch.device) -> None:
    layer = torch.nn.Linear(3, 2)
    due = {name: value.detach().clone() for name, value in layer.state_dict().items()}
    file = io.BytesIO()
    torch.save(layer.to(device).state_dict(), file)
    file.seek(0)
    other = torch.nn.Linear(3, 2).to(device)
    other.load_state_dict(torch.load(file, weights_only=True))
    for name, value in other.state_dict().items():
        expect(value.device.type == device.type, f"{name} lies on {value.device} where {device.type} is due")
        expect_bits(value, due[name], f"{name} of a layer that was saved and loaded")


CHECK = Area(
    "runtime.serialization",
    {
        "save": (
            Probe("device-to-host", saved, ("device-to-host",)),
            Probe("host-to-device", saved, ("host-to-device",)),
            Probe("own", saved, ("own",)),
            Probe("parameters", parameters),
            Probe("views", saved_views),
        ),
        "copy": (
            Probe("deepcopy", deep_copied),
            Probe("pickle", pickled),
        ),
    },
)
