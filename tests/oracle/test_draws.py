"""Random operators that draw what they must not are found by the check, and draws made in another way pass."""

from collections import Counter

import pytest
import torch


def outcomes(found):
    return Counter(judgement.outcome for _, judgement in found)


def on_result(change):
    def fault(function, *args, **kwargs):
        return change(function(*args, **kwargs))

    return fault


def times(factor):
    return on_result(lambda result: (result * factor).to(result.dtype))


def constant(function, *args, **kwargs):
    return torch.full_like(function(*args, **kwargs), 0.5)


def remembered(function, *args, **kwargs):
    """The same draw twice."""
    torch.default_generator.manual_seed(7)
    return function(*args, **kwargs)


def unseeded(count=[0]):  # noqa: B006 - a counter that no seed resets
    def fault(function, *args, **kwargs):
        count[0] += 1
        torch.default_generator.manual_seed(count[0])
        return function(*args, **kwargs)

    return fault


def with_p(p):
    def fault(function, *args, **kwargs):
        return function(*args, **{**kwargs, "p": p(kwargs.get("p", 0.5))})

    return fault


def kept_scaled(function, *args, **kwargs):
    """Dropout that forgets to make up for what it drops."""
    return (function(*args, **kwargs) * (1 - kwargs.get("p", 0.5))).to(args[0].dtype)


def whole_channels(function, *args, **kwargs):
    return torch.nn.functional.dropout(*args, **kwargs)


DRAWS = [
    *(("constant", op, "float32", constant)
      for op in ("uniform", "normal", "randn", "rand_like", "exponential", "cauchy")),
    *(("the same twice", op, dtype, remembered)
      for op, dtype in (("uniform", "float32"), ("normal", "float32"), ("randn", "bfloat16"),
                        ("exponential", "float32"), ("nn.functional.dropout", "float32"))),
    *(("seed ignored", op, "float32", unseeded())
      for op in ("uniform", "normal", "bernoulli", "randint", "multinomial", "nn.functional.dropout")),
    *(("another mean", op, dtype, on_result(lambda r: r + 1))
      for op, dtype in (("normal", "float32"), ("normal.in_place", "float32"), ("normal.number_mean", "float32"),
                        ("randn", "bfloat16"), ("exponential", "float32"), ("log_normal", "float32"))),
    *(("another spread", op, "float32", times(2.0))
      for op in ("normal", "randn", "exponential", "cauchy", "rand_like")),
    ("another range", "uniform", "float32", times(1.2)),
    *(("another range", op, "int64", on_result(lambda r: r + 1)) for op in ("randint", "randint_like")),
    ("another range", "multinomial", "float32", on_result(lambda r: r + 1)),
    ("half the range", "uniform", "float32", on_result(lambda r: r.abs() / 2)),
    ("always one", "bernoulli", "float32", on_result(torch.ones_like)),
    ("from zero on", "geometric", "float32", on_result(lambda r: r - 1)),
    *(("wrong scale", op, "float32", kept_scaled)
      for op in ("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.alpha_dropout")),
    *(("nothing dropped", op, "float32", lambda f, *a, **k: a[0].clone())
      for op in ("nn.functional.dropout", "nn.functional.dropout3d", "nn.functional.alpha_dropout")),
    *(("p for 1 - p", op, "float32", with_p(lambda p: 1 - p))
      for op in ("nn.functional.dropout", "nn.functional.alpha_dropout")),
    *(("elements, not channels", op, "float32", whole_channels)
      for op in ("nn.functional.dropout2d", "nn.functional.dropout3d")),
    ("steeper", "nn.functional.rrelu", "float32", lambda f, x, *a, **k: torch.where(x < 0, f(x, *a, **k) * 3, x)),
    ("wrong dtype", "uniform", "float32", on_result(torch.Tensor.double)),
    ("wrong shape", "randn", "float32", on_result(lambda r: r[None])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operator", "dtype", "fault"), DRAWS, ids=[f"{d[0]}-{d[1]}-{d[2]}" for d in DRAWS])
def test_a_faulty_draw_is_wrong(judged, device, name, operator, dtype, fault):
    device(fault)
    found = judged(operator, dtype)
    assert outcomes(found)["wrong"] > 0
    assert set(outcomes(found)) <= {"wrong", "pass"}


@pytest.mark.parametrize(("operator", "dtype"), sorted({(operator, dtype) for _, operator, dtype, _ in DRAWS}))
def test_draws_of_torch_pass(judged, device, operator, dtype):
    device(lambda function, *args, **kwargs: function(*args, **kwargs))
    assert set(outcomes(judged(operator, dtype))) == {"pass"}


def box_muller(function, *args, **kwargs):
    like = function(*args, **kwargs)
    return torch.sqrt(-2 * torch.log1p(-torch.rand_like(like))) * torch.cos(2 * torch.pi * torch.rand_like(like))


def test_a_draw_made_in_another_way_passes(judged, device):
    device(box_muller)
    assert set(outcomes(judged("randn", "float32"))) == {"pass"}
