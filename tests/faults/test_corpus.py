"""Every injected fault is wrong under its trigger, right away from it, and well described."""

import re

import pytest
import torch

from conformance.faults import REGISTRY
from conformance.faults.contrast import VALUES, Call, contrast
from conformance.faults.mutant import as_it_is, lift, mutant
from conformance.faults.overloads import full_name, resolve

EVERY = pytest.mark.parametrize("fault", REGISTRY.values(), ids=REGISTRY)

#: For which the report leaves no input that is safe.
UNCONTROLLED = {"addmm.out-zero", "dot.elementwise", "rng.seed-ignored", "solve_triangular.row-major"}


def test_the_corpus_is_whole():
    assert len(REGISTRY) == 85
    assert len({source for fault in REGISTRY.values() for source in fault.source.split(", ")}) == 122


@EVERY
def test_the_witness_differs(fault):
    outcome = fault.witness()
    assert outcome.ok, outcome
    assert full_name(resolve(outcome.where)) == outcome.where


@EVERY
def test_the_control_agrees(fault):
    outcome = fault.control()
    assert outcome.ok, outcome
    assert bool(fault.controls) == (fault.id not in UNCONTROLLED)


@EVERY
def test_the_overloads_are_those_of_the_installed_torch(fault):
    assert fault.ops
    assert len(set(fault.ops)) == len(fault.ops)
    for op in fault.ops:
        assert full_name(resolve(op)) == op
        assert callable(fault.make(op))
        assert callable(fault.make(resolve(op)))


@EVERY
def test_the_description_is_well_formed(fault):
    assert REGISTRY[fault.id] is fault
    assert re.fullmatch(r"[a-z0-9_]+\.[a-z0-9-]+", fault.id)
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source) for source in fault.source.split(", "))
    assert re.fullmatch(r"[a-z0-9-]+", fault.kind)
    assert fault.description.endswith(".")
    assert "  " not in fault.description
    assert all(re.fullmatch(r"[a-z0-9-]+", trigger) for trigger in fault.triggers)
    assert fault.fidelity in ("exact", "modelled")


def test_two_faults_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"two faults are called dot\.elementwise"):
        mutant("dot.elementwise", "a/b#1", "nan", "dot", "Again.")(torch.dot)


def _doubled(healthy, self, *args, **options):
    return healthy(self, *args, **options) * 2


def test_a_fault_of_the_functional_operator_is_one_of_its_variants():
    x = torch.tensor([1.0, 4.0])
    due = torch.tensor([2.0, 4.0])
    make = lift(_doubled)
    assert torch.equal(make("sqrt")(torch.sqrt, x), due)

    out = torch.zeros(3, 2).T[:, 1]
    assert make("sqrt.out")(torch.ops.aten.sqrt.out, x, out=out) is out
    assert torch.equal(out, due)

    target = torch.stack([x, x], 1)[:, 0]
    assert make("sqrt_")(torch.ops.aten.sqrt_.default, target) is target
    assert torch.equal(target, due)


def test_out_is_resized_as_the_healthy_operator_would():
    out = torch.empty(0)
    lift(_doubled)("sqrt.out")(torch.ops.aten.sqrt.out, torch.ones(2, 2), out=out)
    assert torch.equal(out, torch.full((2, 2), 2.0))


def test_the_state_is_that_of_one_faulty_kernel():
    def counted(state, healthy, self):
        state["calls"] = state.get("calls", 0) + 1
        return healthy(self) + state["calls"]

    for make in (lift(counted, stateful=True), as_it_is(counted, stateful=True)):
        first, second = make("neg"), make("neg")
        zero = torch.zeros(1)
        assert [first(torch.neg, zero).item(), first(torch.neg, zero).item(), second(torch.neg, zero).item()] == [
            1,
            2,
            1,
        ]


def _raise(*_args):
    raise ValueError("no")


@pytest.mark.parametrize(
    ("fault", "calls", "found"),
    [
        (lambda healthy, self: healthy(self), [Call("neg", torch.ones(2))], None),
        (_raise, [Call("neg", torch.ones(2))], "spurious ValueError: no"),
        (lambda _, x, y: x, [Call("mm", torch.ones(2), torch.ones(2))], "no error, expected RuntimeError"),
        (_raise, [Call("mm", torch.ones(2)[0], torch.ones(2))] * 2, None),
        (lambda healthy, self: healthy(self)[:1], [Call("neg", torch.ones(2))], r"shape \(1,\), not \(2,\)"),
        (lambda healthy, self: healthy(self).double(), [Call("neg", torch.ones(2))], "dtype torch.float64, not"),
        (lambda healthy, self: healthy(self) + 1, [Call("neg", torch.ones(2))], "2/2 values, e.g. 0.0 not -1.0"),
        (lambda healthy, self: self.add_(1).sub(2).neg(), [Call("neg", torch.ones(2))], "2/2 values"),
        (lambda healthy, self: healthy(self.add_(1)) + 1, [Call("neg", torch.ones(2))], "argument memory: 2/2"),
        (lambda healthy, *args: (healthy(*args)[0],), [Call("sort", torch.ones(2))], "2 results, not 1"),
        (lambda healthy, *args: 3, [Call("neg", torch.ones(2))], "tensor against non-tensor"),
        (lambda healthy, *args: healthy(*args) + 1, [Call("numel", torch.ones(2))], "3, not 2"),
    ],
)
def test_what_a_contrast_tells(fault, calls, found):
    told = contrast(as_it_is(fault), calls, VALUES)
    assert told is None if found is None else told is not None and re.match(found, told), told


def test_a_contrast_leaves_arguments_and_the_generator_alone():
    x = torch.zeros(3)
    state = torch.random.get_rng_state()
    assert contrast(as_it_is(lambda healthy, *args: healthy(*args)), [Call("normal_", x)], VALUES) is None
    assert not x.any()
    assert torch.equal(torch.random.get_rng_state(), state)
