"""Samples depend on the seed of the run in their values alone, and drawing them leaves devices as they are."""

import random

import numpy as np
import pytest
import torch

from conformance.inputs import samples
from conformance.inputs.catalogue import entries, function_of, host_dtypes, planned_dtypes, public_name
from conformance.inputs.samples import Sample, opinfo_samples, planned_seed, seed_all, seed_of

OPERATORS = [("add", "float32"), ("mm", "bfloat16"), ("sort", "int64"), ("nn.functional.conv2d", "float32"),
             ("index_select", "float32"), ("softmax", "float32")]  # fmt: skip
operators = pytest.mark.parametrize(("operator", "dtype"), OPERATORS)


def drawn(operator, dtype, seed):
    samples._draw.cache_clear()
    return opinfo_samples(operator, dtype, seed)


def values(found):
    return [t.clone() for sample in found for t in sample.tensors]


def shapes(sample):
    return [(t.shape, t.dtype, t.stride()) for t in sample.tensors]


def same(left, right):
    return len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@operators
def test_the_seed_changes_the_values(operator, dtype):
    zero, one = (values(drawn(operator, dtype, seed)) for seed in (0, 1))
    assert not same(zero, one)
    changed = [not torch.equal(a, b) for a, b in zip(zero, one, strict=True) if a.numel() > 8 and len(a.unique()) > 4]
    assert all(changed)


@operators
def test_the_same_seed_gives_the_same(operator, dtype):
    first = values(drawn(operator, dtype, 3))
    torch.rand(5), random.random(), np.random.rand()  # noqa: NPY002 - the state that OpInfo draws from
    assert same(first, values(drawn(operator, dtype, 3)))


@operators
def test_number_order_and_shapes_do_not_depend_on_the_seed(operator, dtype):
    found = [drawn(operator, dtype, seed) for seed in range(3)]
    described = [[(shapes(s), len(s.args), sorted(s.kwargs)) for s in one] for one in found]
    assert described[0] == described[1] == described[2]


def test_samples_of_two_operators_do_not_begin_alike():
    """OpInfo seeds each sample with 1234: they would."""
    first = [next(t for t in values(drawn(op, "float32", 0)) if t.numel() > 4).flatten()[:4] for op in ("add", "mul")]
    assert not torch.equal(*first)


def test_samples_of_one_operator_do_not_begin_alike():
    found = [s.tensors[0].flatten()[:4] for s in drawn("add", "float32", 0) if s.tensors[0].numel() > 4]
    assert len(found) > 1
    assert not torch.equal(found[0], found[1])


@operators
def test_drawing_asks_no_device(monkeypatch, operator, dtype):
    def forbidden(*_, **__):
        raise AssertionError("a device was seeded")

    for name in ("manual_seed", "seed"):
        monkeypatch.setattr(torch, name, forbidden)
        monkeypatch.setattr(torch.random, name, forbidden)
        monkeypatch.setattr(torch.cuda, f"{name}_all", forbidden)
    assert drawn(operator, dtype, 5)


def test_samples_are_on_the_host_and_want_no_gradient():
    for operator, dtype in OPERATORS:
        for tensor in values(drawn(operator, dtype, 0)):
            assert tensor.device.type == "cpu"
            assert not tensor.requires_grad


def test_where_shapes_depend_on_values_the_plan_is_kept(monkeypatch):
    drawn_with = []

    def draw(operator, dtype, seed):
        drawn_with.append(seed)
        return (Sample((torch.zeros(2 + (seed == 4)),), {}),)

    monkeypatch.setattr(samples, "_draw", draw)
    assert planned_seed("x", "float32", 4) == 0
    assert planned_seed("x", "float32", 5) == 5
    assert planned_seed("x", "float32", 0) == 0
    assert opinfo_samples("x", "float32", 4)[0].size == 2


def test_a_seed_depends_on_all_it_is_made_of():
    base = ("add", "float32", "opinfo", 0)
    others = [("mul", *base[1:]), (base[0], "int64", *base[2:]), (*base[:2], "device", 0), (*base[:3], 1)]
    assert len({seed_of(*one) for one in [base, *others]}) == 5
    assert seed_of(*base) == seed_of(*base)
    assert 0 <= seed_of(*base) < 1 << 32
    assert seed_of("ab", "c", "d", 0) != seed_of("a", "bc", "d", 0)


def test_every_generator_of_the_host_is_seeded():
    seed_all(9)
    first = torch.rand(2).tolist(), random.random(), np.random.rand()  # noqa: NPY002
    seed_all(9)
    assert first == (torch.rand(2).tolist(), random.random(), np.random.rand())  # noqa: NPY002


def test_size_counts_all_tensors():
    sample = Sample((torch.zeros(2, 3), [torch.zeros(4)], 5), {"weight": torch.zeros(1)})
    assert sample.size == 11
    assert len(sample.tensors) == 3


# --- the catalogue


def test_importing_the_catalogue_leaves_the_flags_of_backends_open():
    entries()
    assert torch.backends.__allow_nonbracketed_mutation_flag is True


def test_random_operators_draw_anew():
    function = function_of("randn")
    assert not torch.equal(function(100), function(100))


def test_dtypes_are_those_that_the_host_has():
    assert "float32" in host_dtypes("add")
    assert planned_dtypes("add", ("bool", "float32")) == ("bool", "float32")
    assert planned_dtypes("exp", ()) == ()
    assert planned_dtypes("view_as_real", ("float32", "int64")) == ("complex64",)


def test_public_names():
    assert public_name("add") == "torch.add"
    assert public_name("nn.functional.relu") == "torch.nn.functional.relu"
    assert public_name("view") == "torch.Tensor.view" or public_name("view") is None
    assert public_name("normal.number_mean") is None
