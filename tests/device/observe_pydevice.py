"""Run as a program: observe every scenario on the Python device and print the observations as JSON."""

import json
import sys
from dataclasses import asdict

import numpy as np
import torch
from pydevice import (
    NAME,
    by_cpu_method,
    by_to_cpu,
    in_host_memory,
    one_by_one,
    past_aten,
    payload,
    register,
    register_fallback,
    serve,
    wrap,
)

from conformance.device.execution import observe

aten = torch.ops.aten


def readback(tensor):
    """A native kernel that must know one number on the host: how many elements there are to return."""
    count = wrap(np.array(np.count_nonzero(payload(tensor)))).item()
    found = np.argwhere(payload(tensor))
    assert len(found) == count
    return wrap(found)


def scenarios():
    big = torch.arange(96, dtype=torch.float32).reshape(8, 12).to(NAME)
    other = torch.ones(8, 12).to(NAME)
    one = torch.tensor([3.0]).to(NAME)
    host = torch.ones(8, 12)
    serve("sub.Tensor", by_to_cpu(aten.sub.Tensor))
    serve("exp", by_cpu_method(aten.exp.default))
    serve("mul.Tensor", past_aten)
    serve("abs", in_host_memory)
    serve("ceil", one_by_one)
    serve("nonzero", readback)
    serve("randperm", lambda n, **_: aten.randperm.default(n, device="cpu").to(NAME))
    serve("_softmax", by_to_cpu(aten._softmax.default))
    yield "out", lambda: big + other
    yield "in-place", lambda: big.add_(other)
    yield "kernel", big.relu
    yield "explicit", lambda: big - other
    yield "by-hand", big.exp
    yield "past-aten", lambda: big * other
    yield "host-memory", big.abs
    yield "one-by-one", big.ceil
    yield "one-element", one.exp
    yield "factory", lambda: torch.full((3, 4), 2.0, device=NAME)
    yield "host-factory", lambda: torch.randperm(9, device=NAME)
    yield "composite", lambda: torch.softmax(big, 1)
    yield "native-composite", big.clone
    yield "readback", big.nonzero
    yield "item", one.item
    yield "to-host", big.cpu
    yield "to-host-as", lambda: big.to("cpu", torch.float64)
    yield "to-device", lambda: host.to(NAME)
    yield "python-fallback", lambda: torch.cos(big.cpu()).to(NAME)
    yield "scalar", lambda: big + 1.5
    yield "missing", lambda: torch.cumsum(big, 0)
    yield "wrong-shape", lambda: big.view(5)


def main():
    register()
    kept = register_fallback() if "fallback" in sys.argv[1:] else None
    device = torch.device(NAME)
    found = {name: asdict(observe(call, device)) for name, call in scenarios()}
    sys.stdout.write(json.dumps(found))
    del kept


if __name__ == "__main__":
    main()
