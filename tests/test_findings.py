"""Many failures with one cause are one finding, and every failure is in one."""

from __future__ import annotations

from conformance.findings import find, normalize
from conformance.results import Row


def row(
    operator,
    number=0,
    outcome="wrong",
    message="",
    kernels=(),
    execution="native",
    dtype="float32",
    check="operators.forward",
    repro=None,
):
    case = f"{check}/{operator}/{dtype}/sample-{number:04}/plain/function"
    return Row(
        case,
        check,
        operator,
        None,
        dtype,
        "plain",
        "function",
        outcome,
        execution,
        1.0,
        0.5,
        "exact",
        0.0,
        message,
        repro,
        None,
        kernels,
    )


def test_412_absent_kernels_are_one_finding():
    rows = [
        row(
            f"op{n}",
            outcome="error",
            execution="absent",
            kernels=(f"aten::k{n % 300}",),
            message=f"no aten::k{n % 300}",
        )
        for n in range(412)
    ]
    (finding,) = find(rows)
    assert finding.cases == 412
    assert len(finding.kernels) == 300
    assert len(finding.also) + 1 == 412


def test_a_composite_is_blamed_on_the_kernel_that_is_wrong_by_itself():
    rows = [
        row("softplus_thing", kernels=("aten::exp.out", "aten::log1p.out")),
        row("exp", 0, kernels=("aten::exp.out",)),
        row("exp", 1, dtype="bfloat16"),
        row("cumsum", kernels=("aten::cumsum.out",)),
    ]
    found = {finding.operator: finding for finding in find(rows)}
    assert set(found) == {"exp", "cumsum"}
    assert found["exp"].also == ("softplus_thing",)
    assert found["exp"].kernels == ("aten::exp.out",)
    assert found["exp"].cases == 3
    assert found["exp"].dtypes == ("bfloat16", "float32")


def test_shared_helpers_do_not_join_what_has_nothing_in_common():
    rows = [
        row("mm", kernels=("aten::copy_", "aten::mm.out")),
        row("tan", kernels=("aten::copy_", "aten::tan.out")),
    ]
    assert {finding.operator for finding in find(rows)} == {"mm", "tan"}


def test_errors_that_differ_in_numbers_and_names_are_one_cause():
    rows = [
        row(
            f"op{n}",
            outcome="error",
            message=f"RuntimeError: get_rng_state is missing on device {n} for 'op{n}' (0x{n:x})",
        )
        for n in range(200)
    ]
    (finding,) = find(rows)
    assert finding.cases == 200


def test_different_errors_stay_apart():
    rows = [row("a", outcome="error", message="TypeError: one"), row("b", outcome="error", message="TypeError: two")]
    assert len(find(rows)) == 2


def test_silent_wrong_answers_rank_above_exceptions_and_runtime_above_all():
    rows = [
        row("a", outcome="error", message="E"),
        row("b", outcome="crash", message="SIGSEGV"),
        row("c"),
        row("copies", outcome="error", message="R", check="runtime.copies"),
    ]
    assert [finding.operator for finding in find(rows)] == ["copies", "c", "b", "a"]


def test_every_failing_case_is_counted_once():
    outcomes = ("wrong", "error", "crash", "timeout", "missing", "flaky")
    rows = [row(f"op{n % 7}", n, outcome=outcomes[n % 6], message=f"m{n % 3}") for n in range(100)]
    rows += [row("fine", n, outcome=o) for n, o in enumerate(("pass", "unjudged", "unsupported", "waived"))]
    assert sum(finding.cases for finding in find(rows)) == 100


def test_the_shortest_reproducer_is_shown():
    rows = [row("a", 0, repro="long long"), row("a", 1, repro="short"), row("a", 2)]
    assert find(rows)[0].repro == "short"


def test_ids_are_safe_on_a_command_line():
    (finding,) = find([row("nn.functional.relu (x) $HOME")])
    assert finding.id == "wrong-nn.functional.relu-x-HOME"


def test_normalize_keeps_the_words():
    assert (
        normalize("RuntimeError: size (2, 3) of 'x' at 0xff is -3.5e-2\nmore") == "RuntimeError: size _ of _ at _ is _"
    )


def test_two_faults_are_two_findings_though_both_calls_allocate_and_copy():
    memory = ("aten::empty.memory_format", "aten::_copy_from")
    rows = [row("exp", kernels=memory), row("tan", kernels=memory[:1]), row("sin", kernels=memory[1:])]
    assert sorted(finding.operator for finding in find(rows)) == ["exp", "sin", "tan"]


def test_an_operator_that_moves_data_is_still_the_cause_of_its_own_faults():
    rows = [row("clone", kernels=("aten::clone",)), row("stack", kernels=("aten::clone", "aten::cat"))]
    assert [(finding.operator, finding.also) for finding in find(rows)] == [("clone", ("stack",))]


def test_the_operator_of_the_kernel_is_blamed_though_its_other_checks_call_more():
    """The gradient of exp multiplies, so that exp calls more kernels than a window that uses exp alone."""
    rows = [
        row("exp", kernels=("aten::exp.out",)),
        row("exp", check="operators.backward", kernels=("aten::exp.out", "aten::mul.out"), outcome="pass"),
        row("signal.windows.exponential", kernels=("aten::exp.out",)),
    ]
    (finding,) = find(rows)
    assert finding.operator == "exp"
    assert finding.also == ("signal.windows.exponential",)
