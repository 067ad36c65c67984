"""A fault that a vendor could write into a kernel is found, and blamed on that operator alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Fault:
    operator: str
    beside: str  # an operator that the selection holds too, served by a kernel that is right
    selection: str
    file: str
    right: str
    wrong: str


FAULTS = {
    "wrong constant": Fault(
        "exp",
        "sum",
        "[es][ux][mp]",
        "exp.cpp",
        "std::exp(self)",
        "std::exp2(self * T(1.4426))",  # log2(e) is 1.44269504...
    ),
    "ignored storage offset": Fault(
        "mm",
        "mul",
        "m[mu]*",
        "mm.cpp",
        "(tensors[i].numel() > 0 ? tensors[i] : out).const_data_ptr()",
        "(tensors[i].numel() > 0 ? tensors[i] : out).storage().data()",
    ),
    "ignored stride": Fault(
        "sum",
        "exp",
        "[es][ux][mp]",
        "sum.cpp",
        "src + start * in.strides[0], in.strides[0], in.dtype, count);",
        "src + start * c10::elementSize(in.dtype), c10::elementSize(in.dtype), in.dtype, count);",
    ),
}


@pytest.mark.parametrize("selection", sorted({fault.selection for fault in FAULTS.values()}))
def test_the_kernels_as_they_are_have_no_finding(backend, tmp_path, selection):
    measured = backend.conform(tmp_path, "--ops", selection)
    assert measured.report["findings"] == []
    assert measured.code == 0


@pytest.fixture
def faulty(backend, request):
    """Build the backend with one fault in it; afterwards the source is right again, and so is the library."""
    fault = FAULTS[request.param]
    source = backend.package / "csrc" / "kernels" / fault.file
    text = source.read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, "the kernel has changed: choose another fault"
    source.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    try:
        backend.rebuild()
        yield fault
    finally:
        source.write_text(text, encoding="utf-8")
        backend.rebuild()


@pytest.mark.parametrize("faulty", FAULTS, indirect=True)
def test_a_fault_is_blamed_on_its_operator_alone(backend, faulty, tmp_path):
    measured = backend.conform(tmp_path, "--ops", faulty.selection)
    assert measured.code == 1
    assert measured.wrong() == {faulty.operator}
    assert {row["operator"] for row in measured.rows if row["outcome"] == "wrong"} == {faulty.operator}
    assert {row["outcome"] for row in measured.rows if row["operator"] == faulty.beside} == {"pass"}
