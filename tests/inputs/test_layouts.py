"""Layouts keep the values and change the addresses; a journey keeps both."""

import pytest
import torch

from conformance.inputs.layouts import LAYOUTS, OFFSET, PLAIN, STRIDED, relaid_samples, relay
from conformance.inputs.samples import Sample
from conformance.inputs.transport import (
    CannotTravelError,
    clone,
    fetch,
    flat_storage,
    names_device,
    rebuild,
    send,
    sparse_parts,
)

CPU, META = torch.device("cpu"), torch.device("meta")
TENSORS = {
    "matrix": torch.arange(12.0).reshape(3, 4),
    "transposed": torch.arange(12.0).reshape(3, 4).t(),
    "half": torch.arange(6).to(torch.bfloat16).reshape(1, 2, 3),
    "integers": torch.arange(5),
    "booleans": torch.tensor([True, False, True]),
    "complex": torch.arange(4).to(torch.complex64) * (1 + 1j),
    "scalar": torch.tensor(3.5),
    "expanded": torch.arange(3.0)[:, None].expand(3, 4),
    "ones": torch.zeros(1, 1, 3),
    "slice": torch.arange(20.0).reshape(4, 5)[1:, ::2],
}
named = pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)


@named
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_are_kept(tensor, layout):
    laid = relay(Sample((tensor, [tensor], 2), {"other": tensor}), layout)
    assert laid.args[2] == 2
    for found in laid.tensors:
        assert torch.equal(found, tensor)
        assert found.dtype == tensor.dtype
        assert (found is tensor) == (layout == PLAIN)


@named
def test_offset_keeps_the_strides_behind_an_odd_offset(tensor):
    found = relay(Sample((tensor,), {}), OFFSET).args[0]
    assert found.storage_offset() == 3
    assert found.stride() == tensor.stride()
    assert junk_around(found)


@named
def test_strided_is_column_major_at_every_second_address(tensor):
    found = relay(Sample((tensor,), {}), STRIDED).args[0]
    assert found.storage_offset() == 3
    step = 2
    for size, stride in zip(found.shape, found.stride(), strict=True):
        assert stride == step
        step *= size
    assert junk_around(found)


def junk_around(tensor):
    """Whether the storage shows NaN, or 1 where there is none, at every address that is not an element's."""
    flat = flat_storage(tensor).clone()
    mark = torch.zeros(flat.shape, dtype=torch.bool)
    mark.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)
    gaps = flat[~mark]
    wanted = gaps.isnan() if tensor.is_floating_point() or tensor.is_complex() else gaps == 1
    return gaps.numel() >= 8 and bool(wanted.all())


def test_what_is_empty_stays():
    empty = torch.empty(0, 3)
    assert relay(Sample((empty,), {}), STRIDED).args[0] is empty


def test_the_first_and_the_first_of_more_dimensions_are_laid_anew():
    def of(*shapes):
        return [Sample((torch.zeros(shape),), {}) for shape in shapes]

    assert relaid_samples(of((), (1,), (2,), (3,), (2, 2), (2, 2, 2))) == [2, 4]
    assert relaid_samples(of((2, 2), (3,), (4,))) == [0, 1]
    assert relaid_samples(of((2,), (300,), (2, 2)), largest=100) == [0, 2]
    assert relaid_samples(of((), (0,))) == []
    sparse = Sample((torch.eye(3).to_sparse(),), {})
    assert relaid_samples([sparse, *of((2,))]) == [1]


# --- the journey


def bits(tensor):
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


@named
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("travel", [clone, lambda s: send(s, CPU)], ids=["clone", "send"])
def test_a_journey_keeps_values_addresses_and_gaps(tensor, layout, travel):
    laid = relay(Sample((tensor,), {}), layout)
    before, found = laid.args[0], travel(laid).args[0]
    assert torch.equal(found, before)
    assert (found.stride(), found.storage_offset()) == (before.stride(), before.storage_offset())
    assert found.untyped_storage().nbytes() == before.untyped_storage().nbytes()
    torch.testing.assert_close(flat_storage(found), flat_storage(before), rtol=0, atol=0, equal_nan=True)
    assert found.untyped_storage().data_ptr() != before.untyped_storage().data_ptr()


def test_addresses_survive_on_a_device_without_memory():
    base = TENSORS["slice"]
    found = send(Sample((base,), {}), META).args[0]
    assert found.device == META
    assert (found.shape, found.stride(), found.storage_offset()) == (base.shape, base.stride(), base.storage_offset())


def test_arguments_that_share_memory_still_do():
    base = torch.arange(6.0)
    found = clone(Sample((base[1:], base[:3], base.clone()), {}))
    assert found.args[0]._base is found.args[1]._base or (
        found.args[0].untyped_storage().data_ptr() == found.args[1].untyped_storage().data_ptr()
    )
    assert found.args[2].untyped_storage().data_ptr() != found.args[0].untyped_storage().data_ptr()
    found.args[0][0] = 9
    assert found.args[1][1] == 9
    assert base[1] == 1


def test_conjugate_and_negative_bits_survive():
    z = torch.tensor([1 + 2j, 3 - 4j])
    for tensor in (z.conj(), z.conj().imag, torch._neg_view(z.real)):
        found = clone(Sample((tensor,), {})).args[0]
        assert torch.equal(found, tensor)
        assert (found.is_conj(), found.is_neg()) == (tensor.is_conj(), tensor.is_neg())


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc], ids=str)
def test_sparse_tensors_travel_by_their_parts(layout):
    tensor = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(layout=layout)
    found = clone(Sample((tensor,), {})).args[0]
    assert found.layout is layout
    assert torch.equal(found.to_dense(), tensor.to_dense())
    before = {part.data_ptr() for part in sparse_parts(tensor)}
    assert before.isdisjoint(part.data_ptr() for part in sparse_parts(found))


def test_an_unknown_layout_cannot_travel():
    with pytest.raises(CannotTravelError):
        sparse_parts(torch.zeros(2))


def test_only_what_says_so_stays():
    sample = Sample((torch.zeros(2), torch.ones(2)), {"device": CPU, "where": "cpu", "n": 3})
    found = send(sample, META, staying=(1,))
    assert [t.device.type for t in found.tensors] == ["meta", "cpu"]
    assert found.args[1] is not sample.args[1]
    assert found.kwargs == {"device": META, "where": "meta", "n": 3}


def test_whether_a_call_names_the_device():
    assert names_device(Sample((torch.zeros(1, device="meta"),), {}), META)
    assert names_device(Sample((3,), {"device": META}), META)
    assert names_device(Sample((3,), {"device": "meta"}), META)
    assert not names_device(Sample((3, torch.zeros(1)), {}), META)


def test_leaves_are_changed_where_no_tensor_is():
    found = rebuild(Sample((torch.zeros(2), 1), {"a": 2}), torch.ones_like, lambda leaf: leaf + 1)
    assert torch.equal(found.args[0], torch.ones(2))
    assert (found.args[1], found.kwargs) == (2, {"a": 3})


def test_what_is_on_the_host_is_fetched_as_it_is():
    view = torch.arange(6.0)[1::2]
    found = fetch([view, 3, (view,)])
    assert found[0].untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
    assert (found[0].stride(), found[0].storage_offset(), found[1]) == ((2,), 1, 3)
    assert isinstance(found[2], tuple)
