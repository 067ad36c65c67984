"""Which case of an operator tells how it is served, and what is asked of one that draws."""

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import Forward, Run
from conformance.device.profile import Profile
from conformance.report import _next
from conformance.results import Row
from conformance.spec.select import Selection
from conformance.spec.suite import load_suite


@pytest.fixture(scope="module")
def context():
    return Context(torch.device("cpu"), Profile("cpu", "cpu"), load_suite(), 0)


def runs(context, operator):
    return [case.run.__self__ for case in Forward().cases(context, operator, "float32")]


@pytest.mark.parametrize("operator", ["signal.windows.exponential", "zeros", "exp", "cat", "sum"])
def test_one_case_observes_and_its_call_has_something_to_compute(context, operator):
    (observing,) = [run for run in runs(context, operator) if run.observes]
    assert sum(output.numel() for output in observing.trial.host if isinstance(output, torch.Tensor)) > 1


def test_a_draw_that_writes_to_its_argument_is_wrong(context, monkeypatch):
    (run, *_) = runs(context, "normal")
    assert run.judgement().outcome == "pass"

    def writes(run, sent):
        result = run.trial.function(*sent.args, **sent.kwargs)
        sent.args[0].fill_(7)
        return result

    monkeypatch.setattr(Run, "_call", writes)
    found = run.judgement()
    assert (found.outcome, found.message) == ("wrong", "the call wrote to its tensor argument 0")


def test_what_comes_next_is_the_kernel_that_most_groups_miss(tmp_path):
    def row(operator, fell_back):
        case = f"operators.forward/{operator}/float32/sample-0000/plain/function"
        return Row(
            case, "operators.forward", operator, None, "float32", "plain", "function", "pass", "fallback",
            0.0, 0.0, "exact", 0.0, "", kernels=("aten::empty.memory_format",), fell_back=(fell_back,),
        )  # fmt: skip

    rows = [row("tan", "aten::tan.out"), row("sinh", "aten::sinh.out"), row("special.sinh", "aten::sinh.out")]
    selection = Selection((), ("bring-up",), (), narrowed=False)
    said = _next(rows, (), "pass", selection, tmp_path)
    assert said == "give aten::sinh.out a native kernel: 2 groups are served by its fallback"
