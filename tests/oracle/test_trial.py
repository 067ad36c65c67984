"""The host's answer, the reference beside it, and the verdict over all outputs of a call."""

import math

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.oracle import judge as judging
from conformance.oracle.compare import Measure
from conformance.oracle.judge import Finding
from conformance.oracle.reference import evaluate, promote, wide_reference
from conformance.oracle.trial import HostError, Trial, same_bytes, spilled
from conformance.spec.operators import Oracle

X = torch.tensor([0.1, 0.7, 3.0])


def trial(function, *args, dtype="float32", oracle=Oracle("exact"), **kwargs):  # noqa: B008 - frozen
    return Trial(function, Sample(args, kwargs), dtype, oracle)


def test_the_reference_is_wide_on_the_rounded_inputs():
    x = torch.tensor([0.1]).bfloat16()
    assert trial(torch.exp, x, dtype="bfloat16").reference[0].item() == x.double().exp().item()
    assert trial(torch.exp, torch.tensor([1])).reference[0].dtype is torch.float64
    assert trial(torch.add, torch.tensor([1]), 2, dtype="int64").reference[0].dtype is torch.int64


def test_the_host_may_be_the_reference():
    found = trial(torch.exp, X, oracle=Oracle("exact", reference="host"))
    assert found.reference is found.host


def test_defaults_are_restored_and_dtype_arguments_widened():
    found = wide_reference(torch.zeros_like, Sample((X,), {"dtype": torch.float32}))
    assert found[0].dtype is torch.float64
    assert torch.get_default_dtype() is torch.float32
    assert promote(Sample((X,), {"dtype": torch.int32})).kwargs == {"dtype": torch.int32}


def test_the_sample_is_never_written_to():
    before = X.clone()
    found = trial(torch.Tensor.add_, X, 1)
    assert torch.equal(found.host[0], before + 1)
    assert found.changed == [True]
    assert found.reference[0].dtype is torch.float64
    assert torch.equal(X, before)


def test_a_host_that_raises_has_no_answer():
    with pytest.raises(HostError, match="RuntimeError"):
        _ = trial(torch.mm, X, X).host


def test_outputs_are_the_results_and_then_the_arguments():
    found = evaluate(torch.sort, Sample((X.flip(0),), {}))
    assert [v.tolist() for v in found] == [X.tolist(), [2, 1, 0], X.flip(0).tolist()]


def test_the_judge_takes_the_worst_output():
    found = trial(torch.sort, X)
    values, indices, argument = found.host
    assert judging.judge(found, [values, indices, argument], [True]).outcome == "pass"
    assert judging.judge(found, [values + 1, indices, argument], [True]).outcome == "wrong"
    assert judging.judge(found, [values, indices + 1, argument], [True]).outcome == "wrong"
    written = judging.judge(found, [values, indices, argument], [False])
    assert (written.outcome, written.measure.message) == ("wrong", "the call wrote to its tensor argument 0")


def test_an_argument_that_is_written_to_is_an_output():
    found = trial(torch.Tensor.neg_, X)
    assert judging.judge(found, [-X, -X], [False]).outcome == "pass"
    assert judging.judge(found, [-X, X], [True]).outcome == "wrong"


def test_wrong_comes_before_unjudged():
    wrong = judging.Finding(judging.Measure("exact", 1.0, 0.0))
    unknown = judging.Finding(judging.Measure("conditioned", 9.0, 0.0), "nobody knows")
    right = judging.Finding(judging.Measure("exact", 0.0, 0.0))
    assert judging._worst([unknown, wrong, right]).outcome == "wrong"
    assert judging._worst([unknown, right]).outcome == "unjudged"
    assert judging._worst([right]).outcome == "pass"
    assert judging._worst([]).outcome == "pass"


@pytest.mark.parametrize(
    ("judge", "outcome"), [("values", "wrong"), ("numbers", "pass"), ("metadata", "pass")]
)  # fmt: skip
def test_what_is_left_open_of_a_zero(judge, outcome):
    found = trial(torch.abs, torch.zeros(2), oracle=Oracle("exact", judge=judge))
    assert judging.judge(found, [-torch.zeros(2), torch.zeros(2)], [True]).outcome == outcome


@pytest.mark.parametrize(
    ("got", "host", "outcome"), [(1, 1, 0), (2, 1, 1), (float("nan"), float("nan"), 0), (0.5, 1.0, 1)]
)
def test_results_that_are_no_tensors_are_equal(got, host, outcome):
    assert judging._plain(got, host, host).error == outcome


HOST_OFF = Oracle("exact", host_off="it rounds twice")


@pytest.mark.parametrize(
    ("device", "host", "excused"),
    [(1.5, 1.0, True), (4.0, 1.0, True), (4.5, 1.0, False), (1.0, 0.0, False), (float("nan"), 1.0, False)],
)
def test_a_device_is_held_to_the_host_only_where_that_is_about_as_far_off(monkeypatch, device, host, excused):
    found = trial(torch.neg, X, oracle=HOST_OFF)
    off = {"device": device, "host": host}
    measures = {who: Measure("dot", error, 0.5) for who, error in off.items()}
    monkeypatch.setattr(judging, "judge", lambda *_: Finding(measures["host"]))
    beside = judging.beside_host(found, found.sample, [7 * X, X], Finding(measures["device"]))
    assert (beside is not None) == excused
    if excused:
        said = "the host misses the bound as well, 2 times: it rounds twice"
        assert beside == Finding(Measure("host", device / host, 4.0, said))
        assert beside.outcome == "pass"


@pytest.mark.parametrize("measure", [Measure("exact", 1.0, 0.0), Measure("dot", math.inf, 0.5)])
def test_where_no_distance_is_known_only_the_answer_of_the_host_will_do(monkeypatch, measure):
    found = trial(torch.neg, X, oracle=HOST_OFF)
    monkeypatch.setattr(judging, "judge", lambda *_: Finding(Measure(measure.rung, math.inf, 0.0)))
    assert judging.beside_host(found, found.sample, [-X, X], Finding(measure)) is not None
    assert judging.beside_host(found, found.sample, [777 + 0 * X, X], Finding(measure)) is None


def test_nothing_known_of_the_host_excuses_nothing():
    found = trial(torch.neg, X, oracle=Oracle("exact"))
    assert judging.beside_host(found, found.sample, [X, X], Finding(Measure("exact", 1.0, 0.5))) is None


def test_what_is_written_around_a_view_is_counted():
    before = torch.arange(6.0)
    after = before.clone()
    after[1:3] = 7
    assert spilled(after[1:3], before[1:3]) == 0
    after[0] = after[4] = 7
    assert spilled(after[1:3], before[1:3]) == 2


def test_bytes_are_compared_with_their_surroundings():
    base = torch.arange(6.0)
    other = base.clone()
    assert same_bytes(base[1:3], other[1:3])
    other[5] = 9
    assert not same_bytes(base[1:3], other[1:3])
    assert not same_bytes(base[1:3], base.clone()[1:5:2])
    assert not same_bytes(torch.zeros(2), -torch.zeros(2))
    assert same_bytes(torch.full((2,), float("nan")), torch.full((2,), float("nan")))
