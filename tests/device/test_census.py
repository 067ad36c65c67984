import time

import pytest
import torch

from conformance.device.census import RESOLUTIONS, census, dispatch_key, is_overload, resolve


@pytest.fixture(scope="module")
def cpu():
    return census("CPU")


def test_every_overload_is_counted_once(cpu):
    assert tuple(cpu.counts) == RESOLUTIONS
    assert sum(cpu.counts.values()) == cpu.total
    assert cpu.counts["kernel"] == len(cpu.registered)


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="the denominators are those of torch 2.13")
def test_the_denominators_of_torch_2_13(cpu):
    assert (cpu.total, len(cpu.needs_kernel), cpu.covered, len(cpu.core)) == (3110, 866, 676, 193)


def test_a_key_without_a_backend_has_no_kernel():
    vacant = census("PrivateUse2")
    assert vacant.registered == ()
    assert vacant.covered == 0
    assert vacant.counts["missing"] == len(vacant.needs_kernel)


def test_a_census_takes_no_more_than_a_moment():
    began = time.process_time()
    census("CPU")
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize(
    ("overload", "resolution"),
    [("aten::mm", "kernel"), ("aten::linear", "math"), ("aten::clone", "default"), ("aten::_copy_from", "missing")],
)
def test_resolutions_of_the_cpu(overload, resolution):
    assert resolve(overload, "CPU") == resolution


def test_an_unknown_overload_raises():
    with pytest.raises(LookupError, match="no_such_operator"):
        resolve("aten::no_such_operator", "CPU")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("aten::add.out", True), ("aten::add.no_such", False), ("detach_", False), ("no::op", False),
        ("TorchDynamo Cache Lookup", False), ("## Call CompiledFxGraph x ##", False), ("a::b: c", False),
    ],
)  # fmt: skip
def test_only_overloads_are_overloads(name, known):
    assert is_overload(name) is known


def test_device_types_have_keys():
    assert dispatch_key("cpu") == "CPU"
    assert dispatch_key(torch._C._get_privateuse1_backend_name()) == "PrivateUse1"
