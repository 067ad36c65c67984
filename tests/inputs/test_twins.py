"""Twins are found by the schemas and called with what the operator was called with."""

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.inputs.twins import record, twins

X = torch.arange(6.0).reshape(2, 3)


def found(function, *args, **kwargs):
    """By name, the twins of everything that the function calls."""
    return {
        str(twin.written): (twin, sample)
        for recorded in record(function, Sample(args, kwargs))
        for twin, sample in twins(recorded)
    }


def test_out_in_place_and_copies_of_views():
    assert {"aten.exp.out", "aten.exp_.default"} <= set(found(torch.exp, X))
    assert {"aten.select_copy.int", "aten.select_copy.int_out"} <= set(found(torch.select, X, 0, 1))
    assert "aten.tanh_backward.grad_input" in found(torch.tanh, X)
    assert "aten.zeros.out" in found(torch.zeros, 3)


def test_other_arguments_make_no_twin():
    names = set(found(torch.add, X, 2))
    assert "aten.add_.Tensor" in names or "aten.add_.Scalar" in names
    assert not {"aten.add_.Tensor", "aten.add_.Scalar"} <= names


def test_what_changes_the_tensor_itself_is_no_twin():
    assert not {"aten.t_.default", "aten.transpose_.default"} & set(found(torch.transpose, X, 0, 1))


def test_what_draws_has_no_twin():
    assert not [name for name in found(torch.bernoulli, X / 6) if "bernoulli" in name]


@pytest.mark.parametrize(("function", "args"), [
    (torch.exp, (X,)), (torch.sort, (X,)), (torch.split_copy, (X, 1)), (torch.tanh, (X,)),
    (torch.nn.functional.max_pool1d, (X, 2)),
])  # fmt: skip
def test_a_twin_and_the_overload_that_is_known_give_the_same(function, args):
    twice = found(function, *args)
    assert twice
    for twin, sample in twice.values():
        results = []
        for call in (twin, twin.functional):
            copies = Sample(*_cloned(sample))
            results.append((call(*copies.args, **copies.kwargs), copies.tensors))
        (a, left), (b, right) = results
        assert (a is None) is (b is None)
        assert all(torch.equal(one, other) for one, other in zip(left, right, strict=True)), twin.written


def _cloned(sample):
    def copy(value):
        if isinstance(value, list):
            return [copy(one) for one in value]
        return value.clone() if isinstance(value, torch.Tensor) else value

    return tuple(map(copy, sample.args)), {key: copy(value) for key, value in sample.kwargs.items()}


def test_an_out_holds_what_nothing_returns_by_chance():
    _, sample = found(torch.exp, X)["aten.exp.out"]
    assert sample.kwargs["out"].isnan().all()


def test_the_call_with_the_most_to_do_is_kept():
    def both(x):
        return torch.exp(x[:1, :1]) + torch.exp(x).sum()

    (recorded,) = [one for one in record(both, Sample((X,), {})) if one.overload is torch.ops.aten.exp.default]
    assert recorded.arguments["self"].shape == X.shape


def test_a_call_that_raises_keeps_what_came_before():
    def fails(x):
        return torch.exp(x) @ x

    assert next(one.overload for one in record(fails, Sample((X,), {}))) is torch.ops.aten.exp.default
