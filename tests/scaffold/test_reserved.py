"""The names kept as data are those of the installed torch."""

from __future__ import annotations

import pkgutil
import re

import pytest
import torch

from onboard.scaffold import reserved

_DEVICE = re.compile(r"[a-z][a-z0-9]{1,15}\Z")


def test_the_device_types_are_torchs_own():
    with pytest.raises(RuntimeError) as caught:
        torch.device("no_such_device")
    listed = re.search(r"one of (.+) device type", str(caught.value))
    assert listed
    assert set(re.split(r",\s*", listed[1])) == reserved.TORCH_DEVICES


def test_every_name_that_torch_would_refuse_or_lose_is_reserved():
    """`torch._register_device_module` and the generated methods refuse a name that exists."""
    # A submodule becomes an attribute of torch when somebody imports it.
    taken = {module.name for module in pkgutil.iter_modules(torch.__path__)}
    for owner in (torch, torch.Tensor, torch.nn.Module, torch.UntypedStorage):
        names = set(dir(owner))
        taken |= names | {name.removeprefix("is_") for name in names if name.startswith("is_")}
    possible = {name for name in taken if _DEVICE.match(name)}
    assert possible - reserved.TORCH_ATTRIBUTES - reserved.TORCH_DEVICES == set()


def test_torch_really_refuses_such_a_name():
    with pytest.raises(RuntimeError, match="already been registered"):
        torch._register_device_module("cpu", object())


def test_the_names_meant_for_backends_are_free():
    everything = reserved.TORCH_DEVICES | reserved.TORCH_ATTRIBUTES | reserved.CPP_KEYWORDS | reserved.CPP_NAMES
    assert not everything & {"trn", "neuron", "npu", "mlu", "musa", "spyre", "rbln", "tpu", "openreg", "acme"}
