"""Each derived check catches a fault that the samples of OpInfo, called as they are, do not show."""

from dataclasses import replace

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import CHECKS, Forward
from conformance.checks.operators.derived import Call, Derived, case_name, is_in_range, is_moderate, keeps_size
from conformance.device.profile import Profile
from conformance.inputs.samples import Sample
from conformance.selftest.inject import Hits, Injection
from conformance.spec.suite import load_suite

aten = torch.ops.aten


def tail_of_a_full_block(original, x):
    """A counter of 16 bits: what lies past 2**16 elements is not written."""
    result = original(x)
    result.view(-1)[1 << 16 :] = 0
    return result


def without_a_zero(original, x, y, *, alpha=1):
    """Takes a factor of zero for one that was not given."""
    return original(x, y, alpha=alpha or 1)


def in_float32(original, x):
    return original(x.float()).to(x.dtype) if x.dtype is torch.float64 else original(x)


def as_if_contiguous(original, x, *args, **kwargs):
    """Reads an image with the channels innermost in the order of its addresses."""
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous():
        x = x.permute(0, 2, 3, 1).reshape(x.shape)
    return original(x, *args, **kwargs)


def over_the_whole_storage(original, x, *args):
    """Writes as many addresses as a view has elements, from where it begins, whatever its strides."""
    result = original(x.clone(), *args)
    x.as_strided((x.numel(),), (1,), x.storage_offset()).copy_(result.reshape(-1))
    return x


def into_a_copy(original, x, *, out):
    """Makes a strided `out` contiguous, writes to that and returns the other."""
    return out if not out.is_contiguous() and out.numel() else original(x, out=out)


def that_casts(original, x, *, out):
    return out.copy_(torch.exp(x)) if out.dtype is torch.int64 else original(x, out=out)


def without_the_square(original, gradient, output):
    return gradient * (1 - output)


def for_one_block(original, gradient, output):
    result = original(gradient, output).clone()
    result.view(-1)[1024:] = 0
    return result


def contiguous(original, *args, **kwargs):
    """Row by row, where the shape function of torch.compile says column by column."""
    return original(*args, **kwargs).contiguous()


def never_refuses(original, x, dim, index, **options):
    """Answers zeros where it has no answer."""
    try:
        return original(x, dim, index, **options)
    except RuntimeError:
        return x.new_zeros(index.shape)


def twice(original, x, y, *, alpha=1):
    return original(x, y, alpha=2 * alpha)


def as_if_it_had_dimensions(original, x, y):
    """Promotes by the dtypes alone, where a tensor without dimensions gives way."""
    result = original(x, y)
    return result.to(torch.promote_types(x.dtype, y.dtype)) if isinstance(y, torch.Tensor) else result


def of_the_next_number(original, x, number):
    return original(x, number + 1)


FAULTS = {
    "operators.sizes": ("exp", "float32", {aten.exp.default: tail_of_a_full_block}),
    "operators.arguments": ("add", "float32", {aten.add.Tensor: without_a_zero}),
    "operators.dtypes": ("exp", "float64", {aten.exp.default: in_float32}),
    "operators.layouts": ("nn.functional.avg_pool2d", "float32", {aten.avg_pool2d.default: as_if_contiguous}),
    "operators.strides": (
        "linalg.solve_triangular",
        "float32",
        {aten.linalg_solve_triangular.default: contiguous},
    ),
    "operators.errors": ("gather", "float32", {aten.gather.default: never_refuses}),
    "operators.overloads": ("sub", "float32", {aten.sub_.Tensor: twice}),
    "operators.promotion": ("add", "bfloat16", {aten.add.Tensor: as_if_it_had_dimensions}),
    "operators.cases": ("eq", "float32", {aten.eq_.Scalar: of_the_next_number}),
    "operators.inplace": ("exp", "float32", {aten.exp_.default: over_the_whole_storage}),
    "operators.out": ("exp", "float32", {aten.exp.out: into_a_copy}),
    "operators.backward": ("tanh", "float32", {aten.tanh_backward.default: without_the_square}),
    "operators.backward-sizes": ("tanh", "float32", {aten.tanh_backward.default: for_one_block}),
}


@pytest.fixture(scope="module")
def suite():
    return load_suite()


def check_of(name):
    return next(check for check in CHECKS if check.id == name)


def outcomes(suite, check, operator, dtype, kernels=None):
    """The outcome of every planned case of a group, with some overloads served by other kernels."""
    context = Context(torch.device("cpu"), Profile("cpu", "cpu"), suite, 0)
    if kernels:
        context = replace(context, around=lambda: Injection(kernels, Hits()))
    found = {}
    for case in check.cases(context, operator, dtype):
        try:
            found[case.name] = case.run().outcome
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is an outcome
            found[case.name] = f"error: {error}"
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_derived_check_passes_what_is_right_and_catches_its_fault(suite, name):
    operator, dtype, kernels = FAULTS[name]
    healthy = outcomes(suite, check_of(name), operator, dtype)
    assert set(healthy.values()) == {"pass"}
    failing = {"error"} if name == "operators.errors" else {"wrong"}
    assert failing & set(outcomes(suite, check_of(name), operator, dtype, kernels).values())


@pytest.mark.parametrize("name", ["operators.sizes", "operators.arguments", "operators.layouts"])
def test_the_plain_calls_do_not_notice_it(suite, name):
    """Else the check would prove nothing of its own; the others call what plain calls do not reach, or are not at."""
    operator, dtype, kernels = FAULTS[name]
    assert "wrong" not in outcomes(suite, Forward(), operator, dtype, kernels).values()


def test_every_derived_check_is_proven_by_a_fault():
    assert {check.id for check in CHECKS if isinstance(check, Derived)} == set(FAULTS)


def test_a_call_that_must_be_refused_and_is_not_is_an_error(suite):
    healthy = outcomes(suite, check_of("operators.out"), "exp", "float32")
    assert any(name.endswith("out-narrower-refused") for name in healthy)
    found = outcomes(suite, check_of("operators.out"), "exp", "float32", {aten.exp.out: that_casts})
    refused = {outcome for name, outcome in found.items() if name.endswith("out-narrower-refused")}
    assert refused == {"error"}


def planned(suite, function, sample, **kwargs):
    """What a check with one call plans of it."""
    call = Call("only", "function", lambda: (function, sample), **kwargs)
    check = Derived("operators.sizes", lambda _: ("float32",), lambda *_: iter([call]))
    return check.names(suite, "exp", "float32")


X = torch.arange(4.0)


def test_what_the_host_answers_is_planned(suite):
    assert planned(suite, torch.exp, Sample((X,), {})) == ["only/plain/function"]


def test_what_the_host_and_the_shape_function_refuse_is_planned_as_a_refusal(suite):
    wrong_dimension = Sample((X, 3), {})
    assert planned(suite, torch.sum, wrong_dimension) == ["only/plain/function-refused"]


def test_what_only_the_host_refuses_is_not_planned(suite):
    """A backend may well have what one host's kernel lacks."""

    def host_only(x):
        if x.device.type == "cpu":
            raise RuntimeError("not here")
        return x

    assert planned(suite, host_only, Sample((X,), {})) == []


def test_what_has_no_kernel_is_no_refusal(suite):
    def absent(x):
        raise NotImplementedError("no kernel")

    assert planned(suite, absent, Sample((X,), {})) == []


def test_a_dimension_that_only_the_host_forgives_is_not_planned(suite):
    """The host's roll of nothing returns at once, without a look at the dimension."""
    nothing_moves = Sample((torch.ones(2, 0), 1, 16), {})
    assert planned(suite, torch.roll, nothing_moves) == ["only/plain/function"]
    assert planned(suite, torch.roll, nothing_moves, accepts=is_in_range) == []
    assert planned(suite, torch.roll, Sample((X.reshape(2, 2), 1, 1), {}), accepts=is_in_range)


def test_a_result_that_only_the_host_makes_room_for_is_not_planned(suite):
    """In place nothing is broadcast; the host's addbmm_ resizes its input."""
    batches = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    small, right = Sample((torch.ones(1), *batches), {}), Sample((torch.ones(3, 5), *batches), {})
    assert planned(suite, torch.Tensor.addbmm_, small)
    assert planned(suite, torch.Tensor.addbmm_, small, accepts=keeps_size) == []
    assert planned(suite, torch.Tensor.addbmm_, right, accepts=keeps_size)


def test_a_call_that_takes_too_much_memory_is_not_planned(suite):
    """Grown twice at once, as an outer product grows."""
    small, large = Sample((X, X), {}), Sample((torch.ones(2000), torch.ones(2000)), {})
    assert planned(suite, torch.outer, small, accepts=is_moderate)
    assert planned(suite, torch.outer, large, accepts=is_moderate) == []


def test_a_layout_that_the_host_does_not_take_is_left_out(suite):
    def contiguous_only(x):
        if not x.is_contiguous():
            raise RuntimeError("contiguous, please")
        return torch.exp(x)

    layouts = ("plain", "offset", "strided")
    found = planned(suite, contiguous_only, Sample((X.reshape(2, 2),), {}), layouts=layouts)
    assert found == ["only/plain/function", "only/offset/function"]


def test_what_must_be_refused_and_is_answered_by_the_host_is_not_planned(suite):
    assert planned(suite, torch.exp, Sample((X,), {}), must_refuse=True) == []


def test_a_planned_call_that_another_seed_does_not_give_is_an_error(suite):
    """A case that quietly disappears would be counted by nobody."""
    call = Call("gone", "function", lambda: None)
    check = Derived("operators.sizes", lambda _: ("float32",), lambda *_: iter([call]))
    context = Context(torch.device("cpu"), Profile("cpu", "cpu"), suite, 0)
    with pytest.raises(LookupError, match="gone"):
        list(check.cases(context, "exp", "float32", [case_name("gone", "plain")]))


def test_what_a_check_leaves_out_is_not_planned(suite):
    left = [(name, spec) for name, spec in suite.operators.items() if "operators.out" in spec.leaves_out]
    groups = dict(check_of("operators.out").groups(suite))
    assert left
    assert not {name for name, _ in left} & set(groups)
    assert "exp" in groups
