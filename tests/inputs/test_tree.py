"""Trees keep the kinds of their containers and the order of their leaves."""

import collections

import pytest
import torch

from conformance.inputs.tree import is_size, leaves, tensors, tree_map

Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024


@pytest.mark.parametrize(
    "tree",
    [1, [1, 2], (1, (2,)), {"a": 1, "b": [2]}, Pair(1, (2, 3)), [], (), {}, [Pair(1, {"x": 2}), (None, [3])]],
    ids=str,
)
def test_kinds_are_kept(tree):
    found = tree_map(lambda leaf: leaf, tree)
    assert found == tree
    assert repr(found) == repr(tree)


def test_leaves_are_changed_in_order():
    tree = {"a": [1, (2, Pair(3, 4))], "b": 5}
    assert tree_map(lambda leaf: leaf * 10, tree) == {"a": [10, (20, Pair(30, 40))], "b": 50}
    assert list(leaves(tree)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("made", [lambda x: x.max(0), lambda x: x.sort(0), torch.linalg.slogdet, torch.linalg.qr])
def test_return_types_are_kept(made):
    result = made(torch.eye(3))
    found = tree_map(lambda t: t + 1, result)
    assert type(found) is type(result)
    assert all(torch.equal(a, b + 1) for a, b in zip(found, result, strict=True))


def test_a_size_is_one_leaf():
    size = torch.Size([2, 3])
    assert is_size(size)
    assert not is_size((2, 3))
    assert list(leaves([size, 1])) == [size, 1]
    assert tree_map(type, [size]) == [torch.Size]


def test_tensors_are_found_wherever_they_are():
    a, b, c = torch.zeros(1), torch.zeros(2), torch.zeros(3)
    found = tensors(((a, 1), {"x": [b], "y": Pair(None, c)}))
    assert [t.numel() for t in found] == [1, 2, 3]
