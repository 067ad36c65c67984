"""What a model calls: the host's way, by stand-ins, and compiled."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from conformance.needs import passes
from conformance.needs.calls import Book
from conformance.needs.passes import NotTracedError, listen, listen_compiled
from conformance.needs.stand_in import Listener, StandIn

CPU = torch.device("cpu")
#: A device that every torch has, that is not the host, and whose autograd needs no thread of its own.
ELSEWHERE = torch.device("meta")


def called(book, phase):
    counts = Counter()
    for key, number in book.counts.get(phase, {}).items():
        counts[book.seen[key].overload] += number
    return counts


def test_a_model_calls_what_it_calls(target, book):
    listen(target("mlp"), CPU, book)
    forward, backward = called(book, "forward"), called(book, "backward")
    assert (forward["aten::addmm"], forward["aten::relu"], forward["aten::mm"]) == (2, 1, 0)
    assert (backward["aten::mm"], backward["aten::threshold_backward"], backward["aten::addmm"]) == (3, 1, 0)


def test_what_builds_and_moves_a_model_is_not_among_its_calls(target, book):
    listen(target("mlp"), ELSEWHERE, book)
    everything = called(book, "forward") + called(book, "backward")
    assert not {"aten::uniform_", "aten::_to_copy", "aten::randn"} & set(everything)


def test_stand_ins_have_the_values_of_the_host(target):
    module, (x,) = passes.build(target("mlp")).module, passes.build(target("mlp")).args
    due = module(x)
    due.sum().backward()
    gradient = module[0].weight.grad.clone()
    module.zero_grad()
    with Listener(ELSEWHERE, Book(None)):
        there = module.to(ELSEWHERE)(x.to(ELSEWHERE))
        assert isinstance(there, StandIn)
        assert there.device == ELSEWHERE
        there.sum().backward()
        assert there[0, 0].item() == due[0, 0].item()
    assert torch.equal(there.on_host, due)
    assert torch.equal(module[0].weight.grad.on_host, gradient)


def test_stand_ins_keep_views_writes_and_factories():
    with Listener(ELSEWHERE, Book(None)):
        x = torch.zeros(3, 4).to(ELSEWHERE)
        x[:, 1:3].add_(torch.ones(2, device=ELSEWHERE))
        x.unsqueeze_(0)
        assert x.shape == (1, 3, 4)
        assert x.sum().item() == 6
        assert type(x.cpu()) is torch.Tensor


def test_a_device_is_asked_for_other_overloads_than_the_host(target, tmp_path):
    host, device = Book(None), Book(None)
    listen(target("block"), CPU, host)
    listen(target("block"), ELSEWHERE, device)
    fused = "aten::_scaled_dot_product_flash_attention_for_cpu"
    assert called(host, "forward")[fused] == 1
    assert fused not in called(device, "forward")
    assert called(device, "forward")["aten::native_layer_norm"] == 1


def test_what_the_host_does_for_itself_is_not_asked_of_the_device():
    book = Book(None)
    with Listener(ELSEWHERE, book) as listener:
        listener.phase = "forward"
        torch.ones(3).exp()
    assert book.seen == {}


def test_values_decide_the_way_through_a_model(target, book):
    listen(target("branching"), ELSEWHERE, book)
    forward = called(book, "forward")
    assert forward["aten::_local_scalar_dense"] == 1
    assert forward["aten::exp"] + forward["aten::sin"] == 1


def test_a_model_that_cannot_be_followed_is_said(target):
    with pytest.raises(NotTracedError, match="RuntimeError: mat1 and mat2"):
        listen(target("raising"), CPU, Book(None))


def test_an_overload_that_the_host_lacks_is_named():
    listener = Listener(ELSEWHERE, Book(None))
    gates = torch.ones(1, 8)
    with pytest.raises(NotImplementedError), listener:
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, torch.ones(1, 2))
    assert listener.stuck == "aten::_thnn_fused_lstm_cell"


def test_compiled_is_what_autograd_hands_a_backend(target, book):
    graphs = listen_compiled(target("mlp"), CPU, book)
    assert (graphs.count, graphs.breaks) == (1, ())
    compiled = called(book, "compiled")
    assert (compiled["aten::addmm"], compiled["aten::mm"], compiled["aten::threshold_backward"]) == (2, 3, 1)
    assert set(book.counts) == {"compiled"}


def test_a_break_is_named_with_its_line(target, book):
    graphs = listen_compiled(target("branching"), CPU, book)
    assert graphs.count == 2
    assert any("return y.exp() if y.sum() > 0 else y.sin()" in reason for reason in graphs.breaks)


def test_what_is_not_compiled_at_all_is_said(target, book, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda module, **_: module)
    with pytest.raises(NotTracedError, match="made no graph"):
        listen_compiled(target("mlp"), CPU, book)
