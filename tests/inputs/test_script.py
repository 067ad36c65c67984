"""The script of a case runs, prints both answers, and makes the very inputs of the case."""

import contextlib
import io
import warnings

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import CHECKS, Forward
from conformance.checks.operators.derived import Derived
from conformance.device.profile import Profile
from conformance.inputs import catalogue, script
from conformance.inputs.layouts import LAYOUTS, relay
from conformance.inputs.literals import LITERAL_ELEMENTS, MOST_CHARACTERS, numbers
from conformance.inputs.samples import Sample, opinfo_samples
from conformance.inputs.script import Pasted
from conformance.inputs.transport import flat_storage
from conformance.oracle.trial import same_bytes
from conformance.spec.suite import load_suite

SEED = 2
OPERATORS = [("add", "float32"), ("exp", "bfloat16"), ("mm", "float32"), ("cat", "int64"), ("sort", "bool"),
             ("index_select", "float32"), ("nn.functional.conv2d", "float32"), ("sum", "float32"),
             ("clamp", "float32")]  # fmt: skip
operators = pytest.mark.parametrize(("operator", "dtype"), OPERATORS)


@pytest.fixture(scope="module")
def context():
    return Context(torch.device("cpu"), Profile("cpu", "cpu"), load_suite(), SEED)


def executed(text):
    """What the script prints and the names that it leaves."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        exec(text, names)
    return printed.getvalue(), names


@operators
def test_scripts_of_cases_print_both_answers(context, operator, dtype):
    cases = list(Forward().cases(context, operator, dtype))
    for case in (cases[0], cases[-1]):
        text = case.repro()
        printed, _ = executed(text)
        lines = [line for line in printed.splitlines() if line.startswith(("got", "expected"))]
        assert [line.split()[0] for line in lines] == ["got", "expected"], text


def test_scripts_print_what_the_last_place_differs_in():
    one = torch.ones(2)
    neighbour = torch.nextafter(one, one * 2)
    got, other = (executed(written("neg", Sample((v,), {}), 0, "float32", result=-v))[0] for v in (one, neighbour))
    assert got.splitlines()[0] != other.splitlines()[0]


def written(operator, sample, ordinal, dtype, result=None):
    function = catalogue.function_of(operator)
    return script.write(
        Pasted(operator, function, sample, ordinal, dtype, result), device="cpu", module=None, seed=SEED
    )


def made_by(text, monkeypatch, name):
    """The arguments that the script calls torch's function with, that on the device first."""
    calls = []
    real = getattr(torch, name)

    def record(*args, **kwargs):
        calls.append(Sample(args, kwargs))
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(torch, name, record)
        executed(text)
    return calls


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("operator", "dtype"),
    [("add", "float32"), ("exp", "bfloat16"), ("mm", "float32"), ("sum", "int64"), ("clamp", "float32"),
     ("add", "complex64"), ("exp", "float64")],
)  # fmt: skip
def test_inputs_are_those_of_the_case_bit_for_bit(monkeypatch, operator, dtype, layout):
    compared = 0
    for ordinal, sample in enumerate(opinfo_samples(operator, dtype, SEED)[:2]):
        laid = relay(sample, layout)
        text = written(operator, laid, ordinal, dtype)
        found = made_by(text, monkeypatch, operator)[0]
        assert len(found.tensors) == len(laid.tensors)
        for got, want in zip(found.tensors, laid.tensors, strict=True):
            assert (got.dtype, got.shape, got.storage_offset()) == (want.dtype, want.shape, want.storage_offset())
            assert got.stride() == want.stride()
            assert bits(got) == bits(want)
            compared += got.numel()
    assert compared > 0


def bits(tensor):
    return tensor.contiguous().flatten().view(torch.uint8).tolist()


def test_small_inputs_are_written_out_with_their_gaps(monkeypatch):
    laid = relay(Sample((torch.tensor([[0.1, -0.0], [float("inf"), 1e-45]]),), {}), "strided")
    text = written("exp", laid, 0, "float32")
    assert "op_db" not in text
    found = made_by(text, monkeypatch, "exp")[0].args[0]
    assert bits(flat_storage(found)) == bits(flat_storage(laid.args[0])) or same_bytes(found, laid.args[0])


def test_inputs_are_written_as_numbers_then_as_bytes_then_drawn_anew():
    def text(count):
        return written("exp", Sample((torch.rand(count),), {}), 0, "float32")

    assert "torch.tensor([" in text(LITERAL_ELEMENTS)
    assert "unpack('" in text(LITERAL_ELEMENTS + 1)
    assert "op_db" not in text(2000)
    assert "op_db" in text(MOST_CHARACTERS)


def test_what_can_neither_be_written_nor_drawn_is_an_error():
    with pytest.raises(ValueError, match="too large"):
        written("exp", Sample((torch.rand(MOST_CHARACTERS),), {}), None, "float32")


def test_tensors_that_share_memory_are_not_written_apart():
    base = torch.arange(6.0)
    assert "op_db" in written("add", Sample((base[:3], base[3:]), {}), 0, "float32")


def test_the_device_is_named_and_the_module_imported():
    pasted = Pasted("add", torch.add, Sample((torch.ones(2), 3), {"alpha": 2}), 0, "float32", torch.ones(2), wide=True)
    text = script.write(pasted, device="dev:1", module="torch_dev", seed=0)
    assert text.splitlines()[0] == "import torch, torch_dev"
    assert "print('got     ', torch.add(x0.to('dev:1'), 3, alpha=2).cpu())" in text
    assert "print('expected', torch.add(x0.to(torch.float64), 3, alpha=2).cpu())" in text


def test_lists_of_results_are_shown_part_by_part():
    text = written("sort", Sample((torch.ones(2),), {}), 0, "float32", result=torch.ones(2).sort())
    printed, _ = executed(text)
    assert "[part.cpu() for part in torch.sort(x0)]" in text
    assert printed.count("tensor([") == 4


def test_numbers_are_written_so_that_they_come_back():
    generator = torch.Generator().manual_seed(1)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        values = (torch.randn(2000, generator=generator, dtype=torch.float64).exp() ** 3).to(dtype)
        text = numbers(values.tolist(), dtype)
        assert torch.equal(torch.tensor(eval(text, {"inf": torch.inf}), dtype=dtype), values)


@pytest.mark.parametrize("value", [complex("nan-infj"), complex(-0.0, -0.0), complex(0.0, -0.0), 0.1 - 3e-9j])
def test_complex_numbers_keep_the_signs_of_their_zeros(value):
    text = numbers([value], torch.complex64)
    found = torch.tensor(eval(text, {"inf": torch.inf, "nan": torch.nan}), dtype=torch.complex64)
    assert bits(found) == bits(torch.tensor([value], dtype=torch.complex64))


DERIVED = [check for check in CHECKS if isinstance(check, Derived)]


@pytest.mark.parametrize("check", DERIVED, ids=lambda check: check.id)
@pytest.mark.parametrize("operator", ["mul", "sum", "nn.functional.relu", "index_select", "_fused_sgd_"])
def test_the_script_of_any_variant_prints_what_its_case_compares(context, check, operator):
    """A script of another call than the one that failed would send its reader the wrong way."""
    spec = context.suite.operators[operator]
    for dtype in check.dtypes(spec)[:1]:
        printed = {}
        for case in check.cases(context, operator, dtype) if spec.oracle_of(check.id, dtype) else ():
            if case.variant not in printed:
                printed[case.variant] = executed(case.repro())[0]
                got, expected = printed[case.variant].split("expected", 1)
                assert got.startswith("got")
                assert expected.strip()


def test_the_script_of_an_in_place_call_and_of_a_gradient_make_that_call(context):
    inplace = next(iter(check_of("operators.inplace").cases(context, "mul", "float32")))
    assert "torch.Tensor.mul_(" in inplace.repro()
    backward = next(iter(check_of("operators.backward").cases(context, "mul", "float32")))
    text = backward.repro()
    assert "gradients(torch.mul, [x2" in text
    assert "unpack" not in text or "def unpack" in text
    names = executed(text.replace("print('got     ', ", "found = (").replace("print('expected', ", "expected = ("))[1]
    other, upstream = names["x1"], names["x2"]
    assert torch.equal(names["found"][0], (other * upstream).sum_to_size(names["x0"].shape))


def check_of(name):
    return next(check for check in CHECKS if check.id == name)
