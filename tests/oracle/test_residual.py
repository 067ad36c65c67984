"""The residual rung: any right factors pass, whoever chose their signs; each way of being wrong fails."""

import math

import pytest
import torch

from conformance.inputs.samples import Sample
from conformance.oracle import residual
from conformance.oracle.formats import unit_roundoff
from conformance.spec import operators

U = unit_roundoff(torch.float32)
GENERATOR = torch.Generator().manual_seed(5)
A = torch.randn(4, 3, generator=GENERATOR)
SQUARE = torch.randn(4, 4, generator=GENERATOR)
SYMMETRIC = SQUARE + SQUARE.mT


def ratio(equations, matrix, *got, **kwargs):
    return residual.judge(equations, Sample((matrix,), kwargs), got, torch.float32)


def test_the_size_of_the_bound_by_hand():
    """A = (1): U = 1, S = 1 + d, V = 1 has the residual d, n = 1: it passes up to d = 30 u."""
    one = torch.ones(1, 1)
    for factor, passes in ((29.0, True), (31.0, False)):
        measured = ratio("svd", one, one, torch.ones(1, dtype=torch.float64) + factor * U, one)
        assert measured.passed is passes
        assert measured.error == pytest.approx(factor, rel=1e-6)


def test_the_names_of_the_equations_are_those_of_the_suite():
    assert tuple(residual._EQUATIONS) == operators.EQUATIONS


def flipped(vectors, dim):
    """Other signs: as right as before."""
    shape = [1] * vectors.dim()
    shape[dim] = -1
    return vectors * torch.tensor([-1.0, 1.0, -1.0, 1.0][: vectors.shape[dim]]).reshape(shape)


def test_right_factors_of_other_signs_pass():
    u, s, vh = torch.linalg.svd(A, full_matrices=False)
    assert ratio("svd", A, flipped(u, -1), s, flipped(vh, -2)).passed
    values, q = torch.linalg.eigh(SYMMETRIC)
    assert ratio("eigh", SYMMETRIC, values, flipped(q, -1)).passed
    values, v = torch.linalg.eig(SQUARE)
    order = torch.tensor([2, 0, 3, 1])
    assert ratio("eig", SQUARE, values[order], v[:, order] * 1j).passed
    q, r = torch.linalg.qr(A)
    assert ratio("qr", A, flipped(q, -1), flipped(r, -2)).passed


def changed(value, place, by):
    value = value.clone()
    value[place] += by
    return value


def svd():
    return torch.linalg.svd(A, full_matrices=False)


def eigh():
    return torch.linalg.eigh(SYMMETRIC)


def eig():
    return torch.linalg.eig(SQUARE)


def qr():
    return torch.linalg.qr(A)


def repeated(values, vectors):
    """The first pair twice: every residual is small, and one eigenvalue is missing."""
    return changed(values, -1, values[0] - values[-1]), torch.cat([vectors[:, :-1], vectors[:, :1]], 1)


WRONG = {
    "a singular value off": ("svd", A, lambda: (svd()[0], changed(svd()[1], 1, 1e-3), svd()[2]), "S"),
    "singular values ascending": ("svd", A, lambda: (svd()[0].flip(-1), svd()[1].flip(0), svd()[2].flip(0)), "order"),
    "a negative singular value": (
        "svd", A, lambda: (svd()[0] * torch.tensor([1, 1, -1.0]), svd()[1] * torch.tensor([1, 1, -1.0]), svd()[2]), "S"
    ),
    "U that is not unitary": ("svd", A, lambda: (svd()[0] * 2, svd()[1] / 2, svd()[2]), "U^H U"),
    "the factors of another matrix": ("svd", A, lambda: torch.linalg.svd(A.flip(0), full_matrices=False), "U S V"),
    "zeros": ("svd", A, lambda: [torch.zeros_like(v) for v in svd()], "U^H U"),
    "NaN": ("svd", A, lambda: (svd()[0] * math.nan, svd()[1], svd()[2]), "inf"),
    "zero factors that are asked not to be computed": (
        "svd-of-old", A, lambda: (torch.ones(4, 4), svd()[1], torch.zeros(3, 3)), "U is zero"
    ),
    "an eigenvalue off": ("eigh", SYMMETRIC, lambda: (changed(eigh()[0], 1, 1e-3), eigh()[1]), "L"),
    "eigenvectors as rows": ("eigh", SYMMETRIC, lambda: (eigh()[0], eigh()[1].mT), "A Q"),
    "eigenvectors of another length": ("eigh", SYMMETRIC, lambda: (eigh()[0], eigh()[1] * 1.01), "Q^H Q"),
    "eigenvalues descending": ("eigvalsh", SYMMETRIC, lambda: (eigh()[0].flip(0),), "order"),
    "one pair twice": ("eig", SQUARE, lambda: repeated(*eig()), "sum"),
    "one eigenvalue twice": ("eigvals", SQUARE, lambda: repeated(*eig())[:1], "sum"),
    "no eigenvalue": ("eigvals", SQUARE, lambda: (changed(eig()[0], 0, 0.1),), "L"),
    "long eigenvectors": ("eig", SQUARE, lambda: (eig()[0], eig()[1] * 2), "lengths"),
    "R that is not triangular": ("qr", A, lambda: (qr()[0], changed(qr()[1], (2, 0), 1e-20)), "diagonal"),
    "Q that is not unitary": ("qr", A, lambda: (qr()[0] * 2, qr()[1] / 2), "Q^H Q"),
    "R of another matrix": ("qr", A, lambda: (torch.empty(0), qr()[1] * 1.001), "R^H R"),
    "a reflector without its factor": ("geqrf", A, lambda: (torch.geqrf(A)[0], torch.geqrf(A)[1] * 0.9), ""),
    "the factors of no such matrix": ("ldl", SYMMETRIC, lambda: _ldl_of(SYMMETRIC * 1.001), "A X"),
}  # fmt: skip


def _ldl_of(matrix):
    return torch.linalg.ldl_factor(matrix)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_fails(wrong):
    equations, matrix, make, said = WRONG[wrong]
    kwargs = {"compute_uv": False} if equations == "svd-of-old" else {}
    measured = ratio(equations, matrix, *make(), **kwargs)
    assert not measured.passed, wrong
    assert said in measured.message


def test_every_equation_is_proven_by_a_fault():
    """The two of low rank below."""
    assert {equations for equations, *_ in WRONG.values()} | {"svd-lowrank", "pca-lowrank"} == set(operators.EQUATIONS)


@pytest.mark.parametrize(("equations", "kwargs"), [
    ("svd-lowrank", {"q": 2}), ("svd-lowrank", {"q": 1}), ("svd-lowrank", {"q": 2, "M": torch.ones(4, 5)}),
    ("pca-lowrank", {"q": 2, "center": True}),
])  # fmt: skip
def test_factors_of_low_rank(equations, kwargs):
    left, right = torch.randn(4, 2, generator=GENERATOR), torch.randn(5, 2, generator=GENERATOR)
    function = torch.svd_lowrank if equations == "svd-lowrank" else torch.pca_lowrank
    u, s, v = function(left @ right.mT, **kwargs)

    def measured(*got):
        return residual.judge(equations, Sample((left, right), kwargs), got, torch.float32)

    assert measured(u, s, v).passed
    assert not measured(u, s * 1.001, v).passed
    assert not measured(u.flip(0), s, v.flip(0)).passed
    assert not measured(u * 2, s / 2, v).passed


def test_a_triangle_stands_for_the_whole_matrix():
    """What lies in the other one is not read: junk there changes nothing."""
    values, q = eigh()
    assert ratio("eigh", SYMMETRIC.triu() + 1e6 * torch.ones(4, 4).tril(-1), values, q, UPLO="U").passed
    assert not ratio("eigh", SYMMETRIC.triu() + 1e6 * torch.ones(4, 4).tril(-1), values, q, UPLO="L").passed


def test_each_matrix_of_a_batch_is_judged():
    batch = torch.stack([A, A.flip(0), A])
    u, s, vh = torch.linalg.svd(batch, full_matrices=False)
    assert ratio("svd", batch, u, s, vh).passed
    assert not ratio("svd", batch, changed(u, (1, 0, 0), 1e-3), s, vh).passed


@pytest.mark.parametrize("equations", operators.EQUATIONS)
def test_matrices_without_elements_have_nothing_to_judge(equations):
    empty = torch.empty(0, 0)
    vector = torch.empty(0)
    got = {"eigvals": (vector,), "eigvalsh": (vector,), "eig": (vector, empty), "eigh": (vector, empty),
           "qr": (empty, empty), "geqrf": (empty, vector), "ldl": (empty, vector)}  # fmt: skip
    sample = Sample((empty, empty) if equations.endswith("lowrank") else (empty,), {})
    assert residual.judge(equations, sample, got.get(equations, (empty, vector, empty)), torch.float32).passed
