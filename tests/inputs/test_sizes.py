"""Sizes and arguments: one thing is changed at a time, and everything that hangs on it."""

import pytest
import torch

from conformance.inputs.arguments import changed
from conformance.inputs.samples import Sample
from conformance.inputs.sizes import SIZES, Resized, emptied, resized

MATRICES = Sample((torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)), {})


def made(sample, **kwargs):
    options = {"fixed": None, "seed": 1, **kwargs}
    return [
        (one.old, one.new, [tuple(t.shape) for t in one.make().tensors]) for one in resized([sample], None, **options)
    ]


def test_a_size_is_replaced_in_every_tensor_that_has_it():
    found = {(old, new): shapes for old, new, shapes in made(MATRICES)}
    assert found[3, 33] == [(2, 33), (33, 4)]
    assert found[2, 1025] == [(1025, 3), (3, 4)]
    assert found[3, 0] == [(2, 0), (0, 4)]
    assert {new for _, new in found} == set(SIZES)


def test_what_would_be_too_large_is_left_out():
    square = Sample((torch.ones(3, 3),), {})
    assert {new for _, new, _ in made(square)} == {0, 1, 33}


def test_indices_stay_in_bounds_and_do_not_become_more():
    sample = Sample((torch.arange(12.0).reshape(4, 3), torch.tensor([1, 0, 3])), {})
    grown = Resized(sample, 3, 33, 1).make()
    assert set(grown.tensors[1].tolist()) <= {0, 1, 3}
    assert (3, 33) not in {(old, new) for old, new, _ in made(sample, fixed=torch.int64)}


def test_values_are_drawn_from_those_that_were_there():
    grown = Resized(MATRICES, 3, 33, 1).make()
    assert set(grown.tensors[0].flatten().tolist()) <= set(range(6))
    assert torch.equal(grown.tensors[0], Resized(MATRICES, 3, 33, 1).make().tensors[0])


def test_what_grows_with_the_square_of_a_size_is_out_of_reach():
    lengths = Resized(Sample((torch.ones(2, 4, 3),), {}), 4, 65537, 1)
    assert lengths.is_within_reach(torch.exp)
    assert not lengths.is_within_reach(lambda x: x @ x.mT)


def test_one_argument_among_several_is_emptied():
    shapes = [[tuple(t.shape) for t in make().tensors] for make in emptied([MATRICES], None)]
    assert shapes == [[(0, 3), (3, 4)], [(2, 3), (0, 4)]]


X = torch.arange(6.0).reshape(2, 3)


def variants(*args, **kwargs):
    return [make() for make in changed([Sample(args, kwargs)], None, torch.float32, first=True)]


def test_numbers_and_flags_are_changed_one_at_a_time():
    kwargs = [one.kwargs for one in variants(X, dim=1, keepdim=False)]
    assert {"dim": 1, "keepdim": True} in kwargs
    assert {one["dim"] for one in kwargs if one.get("keepdim") is False} >= {0, -1}
    assert not any(one.get("dim") != 1 and one.get("keepdim") is True for one in kwargs if one.get("dim") is not None)


def test_a_float_becomes_zero_its_opposite_and_another():
    values = {one.kwargs["alpha"] for one in variants(X, X, alpha=0.5)}
    assert {0.0, -0.5} <= values
    assert len(values) > 2


def test_a_tensor_among_several_becomes_a_number():
    assert any(isinstance(one.args[1], (int, float)) for one in variants(X, X))


@pytest.mark.parametrize("count", [1, 2])
def test_tensors_without_dimensions_are_tried(count):
    assert any(all(t.dim() == 0 for t in one.tensors) and one.tensors for one in variants(*[X] * count))
