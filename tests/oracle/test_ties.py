"""Any index of values that tie is right; no other is."""

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.oracle import ties

VALUES = torch.tensor([[3.0, 1.0, 3.0, 2.0, 1.0], [0.0, -0.0, float("nan"), float("nan"), 5.0]])


def sort(values, *args, kind="dim", **kwargs):
    sample = Sample((values, *args), kwargs)
    want = torch.sort(values, *args, **kwargs).indices
    return lambda got: ties.judge(kind, sample, got, want)


def test_another_order_of_ties_is_right():
    judge = sort(VALUES)
    assert judge(torch.tensor([[1, 4, 3, 0, 2], [0, 1, 4, 2, 3]])).passed
    assert judge(torch.tensor([[4, 1, 3, 2, 0], [1, 0, 4, 3, 2]])).passed


@pytest.mark.parametrize(
    ("row", "count"),
    [([4, 1, 0, 3, 2], 2), ([4, 4, 3, 2, 0], 5), ([4, 1, 3, 2, 5], 1), ([4, 1, 3, 2, -1], 1), ([0, 0, 0, 0, 0], 5)],
)
def test_what_does_not_tie_twice_or_lies_outside_is_wrong(row, count):
    found = sort(VALUES)(torch.tensor([row, [1, 0, 4, 3, 2]]))
    assert not found.passed
    assert found.error == count
    assert found.message


def test_a_number_does_not_tie_with_nan():
    assert not sort(VALUES)(torch.tensor([[4, 1, 3, 2, 0], [2, 0, 4, 3, 1]])).passed


def test_a_stable_sort_leaves_nothing_open():
    judge = sort(VALUES, stable=True)
    assert judge(torch.tensor([[1, 4, 3, 0, 2], [0, 1, 4, 2, 3]])).passed
    assert not judge(torch.tensor([[4, 1, 3, 0, 2], [0, 1, 4, 2, 3]])).passed


def test_the_dimension_of_the_call_is_taken():
    values = torch.tensor([[1, 2], [1, 1]])
    assert sort(values, 0)(torch.tensor([[1, 1], [0, 0]])).passed
    assert sort(values, dim=0)(torch.tensor([[1, 1], [0, 0]])).passed
    assert not sort(values, 1)(torch.tensor([[1, 0], [0, 1]])).passed


def test_the_dimension_after_k():
    values = torch.tensor([[1, 7], [1, 7], [0, 9]])
    want = values.topk(2, 0).indices
    judge = lambda got: ties.judge("k-dim", Sample((values, 2, 0), {}), got, want)  # noqa: E731
    assert judge(torch.tensor([[1, 2], [0, 1]])).passed
    assert not judge(torch.tensor([[1, 2], [2, 1]])).passed
    assert not judge(torch.tensor([[1, 2], [1, 1]])).passed


def test_indices_without_their_dimension():
    values = torch.tensor([[3, 3, 1], [1, 2, 2]])
    want = values.max(1).indices
    assert ties.along(torch.tensor([1, 2]), want, values, 1).passed
    assert not ties.along(torch.tensor([2, 2]), want, values, 1).passed


def test_indices_into_planes_may_stand_twice():
    values = torch.tensor([[[1.0, 5.0, 5.0], [0.0, 2.0, 5.0]]])
    want = torch.tensor([[[1, 1]]])
    judge = lambda got: ties.judge("plane-2", Sample((values,), {}), got, want)  # noqa: E731
    assert judge(torch.tensor([[[2, 2]]])).passed
    assert judge(torch.tensor([[[2, 5]]])).passed
    assert not judge(torch.tensor([[[1, 4]]])).passed


def test_a_scalar_has_one_index():
    want = torch.tensor(0)
    assert ties.along(torch.tensor(0), want, torch.tensor(3.0), 0).passed
    assert not ties.along(torch.tensor(1), want, torch.tensor(3.0), 0).passed


@pytest.mark.parametrize(
    ("kind", "index", "results", "expected"),
    [("alone", 0, 1, True), ("dim", 0, 2, False), ("dim", 1, 2, True), ("dim", 0, 1, False), ("plane-2", 1, 2, True)],
)
def test_which_output_holds_indices(kind, index, results, expected):
    assert ties.applies(kind, index, results) is expected
