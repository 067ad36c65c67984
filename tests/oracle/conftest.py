"""The check on operators with a device that is the CPU, and a place to put a fault into its calls."""

import functools
import itertools

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import Forward, Run
from conformance.device.profile import Profile
from conformance.inputs import catalogue, samples
from conformance.oracle.trial import Trial
from conformance.spec.suite import load_suite

#: Of the planned ones: the first samples, in all their layouts.
MOST_CASES = 12


@pytest.fixture(scope="module")
def context():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "_draw", functools.cache(samples._draw.__wrapped__))  # drawing takes most of the time
        yield Context(torch.device("cpu"), Profile("cpu", "cpu"), load_suite(), 0)


@pytest.fixture
def device(monkeypatch):
    """Put a fault into what the device is called with: `fault(function, *args, **kwargs)` makes the result."""
    monkeypatch.setattr(Run, "_observe", lambda run: None)  # how it is served is no matter here, and costs a profile

    def install(fault):
        monkeypatch.setattr(Run, "_call", lambda run, sent: fault(run.trial.function, *sent.args, **sent.kwargs))

    return install


@pytest.fixture
def judged(context):
    """The layout and judgement of the first planned cases, or of the one sample in every layout."""

    def judge(operator, dtype, sample=None):
        if sample is None:
            cases = itertools.islice(Forward().cases(context, operator, dtype), MOST_CASES)
            return [(case.layout, case.run()) for case in cases]
        spec = context.suite.operators[operator]
        trial = Trial(catalogue.function_of(operator), sample, dtype, spec.oracle_for(dtype))
        return [
            (layout, Run(context, spec, dtype, trial, 0, layout, observes=False).judgement()) for layout in spec.layouts
        ]

    return judge
