"""One row for every op of graphad.ops.linalg, and more where shapes, axes, dtypes or edges differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.ops import array as a
from graphad.ops import linalg as la
from graphad.ops import math as m
from graphad.ops.linalg.determinants import Cofactors
from tests.support.op_case import OpCase, complex_, integer, real

SIZES = ("sizes",)


def definite(*shape: int) -> Any:
    """Well conditioned matrices."""
    return real(*shape) + 4 * np.eye(shape[-1])


def factor(x: Any) -> Any:
    return la.cholesky(la.matmul(x, x, adjoint_b=True) + a.eye(3, dtype=x.dtype))


def _factor(x: Any) -> Any:
    return np.linalg.cholesky(x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(3))


# Its third row is the sum of the others.
SINGULAR = np.array([[1.0, 2.0, -1.0], [0.5, 1.0, 3.0], [1.5, 3.0, 2.0]])


def cofactors(*xs: Any) -> Any:
    return bind(Cofactors(), *map(lift, xs))


def _cofactors(x: Any) -> Any:
    minors = [[np.delete(np.delete(x, i, -2), j, -1) for j in range(x.shape[-1])] for i in range(x.shape[-2])]
    found = [[(-1) ** (i + j) * np.linalg.det(y) for j, y in enumerate(row)] for i, row in enumerate(minors)]
    return np.moveaxis(np.array(found), (0, 1), (-2, -1))


def _slopes_of_cofactors(x: Any, h: Any) -> Any:
    return (_cofactors(x + h) - _cofactors(x - h)) / 2  # exact, since they are of second degree


def log_volume(x: Any) -> Any:
    return la.logdet(la.matmul(x, x, transpose_b=True) + a.eye(3, dtype=x.dtype))


def clipped(x: Any, y: Any) -> Any:
    return la.clip_by_global_norm([x, y], 0.5)


def _clipped(x: Any, y: Any) -> Any:
    n = np.sqrt((x * x).sum() + (y * y).sum())
    return [x * 0.5 / n, y * 0.5 / n, n]


def _einsum(equation: str, *inputs: Any, unknown: Any = ("sizes", "rank"), **options: Any) -> OpCase:
    def einsum(*xs: Any) -> Any:
        return la.einsum(equation, *xs)

    return OpCase(
        einsum,
        *inputs,
        expected=lambda *xs: np.asarray(np.einsum(equation, *xs)),
        unknown=unknown,
        label=equation,
        **options,
    )


def _swap(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


MATMUL = [
    OpCase(la.matmul, real(3, 4), real(4, 2), expected=np.matmul),
    OpCase(la.matmul, real(4, 3), real(4, 2), transpose_a=True, expected=lambda x, y: x.T @ y),
    OpCase(la.matmul, real(3, 4), real(2, 4), transpose_b=True, expected=lambda x, y: x @ y.T),
    OpCase(
        la.matmul, real(4, 3), real(2, 4), transpose_a=True, transpose_b=True, expected=lambda x, y: x.T @ y.T
    ),
    OpCase(la.matmul, real(5, 3, 4), real(4, 2), expected=np.matmul),
    OpCase(
        la.matmul,
        real(5, 4, 3),
        real(2, 4),
        transpose_a=True,
        transpose_b=True,
        expected=lambda x, y: _swap(x) @ y.T,
    ),
    OpCase(la.matmul, real(3, 4), real(5, 4, 2), expected=np.matmul),
    OpCase(la.matmul, real(2, 1, 3, 4), real(3, 4, 2), expected=np.matmul),
    OpCase(
        la.matmul,
        complex_(3, 2),
        complex_(4, 3),
        adjoint_a=True,
        adjoint_b=True,
        expected=lambda x, y: np.conj(x.T) @ np.conj(y.T),
    ),
    OpCase(la.matmul, complex_(3, 2), complex_(2, 3), expected=np.matmul),
    OpCase(la.matmul, integer(3, 2), integer(2, 3), expected=np.matmul),
    OpCase(la.matmul, real(3, 0), real(0, 2), expected=np.matmul),
    OpCase(la.matvec, real(3, 4), real(4), expected=np.matmul),
    OpCase(
        la.matvec,
        real(5, 4, 3),
        real(5, 4),
        transpose_a=True,
        expected=lambda x, v: np.einsum("bij,bi->bj", x, v),
    ),
]

EINSUM = [
    _einsum("ij,jk->ik", real(2, 3), real(3, 4)),
    _einsum("ij,jk", real(2, 3), real(3, 4)),
    _einsum("bij,bjk->bki", real(2, 3, 4), real(2, 4, 2)),
    _einsum("ij,jk,kl->il", real(2, 3), real(3, 4), real(4, 2)),
    _einsum("...ij,...jk->...ik", real(5, 2, 3), real(3, 4)),
    _einsum("i...,ij...->j...", real(3, 2), real(3, 4, 2), unknown=SIZES),
    _einsum("...ij,kjl->kil", real(2, 3), real(2, 3, 4), unknown=SIZES),
    _einsum("bxby->bxy", real(2, 3, 2, 4)),
    _einsum("ii", real(3, 3)),
    _einsum("ii->i", real(3, 3)),
    _einsum("...ii->...i", real(2, 3, 3)),
    _einsum("i,j->ji", real(3), real(2)),
    _einsum("i,i->", real(3), real(3, seed=1)),
    _einsum("ij->", real(3, 2)),
    _einsum("ijk->ki", real(2, 3, 4)),
    _einsum("ijk,ij->", real(3, 2, 2), real(3, 2)),
    _einsum("aijk,bjkl->ailb", real(2, 3, 2, 2), real(3, 2, 2, 2)),
    _einsum("bthd,bshd->bhts", real(2, 3, 2, 2), real(2, 4, 2, 2)),
    _einsum("ij,kj->ik", complex_(2, 3), complex_(2, 3)),
    OpCase(
        la.tensordot,
        real(2, 3, 4),
        real(3, 4, 2),
        axes=2,
        expected=lambda x, y: np.tensordot(x, y, 2),
        unknown=SIZES,
    ),
    OpCase(
        la.tensordot,
        real(2, 3, 4),
        real(4, 5, 2),
        axes=[[0, -1], [2, 0]],
        expected=lambda x, y: np.tensordot(x, y, ((0, 2), (2, 0))),
        unknown=SIZES,
    ),
    OpCase(la.tensordot, real(2), real(3), axes=0, expected=np.outer, unknown=SIZES),
]

DIAGONAL = [
    OpCase(la.diag_part, real(2, 3, 4), expected=lambda x: np.diagonal(x, 0, -2, -1)),
    OpCase(la.diag_part, real(2, 3, 4), k=2, expected=lambda x: np.diagonal(x, 2, -2, -1)),
    OpCase(la.diag_part, real(3, 4), k=-1, expected=lambda x: np.diagonal(x, -1)),
    OpCase(la.diag, real(3), expected=np.diag),
    OpCase(la.diag, real(3), k=-2, expected=lambda d: np.diag(d, -2)),
    OpCase(la.diag, real(2, 3), expected=lambda d: np.stack([np.diag(row) for row in d])),
    OpCase(la.set_diag, real(2, 3, 4), real(2, 3, seed=1)),
    OpCase(la.set_diag, real(3, 4), real(3, seed=1), k=1),
    OpCase(la.diag_part, real(2, 3, 4), k=(-1, 2), padding_value=9.0, unknown=("sizes",)),
    OpCase(la.diag_part, real(3, 4), k=(0, 1), align="LEFT_RIGHT", unknown=("sizes",)),
    OpCase(la.diag, real(2, 3, 4), k=(-1, 1), padding_value=2.0, unknown=("sizes",)),
    OpCase(la.diag, real(3), k=1, num_cols=4, unknown=("sizes",)),
    OpCase(la.set_diag, real(3, 4), real(3, 3, seed=1), k=(-1, 1), unknown=()),
    OpCase(la.band_part, real(3, 4), num_lower=-1, num_upper=0, expected=np.tril),
    OpCase(la.band_part, real(2, 3, 4), num_lower=0, num_upper=1, expected=lambda x: np.triu(np.tril(x, 1))),
    OpCase(la.trace, real(2, 3, 3), expected=lambda x: np.trace(x, axis1=1, axis2=2)),
    OpCase(la.matrix_transpose, real(2, 3, 4), expected=_swap),
]

SOLVE = [
    OpCase(la.solve, definite(3, 3), real(3, 2), expected=np.linalg.solve),
    OpCase(la.solve, definite(3, 3), real(3, 2), adjoint=True, expected=lambda m, b: np.linalg.solve(m.T, b)),
    OpCase(la.solve, definite(2, 3, 3), real(2, 3, 2), expected=np.linalg.solve),
    OpCase(la.solve, definite(3, 3), real(2, 3, 2), expected=np.linalg.solve),
    OpCase(
        la.solve,
        complex_(2, 2) + 4 * np.eye(2),
        complex_(2, 2, seed=1),
        adjoint=True,
        expected=lambda m, b: np.linalg.solve(np.conj(m.T), b),
    ),
    OpCase(
        la.triangular_solve, definite(3, 3), real(3, 2), expected=lambda m, b: np.linalg.solve(np.tril(m), b)
    ),
    OpCase(
        la.triangular_solve,
        definite(2, 3, 3),
        real(2, 3, 2),
        lower=False,
        adjoint=True,
        expected=lambda m, b: np.linalg.solve(_swap(np.triu(m)), b),
    ),
    OpCase(la.inv, definite(2, 3, 3), expected=np.linalg.inv),
    OpCase(
        la.inv, complex_(2, 2) + 4 * np.eye(2), adjoint=True, expected=lambda x: np.conj(np.linalg.inv(x).T)
    ),
    OpCase(la.pinv, real(2, 4, 3), expected=np.linalg.pinv),
    OpCase(la.pinv, complex_(2, 3), expected=np.linalg.pinv),
    OpCase(la.det, definite(2, 3, 3), expected=np.linalg.det),
    OpCase(la.det, complex_(2, 2), expected=np.linalg.det),
    OpCase(cofactors, real(2, 3, 3), expected=_cofactors, float32=False),
    OpCase(cofactors, SINGULAR, real(2, 3, 3), expected=_slopes_of_cofactors, float32=False),
    OpCase(la.slogdet, definite(2, 3, 3), expected=lambda x: list(np.linalg.slogdet(x))),
    OpCase(
        la.slogdet, complex_(3, 3) + 4 * np.eye(3), expected=lambda x: [y + 0j for y in np.linalg.slogdet(x)]
    ),
    OpCase(log_volume, real(3, 3), expected=lambda x: np.linalg.slogdet(x @ x.T + np.eye(3))[1]),
    OpCase(factor, real(3, 3), expected=_factor),
    OpCase(factor, complex_(3, 3), expected=_factor, label="complex"),
    OpCase(
        la.cholesky_solve,
        definite(3, 3),
        real(3, 2),
        expected=lambda m, b: np.linalg.solve(np.tril(m) @ np.tril(m).T, b),
    ),
]

NORM = [
    OpCase(
        la.l2_normalize, real(2, 3), axis=1, expected=lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    ),
    OpCase(la.clip_by_norm, real(2, 3), clip_norm=0.5, expected=lambda x: x * 0.5 / np.linalg.norm(x)),
    OpCase(la.clip_by_norm, real(2, 3), clip_norm=50.0, expected=lambda x: x),
    OpCase(
        la.clip_by_norm,
        real(2, 3),
        clip_norm=0.5,
        axes=[1],
        expected=lambda x: x * 0.5 / np.linalg.norm(x, axis=1, keepdims=True),
    ),
    OpCase(clipped, real(2, 3), real(2, seed=1), expected=_clipped),
    OpCase(la.global_norm, [real(2, 3), real(2, seed=1)], expected=lambda x, y: _clipped(x, y)[2]),
    OpCase(la.cross, real(2, 3), real(2, 3, seed=1), expected=np.cross),
]


def separated(*shape: int, seed: int = 0) -> Any:
    """Matrices whose eigenvalues and singular values lie apart."""
    return real(*shape, low=-0.3, high=0.3, seed=seed) + np.eye(*shape[-2:]) * np.arange(1.0, shape[-1] + 1)


def _lower(x: Any) -> Any:
    """The Hermitian matrix whose lower triangle this is."""
    return np.tril(x) + _swap(np.conj(np.tril(x, -1)))


def projectors(x: Any) -> Any:
    """Functions of the eigenvectors that do not depend on their sign."""
    e, v = la.eigh(x)
    squares = v * v  # once: BLAS multiplies a matrix by its own transpose in another order than by another's
    return e, la.matmul(squares, squares, transpose_b=True)


def _projectors(x: Any) -> Any:
    e, v = np.linalg.eigh(x)
    return [e, (v * v) @ _swap(v * v)]


def rotation(x: Any) -> Any:
    """The orthogonal factor of the polar decomposition: both kinds of singular vectors, whatever their sign."""
    s, u, v = la.svd(x)
    return s, la.matmul(u, v, transpose_b=True)


def _rotation(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, False)
    return [s, u @ vh]


def left_only(x: Any) -> Any:
    u = la.svd(x)[1]
    return u * u


def right_only(x: Any) -> Any:
    v = la.svd(x)[2]
    return v * v


def complex_rotation(x: Any) -> Any:
    """Both kinds of complex singular vectors; their phases cancel."""
    _, u, v = la.svd(x)
    return la.matmul(u, v, adjoint_b=True)


EIGEN = [
    OpCase(la.eigvalsh, separated(2, 3, 3), expected=lambda x: np.linalg.eigvalsh(_lower(x))),
    OpCase(la.eigvalsh, complex_(3, 3) + np.diag([0, 5, 11]), expected=np.linalg.eigvalsh),
    OpCase(projectors, separated(2, 3, 3), expected=_projectors),
    OpCase(
        la.svd, separated(2, 3, 3), compute_uv=False, expected=lambda x: np.linalg.svd(x, compute_uv=False)
    ),
    OpCase(la.svd, complex_(3, 2), compute_uv=False, expected=lambda x: np.linalg.svd(x, compute_uv=False)),
    OpCase(rotation, separated(3, 3), expected=_rotation),
    OpCase(rotation, separated(2, 4, 2), expected=_rotation),
    OpCase(rotation, separated(2, 3), expected=_rotation),
    OpCase(left_only, separated(4, 2)),
    OpCase(right_only, separated(2, 3)),
    OpCase(complex_rotation, complex_(3, 2)),
    OpCase(complex_rotation, complex_(2, 2) + np.diag([0, 4])),
    OpCase(la.adjoint, complex_(2, 3), expected=lambda x: np.conj(x.T)),
]


def lu_of_ordered(x: Any) -> Any:
    """The factors alone, of matrices whose rows stay in order."""
    return la.lu(x)[0]


def _packed(x: Any) -> Any:
    p, low, up = scipy.linalg.lu(x)
    assert (p == np.eye(x.shape[-1])).all()
    return np.tril(low, -1) + up


def solved_by_factors(x: Any, b: Any) -> Any:
    return la.lu_solve(*la.lu(x), b)


def rebuilt(x: Any) -> Any:
    return la.lu_reconstruct(*la.lu(x))


def eigen_projectors(x: Any) -> Any:
    """Eigenvalues, and what the vectors are whatever their phase."""
    e, v = la.eig(x)
    return e, la.matmul(v * m.conj(v), v * m.conj(v), transpose_b=True)


def _eigen_projectors(x: Any) -> Any:
    e, v = np.linalg.eig(x)
    square = (v * np.conj(v)).astype(complex)
    return [e.astype(complex), square @ _swap(square)]


def complex_qr(x: Any) -> Any:
    """The projector on the columns, and the triangle."""
    q, r = la.qr(x)
    return la.matmul(q, q, adjoint_b=True), r


def real_roots(x: Any) -> Any:
    return la.sqrtm(la.matmul(x, x, transpose_b=True) + a.eye(3, dtype=x.dtype))


FACTORS = [
    OpCase(la.qr, real(2, 4, 3), expected=lambda x: list(np.linalg.qr(x))),
    OpCase(la.qr, definite(3, 3), expected=lambda x: list(np.linalg.qr(x))),
    OpCase(la.qr, real(2, 5), expected=lambda x: list(np.linalg.qr(x))),
    OpCase(la.qr, real(2, 3), full_matrices=True, unknown=(), expected=lambda x: list(np.linalg.qr(x))),
    OpCase(complex_qr, complex_(4, 2)),
    OpCase(complex_qr, complex_(2, 3)),
    OpCase(lu_of_ordered, definite(2, 3, 3), expected=_packed),
    OpCase(lu_of_ordered, complex_(3, 3) + 9 * np.eye(3), expected=_packed),
    OpCase(solved_by_factors, real(3, 3), real(3, 2, seed=3), expected=np.linalg.solve, unknown=SIZES),
    OpCase(rebuilt, real(2, 3, 3), expected=lambda x: x, unknown=SIZES),
    OpCase(la.eigvals, separated(2, 3, 3), expected=lambda x: np.linalg.eigvals(x).astype(complex)),
    OpCase(la.eigvals, complex_(3, 3) + np.diag([0, 5, 11]), expected=np.linalg.eigvals),
    OpCase(eigen_projectors, separated(3, 3), expected=_eigen_projectors),
    OpCase(eigen_projectors, complex_(2, 2) + np.diag([0, 4]), expected=_eigen_projectors),
    OpCase(la.expm, real(2, 3, 3), expected=scipy.linalg.expm),
    OpCase(la.expm, complex_(2, 2), expected=scipy.linalg.expm),
    OpCase(la.logm, complex_(3, 3) + 6 * np.eye(3), expected=scipy.linalg.logm),
    OpCase(la.sqrtm, complex_(3, 3) + 6 * np.eye(3), expected=scipy.linalg.sqrtm),
    OpCase(real_roots, real(3, 3), expected=lambda x: scipy.linalg.sqrtm(x @ x.T + np.eye(3)).real),
]


def _of_rows(bands: Any, above: int) -> Any:
    """The full matrices of diagonals that are given as rows, the highest first."""
    n = bands.shape[-1]
    full = np.zeros((*bands.shape[:-1][:-1], n, n), bands.dtype)
    for row in range(bands.shape[-2]):
        for i in range(n):
            if 0 <= i + above - row < n:
                full[..., i, i + above - row] = bands[..., row, i]
    return full


def of_diagonals(upper: Any, middle: Any, lower: Any, rhs: Any) -> Any:
    return la.tridiagonal_solve([upper, middle, lower], rhs, "sequence")


def _of_diagonals(upper: Any, middle: Any, lower: Any, rhs: Any) -> Any:
    return np.linalg.solve(np.diag(upper, 1) + np.diag(middle) + np.diag(lower, -1), rhs)


def tridiagonal_values(alpha: Any, beta: Any) -> Any:
    return la.eigh_tridiagonal(alpha, beta)


def _within(x: Any) -> Any:
    return x * (np.abs(np.subtract.outer(np.arange(4), np.arange(4))) < 2)


THREE = real(2, 3, 4) + np.array([[0.0], [5.0], [0.0]])
BANDED = [
    OpCase(
        la.tridiagonal_solve,
        THREE,
        real(2, 4, 2, seed=3),
        unknown=SIZES,
        expected=lambda d, b: np.linalg.solve(_of_rows(d, 1), b),
    ),
    OpCase(
        la.tridiagonal_solve,
        complex_(3, 4) + 5 * np.array([[0], [1], [0]]),
        complex_(4, 2, seed=3),
        unknown=SIZES,
        expected=lambda d, b: np.linalg.solve(_of_rows(d, 1), b),
    ),
    OpCase(
        la.tridiagonal_solve,
        definite(4, 4),
        real(2, 4, seed=3),
        "matrix",
        True,
        unknown=(),
        expected=lambda a, b: np.linalg.solve(_within(a), b.T),
    ),
    OpCase(
        of_diagonals,
        real(3),
        definite(4, 4)[0] + 4,
        real(3, seed=2),
        real(4, seed=3),
        unknown=(),
        expected=_of_diagonals,
    ),
    OpCase(
        la.tridiagonal_matmul,
        THREE,
        real(4, 3, seed=3),
        unknown=SIZES,
        expected=lambda d, b: _of_rows(d, 1) @ b,
    ),
    OpCase(
        la.banded_triangular_solve,
        THREE[:, [1, 0, 2]],
        real(2, 4, 2, seed=3),
        unknown=(),
        expected=lambda d, b: np.linalg.solve(_of_rows(d, 0), b),
    ),
    OpCase(
        la.banded_triangular_solve,
        complex_(3, 4) + 5 * np.array([[0], [0], [1]]),
        complex_(4, 2, seed=3),
        lower=False,
        adjoint=True,
        unknown=(),
        expected=lambda d, b: np.linalg.solve(np.conj(_of_rows(d, 2)).T, b),
    ),
    OpCase(
        tridiagonal_values,
        real(4),
        real(3, seed=3),
        unknown=SIZES,
        expected=lambda d, e: np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1)),
    ),
]

CASES = [*MATMUL, *EINSUM, *DIAGONAL, *SOLVE, *NORM, *EIGEN, *FACTORS, *BANDED]
