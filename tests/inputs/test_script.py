"""The script of a case runs, prints both answers, and makes the very inputs of the case."""

import contextlib
import io
import warnings

import pytest
import torch

from conformance.checks.contract import Context
from conformance.checks.operators import Forward
from conformance.device.profile import Profile
from conformance.inputs import script
from conformance.inputs.layouts import LAYOUTS, relay
from conformance.inputs.samples import Sample, opinfo_samples
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
    return script.write(operator, sample, ordinal, dtype, device="cpu", module=None, seed=SEED, wide=False,
                        result=result)  # fmt: skip


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


def test_large_inputs_are_drawn_anew():
    sample = Sample((torch.zeros(script.LITERAL_ELEMENTS + 1),), {})
    assert "op_db" in written("exp", sample, 0, "float32")
    assert "op_db" not in written("exp", Sample((torch.zeros(script.LITERAL_ELEMENTS),), {}), 0, "float32")


def test_tensors_that_share_memory_are_not_written_apart():
    base = torch.arange(6.0)
    assert "op_db" in written("add", Sample((base[:3], base[3:]), {}), 0, "float32")


def test_the_device_is_named_and_the_module_imported():
    text = script.write("add", Sample((torch.ones(2), 3), {"alpha": 2}), 0, "float32", device="dev:1",
                        module="torch_dev", seed=0, wide=True, result=torch.ones(2))  # fmt: skip
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
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        values = (torch.randn(2000, generator=generator).exp() ** 3).to(dtype)
        text = script._numbers(values.tolist())
        assert torch.equal(torch.tensor(eval(text, {"inf": torch.inf}), dtype=dtype), values)
