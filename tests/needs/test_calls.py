"""Calls are told apart by all but their values, counted, and kept as they were before they were made."""

from __future__ import annotations

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.needs import calls
from conformance.needs.calls import Book, Call, function_of, key_of, load, name_of, text_of


def call(overload, *args, staying=(), to_host=False, **kwargs):
    return Call(overload, Sample(args, kwargs), frozenset(staying), to_host)


def test_values_do_not_tell_calls_apart_and_everything_else_does():
    x = torch.ones(2, 3)
    first = call("aten::add.Tensor", x, x)
    assert key_of(first) == key_of(call("aten::add.Tensor", x * 2, x * 3))
    others = [
        call("aten::add.Tensor", x, x, alpha=2),
        call("aten::sub.Tensor", x, x),
        call("aten::add.Tensor", x.double(), x),
        call("aten::add.Tensor", x.t(), x.t()),
        call("aten::add.Tensor", torch.ones(3, 2).t(), x),
        call("aten::add.Tensor", torch.ones(3, 3)[1:], x),
        call("aten::add.Tensor", x, x, staying=[1]),
        call("aten::add.Tensor", x, x, to_host=True),
    ]
    assert len({key_of(first), *map(key_of, others)}) == 1 + len(others)


def test_a_call_comes_back_as_it_was(book, tmp_path):
    base = torch.arange(12.0).reshape(3, 4)
    kept = call(
        "aten::clone", base.t()[1:], staying=[0], to_host=True, memory_format=torch.channels_last, dtype=torch.int64
    )
    book.note("forward", kept)
    base.zero_()  # what the call writes to its arguments comes after
    (key,) = book.seen
    found = load(tmp_path, key)
    (x,) = found.sample.args
    assert (found.overload, found.staying, found.to_host) == ("aten::clone", {0}, True)
    assert torch.equal(x, torch.arange(12.0).reshape(3, 4).t()[1:])
    assert (x.stride(), x.storage_offset()) == ((1, 4), 1)
    assert found.sample.kwargs == {"memory_format": torch.channels_last, "dtype": torch.int64}


def test_calls_are_counted_by_phase_and_kept_once(book, tmp_path):
    x = torch.ones(2)
    for phase in ("forward", "forward", "backward"):
        book.note(phase, call("aten::relu", x))
    (key,) = book.seen
    assert book.counts == {"forward": {key: 2}, "backward": {key: 1}}
    assert [file.name for file in tmp_path.iterdir()] == [f"{key}.pt"]
    assert book.seen[key].dtypes == ("float32",)


def test_what_is_too_large_is_counted_and_said(book, tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "MOST_BYTES_OF_CALL", 64)
    book.note("forward", call("aten::relu", torch.ones(17)))
    (seen,) = book.seen.values()
    assert "more than" in seen.unkept
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_fills_the_disk_is_stopped_and_it_is_said(book, monkeypatch):
    monkeypatch.setattr(calls, "MOST_BYTES", 100)
    book.note("forward", call("aten::relu", torch.ones(20)))
    book.note("forward", call("aten::relu", torch.ones(21)))
    assert [bool(seen.unkept) for seen in book.seen.values()] == [False, True]


def test_without_a_folder_calls_are_only_counted():
    book = Book(None)
    book.note("forward", call("aten::relu", torch.ones(2)))
    assert next(iter(book.seen.values())).unkept == "only counted"


@pytest.mark.parametrize("name", ["aten::relu", "aten::add.Tensor", "aten::sum.dim_IntList"])
def test_overloads_are_named_as_the_dispatcher_does(name):
    assert name_of(function_of(name)) == name


def test_arguments_in_words():
    assert text_of(Sample((torch.ones(2, 3), [0], None), {"dtype": torch.int64, "out": None})) == (
        "float32[2, 3], [0], None, dtype=int64"
    )
