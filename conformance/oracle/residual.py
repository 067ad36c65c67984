"""The residual rung: factors that are unique only up to signs, phases or an order are judged by what they multiply to.

    ||A - F|| <= 30 n u ||A||,    ||I - Q^H Q|| <= 30 n u

with Frobenius norms, n the larger size of A, u the unit roundoff of the dtype that is computed in, F the product of
the factors in float64 and Q whatever has to be unitary: LAPACK's own tests and their threshold (LAPACK Working Note
41, section 7; LAPACK Users' Guide, 1999, chapter 4). What is unique, as singular values and the eigenvalues of a
symmetric matrix are, is compared with float64 within the same bound (Weyl). Nothing here looks at the factors of the
host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from conformance.oracle.compare import Measure
from conformance.oracle.formats import unit_roundoff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conformance.inputs.samples import Sample

THRESHOLD = 30.0
_TINY = torch.finfo(torch.float64).tiny


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation that factors have to satisfy: by how much it fails, and how large its terms are, per matrix."""

    name: str
    residual: torch.Tensor
    size: torch.Tensor | float


def judge(equations: str, sample: Sample, got: Sequence[Any], dtype: torch.dtype) -> Measure:
    """Measure the results of a factorization at `dtype`, of the right shapes, by its equations.

    The error is the largest residual in units of n u ||A||, the bound 30. Results that hold a number that is not finite
    have an infinite error, unless the matrix does: then nothing is asked, as the suite gives no such matrix.
    """
    wide = [value.to(_wide(value)) if isinstance(value, torch.Tensor) else value for value in got]
    worst, said = 0.0, ""
    for equation in _EQUATIONS[equations](sample, wide):
        largest = max(_sizes(sample), default=1)
        scale = largest * unit_roundoff(dtype) * torch.as_tensor(equation.size, dtype=torch.float64).clamp(min=_TINY)
        ratios = torch.nan_to_num(equation.residual / scale, nan=math.inf, posinf=math.inf)
        ratio = float(ratios.max()) if ratios.numel() else 0.0
        if ratio > worst:
            worst, said = ratio, f"{equation.name}: {ratio:.3g} n u, where {THRESHOLD:g} n u is due"
    return Measure("residual", worst, THRESHOLD, said if worst > THRESHOLD else "")


def _sizes(sample: Sample) -> Iterator[int]:
    return (size for tensor in sample.tensors[:2] for size in tensor.shape[-2:])


def _wide(value: torch.Tensor) -> torch.dtype:
    if value.is_complex():
        return torch.complex128
    return torch.float64 if value.dtype.is_floating_point else value.dtype


def _norm(value: torch.Tensor) -> torch.Tensor:
    norm: torch.Tensor = torch.linalg.matrix_norm(value)
    return norm


def _matrix(sample: Sample) -> torch.Tensor:
    value = sample.tensors[0]
    return value.resolve_conj().to(_wide(value))


def _unitary(name: str, q: torch.Tensor) -> Equation:
    """The columns are orthonormal."""
    eye = torch.eye(q.shape[-1], dtype=q.dtype)
    return Equation(f"I - {name}^H {name}", _norm(eye - q.mH @ q), 1.0)


def _ordered(name: str, values: torch.Tensor, *, descending: bool = False) -> Equation:
    steps = values.diff(dim=-1)
    steps = steps if descending else -steps
    return Equation(f"the order of {name}", torch.where(steps > 0, math.inf, 0.0).flatten(), 1.0)


def _values(name: str, got: torch.Tensor, due: torch.Tensor, matrix: torch.Tensor) -> Equation:
    """Values that a matrix has once and for all: off by no more than the norm of what the factorization may add."""
    return Equation(f"{name} beside those in float64", (got - due).abs().amax(-1), _norm(matrix))


def _svd(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    u, s, vh = got
    yield from _singular(_matrix(sample), u, s, vh, vectors=True)


def _svd_of_old(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    u, s, v = got
    vectors = sample.kwargs.get("compute_uv", sample.args[2] if len(sample.args) > 2 else True)
    if not vectors:  # torch.svd then gives zeros of the full shapes
        for name, factor in (("U", u), ("V", v)):
            yield Equation(f"{name} is zero", _norm(factor) / _TINY, 1.0)
    yield from _singular(_matrix(sample), u, s, v.mH, vectors=vectors)


def _singular(
    a: torch.Tensor, u: torch.Tensor, s: torch.Tensor, vh: torch.Tensor, *, vectors: bool
) -> Iterator[Equation]:
    if 0 in a.shape:
        return
    yield _ordered("S", s, descending=True)
    yield Equation("S is not negative", torch.where(s < 0, math.inf, 0.0).flatten(), 1.0)
    yield _values("S", s, torch.linalg.svdvals(a), a)
    if vectors:
        k = s.shape[-1]
        yield Equation("A - U S V^H", _norm(a - (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]), _norm(a))
        yield _unitary("U", u)
        yield _unitary("V", vh.mH)


def _low_rank(sample: Sample, got: Sequence[Any], *, centred: bool) -> Iterator[Equation]:
    """OpInfo's function factors the product of its two matrices: of rank q at most, where nothing is taken off it.

    Else U S V^H is what a random subspace keeps of A: U spans it on the left, or V on the right.
    """
    left, right = (tensor.resolve_conj().to(_wide(tensor)) for tensor in sample.tensors[:2])
    a = left @ right.mT
    size = _norm(left) * _norm(right)
    shift = sample.kwargs.get("M")
    if centred:
        a = a - a.mean(dim=-2, keepdim=True)
    elif shift is not None:
        a, size = a - shift, size + _norm(shift.to(a.dtype))
    u, s, v = got
    if 0 in a.shape:
        return
    yield _ordered("S", s, descending=True)
    if centred or shift is not None or left.shape[-1] > s.shape[-1]:
        kept = torch.minimum(_norm(u.mH @ a - s.unsqueeze(-1) * v.mH), _norm(a @ v - u * s.unsqueeze(-2)))
        yield Equation("U^H A - S V^H or A V - U S", kept, size)
    else:
        yield Equation("A - U S V^H", _norm(a - (u * s.unsqueeze(-2)) @ v.mH), size)
    yield _unitary("U", u)
    yield _unitary("V", v)


def _svd_lowrank(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    yield from _low_rank(sample, got, centred=False)


def _pca_lowrank(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    yield from _low_rank(sample, got, centred=sample.kwargs.get("center", True))


def _hermitian(sample: Sample) -> torch.Tensor:
    """The matrix that a triangle of the argument stands for."""
    a = _matrix(sample)
    side = sample.kwargs.get("UPLO", sample.args[1] if len(sample.args) > 1 else "L")
    strict = a.tril(-1) if side.upper() == "L" else a.triu(1)
    diagonal = a.diagonal(dim1=-2, dim2=-1).real.to(a.dtype)
    return strict + strict.mH + torch.diag_embed(diagonal)


def _eigh(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    a = _hermitian(sample)
    if 0 in a.shape:
        return
    yield from _eigenvalues_of_hermitian(a, got[0])
    q = got[1]
    yield Equation("A Q - Q L", _norm(a @ q - q * got[0].unsqueeze(-2)), _norm(a))
    yield _unitary("Q", q)


def _eigvalsh(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    a = _hermitian(sample)
    if 0 not in a.shape:
        yield from _eigenvalues_of_hermitian(a, got[0])


def _eigenvalues_of_hermitian(a: torch.Tensor, values: torch.Tensor) -> Iterator[Equation]:
    yield _ordered("L", values)
    yield _values("L", values, torch.linalg.eigvalsh(a), a)


def _eig(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    a = _matrix(sample).to(torch.complex128)
    if 0 in a.shape:
        return
    values, vectors = got
    yield from _eigenvalues(a, values)
    yield Equation("A V - V L", _norm(a @ vectors - vectors * values.unsqueeze(-2)), _norm(a))
    lengths = torch.linalg.vector_norm(vectors, dim=-2)
    yield Equation("the lengths of V", (lengths - 1).abs().amax(-1), 1.0)


def _eigvals(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    a = _matrix(sample).to(torch.complex128)
    if 0 not in a.shape:
        yield from _eigenvalues(a, got[0])


def _eigenvalues(a: torch.Tensor, values: torch.Tensor) -> Iterator[Equation]:
    """Each is one of a matrix nearby, and together they are all of one: their sums of powers are traces."""
    n = a.shape[-1]
    eye = torch.eye(n, dtype=a.dtype)
    shifted = a.unsqueeze(-3) - values[..., None, None] * eye
    nearest = torch.nan_to_num(torch.linalg.svdvals(torch.nan_to_num(shifted)), nan=math.inf)[..., -1]
    nearest = torch.where(values.isfinite(), nearest, math.inf)
    yield Equation("L is one of A", nearest.amax(-1), _norm(a))
    power, size = a, _norm(a)
    for k in (1, 2):
        trace = power.diagonal(dim1=-2, dim2=-1).sum(-1)
        yield Equation(f"the sum of L^{k} beside the trace", (values.pow(k).sum(-1) - trace).abs(), k * n * size**k)
        power = power @ a


def _qr(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    a = _matrix(sample)
    if 0 in a.shape:
        return
    q, r = got
    yield Equation("R below its diagonal", _norm(r.tril(-1)) / _TINY, 1.0)
    if q.numel() == 0:  # mode='r'
        yield Equation("A^H A - R^H R", _norm(a.mH @ a - r.mH @ r), _norm(a) ** 2)
        return
    yield Equation("A - Q R", _norm(a - q @ r), _norm(a))
    yield _unitary("Q", q)


def _geqrf(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    """Q in float64 from the reflectors: it is unitary only where each has its factor."""
    a = _matrix(sample)
    if 0 in a.shape:
        return
    reflectors, tau = got
    k = tau.shape[-1]
    q = torch.linalg.householder_product(reflectors[..., :k], tau)
    yield Equation("A - Q R", _norm(a - q @ reflectors.triu()[..., :k, :]), _norm(a))
    yield _unitary("Q", q)


def _ldl(sample: Sample, got: Sequence[Any]) -> Iterator[Equation]:
    """The inverse in float64 from the factors: as far from that of A as the factors are from A."""
    a = _matrix(sample)
    if 0 in a.shape:
        return
    hermitian = sample.kwargs.get("hermitian", False)
    strict = a.tril(-1)
    a = strict + (strict.mH if hermitian else strict.mT) + torch.diag_embed(a.diagonal(dim1=-2, dim2=-1))
    eye = torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape).contiguous()
    if len(got) > 2:
        yield Equation("info", (got[2] != 0).double() / _TINY, 1.0)
    inverse = torch.linalg.ldl_solve(got[0], got[1], eye, hermitian=hermitian)
    yield Equation("I - A X, X by the factors", _norm(eye - a @ inverse), _norm(a) * _norm(inverse))


_EQUATIONS: dict[str, Callable[[Sample, Sequence[Any]], Iterator[Equation]]] = {
    "svd": _svd,
    "svd-of-old": _svd_of_old,
    "svd-lowrank": _svd_lowrank,
    "pca-lowrank": _pca_lowrank,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "eig": _eig,
    "eigvals": _eigvals,
    "qr": _qr,
    "geqrf": _geqrf,
    "ldl": _ldl,
}
