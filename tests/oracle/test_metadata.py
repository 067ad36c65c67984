"""What differs besides values is told; strides are judged of views alone."""

import pytest
import torch

from conformance.oracle.metadata import _on, mismatch, view_mismatch

CPU = torch.device("cpu")
META = torch.device("meta")
BASE = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("got", "host", "message"),
    [
        ([BASE.double()], [BASE], "dtype float64 where float32 is due"),
        ([BASE.reshape(4, 3)], [BASE], "shape [4, 3] where [3, 4] is due"),
        ([BASE.sum()], [BASE.sum()[None]], "shape [] where [1] is due"),
        ([BASE.to("meta")], [BASE], "device meta where cpu is due"),
        ([BASE, BASE], [BASE], "2 outputs where 1 are due"),
        ([3], [BASE], "int where a tensor is due"),
        ([BASE], [3], "Tensor where int is due"),
        ([3.0], [3], "float where int is due"),
        ([True], [1], "bool where int is due"),
        ([None], [1], "NoneType where int is due"),
        ([BASE, BASE.int()], [BASE, BASE], "output 1: dtype int32 where float32 is due"),
    ],
)
def test_a_difference_is_told(got, host, message):
    assert mismatch(got, host, CPU, len(host)) == message


@pytest.mark.parametrize(
    ("got", "host"),
    [
        ([BASE + 1], [BASE]),
        ([BASE.t().contiguous().t()], [BASE]),
        ([torch.Size([1, 2])], [torch.Size([1, 2])]),
        ([2, "x", None], [1, "y", None]),
        ([], []),
    ],
)
def test_values_and_strides_are_no_difference(got, host):
    assert mismatch(got, host, CPU, len(host)) is None


def test_an_argument_may_be_where_it_is():
    assert mismatch([BASE.to("meta"), BASE], [BASE, BASE], META, 1) is None
    assert mismatch([BASE, BASE], [BASE, BASE], META, 1) == "output 0: device cpu where meta is due"


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [("cuda:0", "cuda", True), ("cuda:1", "cuda:1", True), ("cuda:1", "cuda:0", False), ("cpu", "cuda", False)],
)
def test_a_device_without_a_number_is_any_of_its_type(found, wanted, same):
    assert _on(torch.device(found), torch.device(wanted)) is same


def test_a_view_is_a_view():
    assert view_mismatch([BASE.t()], [BASE], [BASE.t()], [BASE]) is None
    copy = BASE.clone()
    assert view_mismatch([copy.t()], [copy], [BASE.t()], [BASE]) is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (BASE.t().clone(), "a copy where a view is due"),
        (BASE.as_strided((4, 3), (3, 1)), "a view with strides [3, 1] and offset 0 where [1, 4] and 0 are due"),
        (BASE.as_strided((4, 3), (1, 3), 1), "a view with strides [1, 3] and offset 1 where [1, 4] and 0 are due"),
    ],
)
def test_a_copy_or_another_view_is_told(found, message):
    assert view_mismatch([found], [BASE], [BASE.t()], [BASE]) == message


def test_what_the_host_copies_may_be_a_copy():
    assert view_mismatch([BASE.t().clone()], [BASE], [BASE.t().clone()], [BASE]) is None


def test_empty_views_are_not_asked():
    assert view_mismatch([torch.empty(0, 4)], [BASE], [BASE[:0]], [BASE]) is None
