"""What torch's catalogue lacks: samples that the host answers, and steps that equal the optimizers of torch."""

import warnings

import pytest
import torch

from conformance.inputs import catalogue
from conformance.inputs.errors import error_samples
from conformance.inputs.samples import opinfo_samples
from conformance.inputs.transport import clone
from conformance.oracle.reference import promote

NAMES = sorted(set(catalogue.entries()) - set(catalogue.described()))


@pytest.mark.parametrize("name", NAMES)
def test_the_host_answers_every_sample(name):
    function = catalogue.function_of(name)
    for dtype in catalogue.planned_dtypes(name, ("float32", "int64"))[:1]:
        samples = opinfo_samples(name, dtype, 0)
        assert samples
        for sample in samples:
            fresh = clone(sample)
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                function(*fresh.args, **fresh.kwargs)


def test_nothing_is_added_twice_or_that_torch_has():
    from conformance.inputs.additions import additions  # after the catalogue, whose import warns

    names = [info.full_name for info in additions()]
    assert len(names) == len(set(names))
    assert not set(names) & set(catalogue.described())


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "adagrad"])
def test_the_textbook_step_is_that_of_the_host_in_float64(name):
    """The kernel and the formula, both in float64: they differ by the rounding of the last places alone."""
    function = catalogue.function_of(f"_fused_{name}_")
    stepped = 0
    for sample in opinfo_samples(f"_fused_{name}_", "float64", 0):
        kernel, formula = clone(sample), promote(sample)
        function(*kernel.args, **kernel.kwargs)
        function.functional(*formula.args, **formula.kwargs)
        for left, right, before in zip(kernel.tensors, formula.tensors, sample.tensors, strict=True):
            torch.testing.assert_close(left.double(), right, rtol=1e-12, atol=1e-12)
            stepped += not torch.equal(left, before)
    assert stepped


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "adagrad"])
def test_an_overflow_that_was_found_stops_the_step(name):
    function = catalogue.function_of(f"_fused_{name}_")
    found = [s for s in opinfo_samples(f"_fused_{name}_", "float32", 0) if s.kwargs.get("found_inf") == 1]
    assert found
    for sample in found:
        after = clone(sample)
        function.functional(*after.args, **after.kwargs)
        assert all(torch.equal(a, b) for a, b in zip(after.tensors, sample.tensors, strict=True))


@pytest.mark.parametrize("name", ["nn.functional.conv_transpose1d", "nn.functional.conv_transpose3d", "gather", "cat"])
def test_error_samples_are_refused_by_the_host(name):
    samples = error_samples(name)
    assert samples
    for sample in samples:
        fresh = clone(sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)):
                catalogue.function_of(name)(*fresh.args, **fresh.kwargs)
