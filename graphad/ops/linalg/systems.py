"""Linear systems, inverses, determinants and the Cholesky factor: LAPACK through NumPy, derivatives by solving again."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dims import product, run_time_symbols
from graphad.core.dtypes import complex64, complex128, float16, float32, float64
from graphad.core.errors import InvalidArgumentError, MatrixError
from graphad.core.kinds import require_dtype
from graphad.core.op import Op, define, else_eval
from graphad.core.shapes import broadcast_dims, format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops import library
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.transpose import Transpose
from graphad.ops.linalg.diagonal import BandPart, DiagPart, OfMatrix, SetDiag, matrix_rows
from graphad.ops.linalg.direct import ONE_BY_ONE, SINGULAR, lapack, put_in, put_in_few
from graphad.ops.linalg.held import is_operator
from graphad.ops.linalg.matmul import adjoint, times
from graphad.ops.math.arithmetic import MUL, NEG
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import real
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.rules import OF_A_SOLUTION, align_stacked, same_dtype, scalar_like, unbroadcast

_BLOCK, _WHOLE = 32, 48  # rows of a triangular system that are solved at once
FACTORISED = "a matrix is factorised as a whole, by a library"
_LAPACK = (float32, float64, complex64, complex128)


def require_matrix(op: str, x: TensorSpec, word: str, square: bool) -> None:
    require_dtype(op, x, _LAPACK, word)
    if x.dims is None:
        return
    if len(x.dims) < 2:
        raise InvalidArgumentError(
            f"{op}: {word} has shape {format_dims(x.dims)}; it must be a matrix or a stack of matrices (rank 2 or more)."
        )
    rows, columns = x.dims[-2:]
    if square and rows is not None and columns is not None and rows != columns:
        raise InvalidArgumentError(
            f"{op}: {word} has shape {format_dims(x.dims)}; its last two sizes must be equal, they are {rows} and {columns}."
        )


def _squared(x: TensorSpec) -> TensorSpec:
    """Square matrices, of which both sizes are known if one is."""
    if x.dims is None or None not in x.dims[-2:]:
        return x
    *stack, rows, columns = x.dims
    n = columns if rows is None else rows
    return x.with_dims((*stack, n, n))


def _system_spec(op: str, a: TensorSpec, b: TensorSpec) -> TensorSpec:
    dtype = same_dtype(op, (a, b))
    require_matrix(op, a, "matrix", True)
    require_matrix(op, b, "rhs", False)
    if a.dims is None or b.dims is None:
        return TensorSpec.of(None, dtype)
    n, m = a.dims[-1] if a.dims[-1] is not None else a.dims[-2], b.dims[-2]
    if n is not None and m is not None and n != m:
        raise InvalidArgumentError(
            f"{op}: matrix has shape {format_dims(a.dims)}, rhs has shape {format_dims(b.dims)}; "
            "matrix.shape[-1] must equal rhs.shape[-2]."
        )
    lead = broadcast_dims(op, a.dims[:-2], b.dims[:-2])
    return TensorSpec.of(None if lead is None else (*lead, m if n is None else n, b.dims[-1]), dtype)


def _is_small(size: Any) -> bool:
    """Whether a matrix of this size is done at once, as those are of which only the run finds the size."""
    return bool(run_time_symbols([size])) or (type(size) is int and size <= _WHOLE)


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2)) if a.dtype.kind == "c" else np.swapaxes(a, -1, -2)


def _solve(a: Array, b: Array) -> Array:
    try:
        if a.ndim == 2 and b.ndim > 2:
            # One factorisation serves the whole stack of right-hand sides.
            wide = np.moveaxis(b, -2, 0)
            return np.moveaxis(
                lapack(np.linalg.solve, a, wide.reshape(len(wide), math.prod(wide.shape[1:]))).reshape(
                    wide.shape
                ),
                0,
                -2,
            )
        return lapack(np.linalg.solve, a, b)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError as cause:
        raise MatrixError(SINGULAR) from cause


def _by_blas(a: Any, b: Any, blas: Any, is_lower: bool) -> Any:
    """For a matrix, or one after the other for a stack of them."""
    if not np.diagonal(a, axis1=-2, axis2=-1).all():
        raise MatrixError(SINGULAR)
    (trsm,) = blas.get_blas_funcs(("trsm",), (a, b))
    if a.ndim == 2:
        return _of_triangle(trsm, a, b, is_lower)
    x = np.empty(b.shape, b.dtype)
    for k in np.ndindex(a.shape[:-2]):
        x[k] = _of_triangle(trsm, a[k], b[k], is_lower)
    return x


def _of_triangle(trsm: Any, a: Any, b: Any, is_lower: bool) -> Any:
    # BLAS is column-major, NumPy row-major: solving x^T a^T = b^T needs no copies.
    if a.flags.f_contiguous and not a.flags.c_contiguous:
        return trsm(1, a, b.T, side=1, lower=is_lower, trans_a=1).T
    return trsm(1, a.T, b.T, side=1, lower=not is_lower).T


def _substituted(a: Array, b: Array, is_lower: bool) -> Any:
    """Solve a x = b for a triangle of a, with BLAS if SciPy is there. Otherwise solve for one half of x, subtract its product
    from b and solve for the other half, recursively down to blocks that LAPACK solves. So most of the work is in matrix
    products; NumPy alone would factor a as a full matrix.
    """
    n = a.shape[-1]
    if n > _WHOLE and type(a) is type(b) is np.ndarray and a.shape[:-2] == b.shape[:-2] and b.size:
        blas = library.blas()
        if blas is not None:
            return lapack(_by_blas, a, b, blas, is_lower)
    if n <= _WHOLE:
        return _solve(np.tril(a) if is_lower else np.triu(a), b)
    half = (n // 2 + _BLOCK - 1) // _BLOCK * _BLOCK
    top, bottom = slice(None, half), slice(half, None)
    if is_lower:
        first = _substituted(a[..., top, top], b[..., top, :], True)
        rest = b[..., bottom, :] - a[..., bottom, top] @ first
        return np.concatenate([first, _substituted(a[..., bottom, bottom], rest, True)], -2)
    last = _substituted(a[..., bottom, bottom], b[..., bottom, :], False)
    rest = b[..., top, :] - a[..., top, bottom] @ last
    return np.concatenate([_substituted(a[..., top, top], rest, False), last], -2)


class _System(Op):
    """The base of ops that solve a x = b."""

    def batch(self, ctx: BatchContext, a: Ranked, b: Ranked) -> Tensor:
        if not ctx.stacked(0) and len(a.dims) == 2 and len(b.dims) == 3:
            return self._side_by_side(a, b)
        return bind(self, *align_stacked(ctx, (a, b)))

    def _side_by_side(self, a: Ranked, b: Ranked) -> Tensor:
        """The solutions for one matrix and a stack of right-hand sides, which share one factorisation."""
        *lead, n, m = b.dims
        count = len(lead)
        wide = bind(Transpose((count, *range(count), count + 1)), b)
        found = bind(self, a, bind(Reshape((n, product(lead) * m)), wide))
        return bind(Transpose((*range(1, count + 1), 0, count + 1)), bind(Reshape((n, *lead, m)), found))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        rank = len(specs[1].dims or ())
        if axes[0] is None and axes[1] is not None and axes[1] == rank - 1:
            return max(rank, len(specs[0].dims or ())) - 1
        return matrix_rows(specs, axes, (2, 2)) if axes != [None, None] else None


@define
class Solve(_System):
    """x with a x = b for matrices a [..., n, n] and b [..., n, k], or with the conjugate transpose of a if `adjoint`."""

    name = "solve"
    keeps, keeps_alone = ((0,), True), OF_A_SOLUTION
    adjoint: bool = False

    def infer(self, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        return _system_spec("solve", a, b)

    def eval(self, a: Array, b: Array) -> Array:
        return _solve(_adjoint(a) if self.adjoint else a, b)

    def fold(self, ctx: FoldContext, a: Ranked, b: Ranked) -> Tensor | None:
        """As `eval` does it."""
        if len(a.dims) == 2 < len(b.dims) and is_definite(a.dims) and is_definite(b.dims):
            return self._side_by_side(a, b)
        return None

    @else_eval(FACTORISED)
    def lower(self, a: TensorSpec, b: TensorSpec) -> forms.Form | None:
        if not a.dtype.is_complex:
            return forms.Library("gesv", self.adjoint)
        is_alike = a.dims is not None and b.dims is not None and a.dims[:-2] == b.dims[:-2]
        return forms.Factorised("gesv", adjoint=self.adjoint) if is_alike else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        b_bar = bind(Solve(not self.adjoint), ctx.inputs[0], g)
        a_bar = None
        if ctx.needs(0):
            x = ctx.outputs[0]
            a_bar = times(x, b_bar, adjoint_b=True) if self.adjoint else times(b_bar, x, adjoint_b=True)
            a_bar = unbroadcast(ctx, 0, bind(NEG, a_bar))
        return a_bar, unbroadcast(ctx, 1, b_bar) if ctx.needs(1) else None


@define
class TriangularSolve(_System):
    """As solve, for a triangle of a: the lower one if `lower_`, else the upper one; the other triangle is taken to be 0."""

    name = "triangular_solve"
    keeps, keeps_alone = ((0,), True), OF_A_SOLUTION
    lower_: bool = True
    adjoint: bool = False

    def infer(self, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        return _system_spec("triangular_solve", a, b)

    def eval(self, a: Array, b: Array) -> Array:
        if a.shape[-1] <= _WHOLE and a.dtype.char in "fd" and type(a) is type(b) is np.ndarray:
            return put_in(self._form(), a, b)
        a = _adjoint(a) if self.adjoint else a
        if a.ndim == 2 and b.ndim > 2:
            wide = np.moveaxis(b, -2, 0)
            flat = wide.reshape(len(wide), math.prod(wide.shape[1:]))
            return np.moveaxis(_substituted(a, flat, self.lower_ != self.adjoint).reshape(wide.shape), 0, -2)
        return _substituted(a, b, self.lower_ != self.adjoint)  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        a, b = [ranked(spec.dims) for spec in specs]
        dtype = specs[1].dtype.numpy
        if len(a) == len(b) == 2 and dtype.char in "fd" and 0 < a[-1] * product(b) <= ONE_BY_ONE:
            return put_in_few(self._form(), a[-1], dtype, self.eval)
        return None

    def _form(self) -> forms.Library:
        return _triangle(self.lower_, self.adjoint)

    @else_eval(FACTORISED)
    def lower(self, a: TensorSpec, b: TensorSpec) -> forms.Form | None:
        return self._form() if a.dims and _is_small(a.dims[-1]) else None  # else in several steps

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        b_bar = bind(TriangularSolve(self.lower_, not self.adjoint), ctx.inputs[0], g)
        a_bar = None
        if ctx.needs(0):
            x = ctx.outputs[0]
            full = times(x, b_bar, adjoint_b=True) if self.adjoint else times(b_bar, x, adjoint_b=True)
            half = bind(BandPart(-1, 0) if self.lower_ else BandPart(0, -1), bind(NEG, full))
            a_bar = unbroadcast(ctx, 0, half)
        return a_bar, unbroadcast(ctx, 1, b_bar) if ctx.needs(1) else None


@functools.cache
def _triangle(lower: bool, adjoint: bool) -> forms.Library:
    return forms.Library("gesv", adjoint, "lower" if lower != adjoint else "upper")


def _by_lapack(x: Array) -> np.ndarray | None:
    """The inverse of one larger matrix by its factors alone, in half the time that solving for the unit matrix takes; None where
    it is singular, or SciPy is missing.
    """
    if type(x) is not np.ndarray or x.ndim != 2 or len(x) <= _WHOLE:
        return None
    routines = library.lapack()
    if routines is None:
        return None
    wide = x.astype(np.result_type(x.dtype, np.float64))  # a copy, in which NumPy computes too
    getrf, getri, room = routines.get_lapack_funcs(("getrf", "getri", "getri_lwork"), (wide,))
    # LAPACK is column-major, NumPy row-major: the inverse of the transpose needs no copies.
    factors, pivots, info = getrf(wide.T, overwrite_a=1)
    if info:
        return None
    found, info = getri(factors, pivots, lwork=int(room(len(x))[0].real), overwrite_lu=1)
    return None if info else np.ascontiguousarray(found.T, x.dtype)


@define
class Inverse(OfMatrix):
    """The inverse of the last two axes; a singular matrix is an error."""

    name = "inv"
    keeps = (False, True)

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_matrix("inv", x, "input", True)
        return _squared(x)

    def eval(self, x: Array) -> Array:
        found = lapack(_by_lapack, x)
        if found is not None:
            return found  # type: ignore[no-any-return]
        try:
            return lapack(np.linalg.inv, x)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError as cause:
            raise MatrixError(
                "inv: Input is not invertible: a matrix of it is singular; tf.linalg.pinv gives a pseudo-inverse."
            ) from cause

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        if not x.dims or (len(x.dims) == 2 and not _is_small(x.dims[0])):
            return None  # perhaps by its factors alone
        return forms.Factorised("getri")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        y = ctx.outputs[0]
        return (bind(NEG, times(y, times(g, y, adjoint_b=True), adjoint_a=True)),)


@define
class Cholesky(OfMatrix):
    """The lower triangular L with L L^H = x, for Hermitian positive definite matrices [..., n, n] of which the lower triangle
    is read. Other matrices are an error, but one that holds NaN or infinity gives NaN.
    """

    name = "cholesky"
    keeps = (False, True)

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_matrix("cholesky", x, "input", True)
        return _squared(x)

    def eval(self, x: Array) -> Array:
        try:
            return lapack(np.linalg.cholesky, x)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError as cause:
            finite = np.isfinite(x).all((-2, -1), keepdims=True)
            # NaN for those that hold infinities or NaN, as where the factorisation gets through.
            if not finite.all():
                factors = self.eval(np.where(finite, x, np.eye(x.shape[-1], dtype=x.dtype)))
                return np.where(finite, factors, np.tril(np.full(x.shape, np.nan, x.dtype)))
            raise MatrixError(
                "cholesky: Cholesky decomposition was not successful. The input might not be valid: it must be positive "
                "definite. If it is so up to rounding, add a small multiple of tf.eye."
            ) from cause

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Library("potrf")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        # L^-H P(L^H g) L^-1, made Hermitian; P keeps the lower triangle and halves the diagonal (Murray, 2016, eq. 10).
        factor = ctx.outputs[0]
        middle = bind(BandPart(-1, 0), times(factor, g, adjoint_a=True))
        half = scalar_like(0.5, middle)
        middle = bind(SetDiag(0), middle, bind(MUL, bind(DiagPart(0), middle), half))
        turn = TriangularSolve(True, True)
        x_bar = adjoint(bind(turn, factor, adjoint(bind(turn, factor, middle))))
        return (bind(MUL, half, x_bar + adjoint(x_bar)),)


@blaming
def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solve matrix x = rhs, over leading axes that broadcast.

    Args:
      matrix: Tensor [..., n, n], float32, float64 or complex.
      rhs: Tensor [..., n, k] of the same dtype.
      adjoint: Solve with the adjoint of `matrix`.
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError: the matrix is singular ("Input matrix is not invertible."), or the sizes do not fit.
    Example:
      >>> linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [2.0]]).numpy()
      array([[1. ],
             [0.5]], dtype=float32)
    """
    if is_operator(matrix):
        return matrix.solve(rhs, adjoint=adjoint)  # type: ignore[no-any-return]
    a, b = lift_pair("solve", matrix, rhs)
    return bind(Solve(bool(adjoint)), a, b)


@blaming
def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """`solve` for a triangular matrix, of which only the triangle named by `lower` is read.

    Args:
      matrix: Tensor [..., n, n], a float or complex dtype.
      rhs: Tensor [..., n, k] of the same dtype.
      lower: Whether to read the lower triangle; otherwise the upper one.
      adjoint: Solve with the adjoint of `matrix`.
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError (a ValueError): there is a 0 on the diagonal, or the shapes do not fit; DTypeError (a
      TypeError): dtypes that differ.
    Example:
      >>> linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[2.0], [3.0]]).numpy()
      array([[1.],
             [2.]], dtype=float32)
    """
    a, b = lift_pair("triangular_solve", matrix, rhs)
    return bind(TriangularSolve(bool(lower), bool(adjoint)), a, b)


@blaming
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of square matrices [..., n, n], or the adjoint of the inverse.

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
      adjoint: Whether to return the adjoint of the inverse.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a matrix is singular ("Input is not invertible."), or not square; DTypeError (a
      TypeError): another dtype.
    Example:
      >>> linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
      array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    if is_operator(input):
        return input.inverse().adjoint() if adjoint else input.inverse()  # type: ignore[no-any-return]
    x = lift(input)
    # LAPACK has no 16 bits; a result of 32 is rounded once.
    y = cast(bind(Inverse(), cast(x, float32)), float16) if x.dtype is float16 else bind(Inverse(), x)
    return _turned(y) if adjoint else y


_turned = adjoint


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of positive definite matrices [..., n, n].

    Args:
      matrix: Tensor [..., n, n], a float or complex dtype.
    Returns: Real tensor [...].
    Raises: InvalidArgumentError (a ValueError): a matrix is not positive definite, or not square; DTypeError (a TypeError):
      another dtype.
    """
    if is_operator(matrix):
        if not (matrix.is_self_adjoint and matrix.is_positive_definite):
            raise InvalidArgumentError(
                f"logdet: the operator is {matrix!r}; it must have is_self_adjoint=True and is_positive_definite=True."
            )
        return matrix.log_abs_determinant()  # type: ignore[no-any-return]
    d = log(real(bind(DiagPart(0), cholesky(matrix))))
    return reduce_sum(d + d, axis=-1)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """The lower triangular L with L L^H = input, for positive definite matrices [..., n, n].

    Only the lower triangle is read; the gradient is symmetric.

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [..., n, n] of the same dtype, zero above the diagonal.
    Raises: InvalidArgumentError (a ValueError): a matrix is not positive definite, or not square; DTypeError (a TypeError):
      another dtype.
    Example:
      >>> linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
      array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    if is_operator(input):
        return input.cholesky()  # type: ignore[no-any-return]
    return bind(Cholesky(), lift(input))


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve L L^H x = rhs, given the Cholesky factor L.

    Args:
      chol: Tensor [..., n, n], a float or complex dtype: the result of `cholesky`.
      rhs: Tensor [..., n, k] of the same dtype.
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or there is a 0 on the diagonal; DTypeError (a
      TypeError): dtypes that differ.
    """
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)
