"""Other implementations serve the device's side, are counted where they do, and their alarms are told and explained."""

import json
import time

import pytest
import torch

from conformance.checks.operators import Forward
from conformance.errors import UsageError
from conformance.run import planning
from conformance.selftest.implementations import alarms
from conformance.selftest.implementations.alarms import Job, expired, serve, spread
from conformance.selftest.implementations.implementation import DEFAULT, IMPLEMENTATIONS, Implementation, chosen
from conformance.selftest.implementations.inductor import Inductor
from conformance.selftest.implementations.known import Known, read_known
from conformance.selftest.implementations.replacing import Decompositions, references
from conformance.selftest.implementations.shuffled import Shuffled
from conformance.selftest.implementations.threads import threads
from conformance.selftest.inject import Hits, Injection
from conformance.spec.plan import Group, make_plan
from conformance.spec.suite import load_suite
from onboard.cli.app import run


def group(operator, dtype="float32"):
    return Group("operators.forward", operator, dtype, tuple(Forward().names(load_suite(), operator, dtype)))


EXP = group("exp")
PINHOLE = group("nn.functional.alpha_dropout")

# torch warns of what its own compiler imports.
COMPILES = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def suite():
    return load_suite()


@pytest.fixture
def hits():
    return Hits()


def job(suite, *implementations, known=(), every=False, began=0.0):
    return Job(suite, 0, implementations, known, every, began)


def broken(hits):
    """No right implementation: exp is off by a thousandth."""
    return Injection({torch.ops.aten.exp.default: lambda kernel, *args: kernel(*args) * 1.001}, hits)


BROKEN = Implementation("broken", "exp is off", broken, 3)


def test_what_fails_on_an_implementation_alone_is_an_alarm(suite):
    found = serve(job(suite, BROKEN, IMPLEMENTATIONS["references"]), EXP)
    assert found["broken"].run == found["broken"].hit == 3
    assert [alarm.outcome for alarm in found["broken"].alarms] == ["wrong"] * 3
    assert found["broken"].alarms[0].case.startswith("operators.forward/exp/float32/")
    assert found["broken"].unexplained == found["broken"].alarms
    assert found["references"].hit > 0
    assert found["references"].alarms == []


def test_what_fails_without_the_implementation_is_none(suite, monkeypatch):
    monkeypatch.setattr(alarms, "run_case", lambda *_: {"case": "c", "outcome": "wrong", "message": ""})
    assert serve(job(suite, BROKEN), EXP)["broken"].alarms == []


def test_an_implementation_takes_its_dtypes_alone(suite):
    only = Implementation("half", "", broken, 3, ("bfloat16",))
    assert serve(job(suite, only), EXP) == {}
    assert serve(job(suite, only), group("exp", "bfloat16"))["half"].run == 3


def test_an_implementation_serves_its_checks_alone(suite):
    only = Implementation("sizes", "", broken, 3, checks=("operators.sizes",))
    assert serve(job(suite, only), EXP) == {}


def test_what_is_refused_is_served_by_no_implementation(suite):
    refused = Group("operators.errors", "gather", "float32", ("error-0000/plain/function-refused",))
    assert serve(job(suite, BROKEN), refused)["broken"].run == 0


def test_an_implementation_whose_time_is_over_is_left_out_and_nothing_expires(suite):
    slow = Implementation("slow", "", broken, 3, seconds=1.0)
    entry = Known(("slow",), ("exp",), (), "*", "no such message", "nothing")
    tally = serve(job(suite, slow, known=(entry,), began=time.monotonic() - 2), EXP)["slow"]
    assert (tally.run, tally.left) == (0, 1)
    assert expired([entry], {"slow": tally}) == []
    assert serve(job(suite, slow, began=time.monotonic()), EXP)["slow"].left == 0


def test_every_case_is_every_case(suite):
    assert serve(job(suite, BROKEN, every=True), EXP)["broken"].run == len(EXP.names) > 3


def test_an_explained_alarm_carries_its_reason(suite):
    entry = Known(("broken",), ("exp*",), ("float32",), "*", "*elements*", "a thousandth")
    tally = serve(job(suite, BROKEN, known=(entry,)), EXP)["broken"]
    assert tally.unexplained == []
    assert tally.alarms[0].reason == "a thousandth"
    assert expired([entry], {"broken": tally}) == []


def test_an_entry_is_looked_for_in_every_case_before_it_expires(suite):
    entry = Known(("broken",), ("exp",), (), "special-*", "*", "special values alone")
    only_first = Implementation("broken", "", broken, 1)
    tally = serve(job(suite, only_first, known=(entry,)), EXP)["broken"]
    assert tally.run > 1
    assert expired([entry], {"broken": tally}) == []
    entry = Known(("broken",), ("exp",), (), "*", "no such message", "nothing")
    tally = serve(job(suite, only_first, known=(entry,)), EXP)["broken"]
    assert expired([entry], {"broken": tally}) == [("broken", entry)]
    assert expired([entry], {}) == []  # not served, so nothing is known of it


def test_groups_are_measured_side_by_side(suite):
    told = []
    plan = make_plan(torch.__version__, [EXP, group("sin")])
    found = alarms.measure(suite, plan, [BROKEN], [], workers=2, done=lambda *numbers: told.append(numbers))
    assert (found["broken"].run, found["broken"].hit) == (6, 3)
    assert told == [(1, 2), (2, 2)]


def test_a_known_defect_of_a_reference_is_found_and_explained(suite):
    # torch._refs.nn.functional.alpha_dropout shifts to the wrong side.
    tally = serve(job(suite, IMPLEMENTATIONS["references"], known=read_known()), PINHOLE)["references"]
    assert tally.alarms
    assert tally.unexplained == []


@pytest.mark.parametrize(
    ("around", "call"),
    [
        (references, lambda x: torch.softmax(x, 0)),
        (Decompositions, torch.nn.functional.silu),
        (Shuffled, torch.sum),
        pytest.param(Inductor, torch.nn.functional.gelu, marks=COMPILES),
        (threads, torch.exp),
    ],
)
def test_an_implementation_counts_what_it_serves_and_ends(around, call, hits):
    x = torch.linspace(0, 1, 200_000)
    want = call(x)
    with torch.no_grad(), around(hits):
        got = call(x)
    assert hits.count > 0
    torch.testing.assert_close(got, want)
    count = hits.count
    call(x)
    assert hits.count == count


@pytest.mark.parametrize(
    ("around", "call"),
    [
        (references, torch.linalg.qr),
        (Decompositions, torch.linalg.qr),
        (Shuffled, lambda x: x[:2, :2].sum(0)),  # two terms have one sum
        (Shuffled, lambda x: x.to_sparse().sum()),
        pytest.param(Inductor, torch.linalg.qr, marks=COMPILES),  # handed to the host's kernel
        (threads, torch.exp),  # too small for two
    ],
)
def test_a_call_that_goes_to_the_host_is_no_hit(around, call, hits):
    x = torch.eye(4)
    with torch.no_grad(), around(hits):
        call(x)
    assert hits.count == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x @ y,
        lambda x, y: torch.addmm(torch.ones(5, 5), x, y),
        lambda x, y: torch.bmm(x[None], y[None]),
        lambda x, y: torch.baddbmm(torch.ones(1, 5, 5), x[None], y[None]),
        lambda x, y: torch.addbmm(torch.ones(5, 5), x[None], y[None]),
        lambda x, y: x.mv(y[:, 0]),
        lambda x, y: torch.addmv(torch.ones(5), x, y[:, 0]),
        lambda x, y: torch.dot(x[0], y[:, 0]),
        lambda x, y: torch.nn.functional.conv2d(x.reshape(1, 7, 5, 1), y.reshape(5, 7, 1, 1)),
        lambda x, _: x.mean((0, -1)),
        lambda x, _: x.var(1, correction=0),
        lambda x, _: torch.linalg.vector_norm(x, 3, dim=0),
        lambda x, _: x.softmax(1),
        lambda x, _: x.log_softmax(0),
        lambda x, y: torch.ones(5, 5).addmm_(x, y),
        lambda x, y: torch.mm(x, y, out=torch.empty(5, 5)),
    ],
)
def test_another_order_of_summation_is_the_same_sum(call, hits):
    x, y = torch.arange(35.0).reshape(5, 7) / 8 - 2, torch.arange(35.0).reshape(7, 5) / 4 - 3
    want = call(x, y)
    with torch.no_grad(), Shuffled(hits):
        got, again = call(x, y), call(x, y)
    assert hits.count > 0
    torch.testing.assert_close(got, want)
    assert torch.equal(got, again)


def test_another_order_of_summation_rounds_otherwise(hits):
    x = torch.randn(100, 1000, generator=torch.Generator().manual_seed(0))
    want = x.sum(1)
    with Shuffled(hits):
        assert not torch.equal(x.sum(1), want)


def test_numbers_are_spread_from_the_first_to_the_last():
    assert list(spread(3, 6)) == [0, 1, 2]
    assert list(spread(100, 4)) == [0, 33, 66, 99]
    assert list(spread(100, 1)) == [50]


def test_an_unknown_implementation_is_an_error():
    assert [one.id for one in chosen(DEFAULT)] == list(DEFAULT)
    with pytest.raises(UsageError, match="no implementation 'refs'"):
        chosen(["refs"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {implementations: [nobody], operators: [exp], reason: so}", "is none of"),
        ("- {implementations: [references], operators: [exp]}", "'reason' is missing"),
        ("- {implementations: [references], operators: [exp], reason: so, dtype: int64}", "unknown field"),
    ],
)
def test_a_malformed_explanation_is_an_error(tmp_path, text, message):
    file = tmp_path / "known.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_known(file)


FAULT = """
from types import SimpleNamespace
def make(op):
    return lambda kernel, *args: kernel(*args) * 1.001
REGISTRY = {"mine.exp": SimpleNamespace(id="mine.exp", ops=("aten::exp",), make=make)}
"""


@pytest.fixture
def self_test(tmp_path, monkeypatch, capsys):
    """Run `onboard self-test` with one fault, on one group."""
    monkeypatch.setattr(planning, "plan_for", lambda *_: make_plan(torch.__version__, [EXP]))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("ONBOARD_DEBUG", "0")
    (tmp_path / "mine.py").write_text(FAULT)

    def call(*options):
        code = run(["self-test", "--faults", str(tmp_path / "mine.py"), "--only", "mine.exp", *options])
        return code, capsys.readouterr()

    return call


def test_the_command_tells_alarms_in_json_and_fails_for_them(self_test, monkeypatch):
    monkeypatch.setitem(IMPLEMENTATIONS, "broken", BROKEN)
    code, printed = self_test("--implementations", "broken,references", "--json")
    document = json.loads(printed.out)
    assert code == 1
    assert set(document["false_alarms"]) == {"null fault", "broken", "references"}
    assert len(document["false_alarms"]["broken"]) == 3
    assert document["false_alarms"]["references"] == []
    assert document["implementations"]["broken"] == {"cases": 3, "reached": 3, "left": 0, "explained": []}
    assert document["faults"] == {"total": 1, "caught": 1, "missed": []}
    # Nothing known of the references is shown by exp alone.
    assert any(text.startswith("references on view_copy: ") for text in document["expired"])


def test_the_command_prints_a_line_for_each_implementation(self_test):
    code, printed = self_test("--implementations", "shuffled")
    assert code == 0
    assert printed.out.splitlines()[-1].split() == ["shuffled", "6", "0", "0", "0"]


def test_a_user_s_own_fault_is_tried_without_implementations(self_test):
    code, printed = self_test("--json")
    assert (code, json.loads(printed.out)["implementations"]) == (0, {})


def test_an_unknown_implementation_is_told_as_usage(self_test):
    code, printed = self_test("--implementations", "reference")
    assert code == 2
    assert printed.err == "error: there is no implementation 'reference'\nhint: did you mean references?\n"
