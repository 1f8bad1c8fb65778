"""Factorisations of matrices that need not be symmetric: QR, LU, and eigenvalues. LAPACK through NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    Cotangents,
    DTypeLike,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dims import least
from graphad.core.dtypes import DType, as_dtype, float16, float32, int32, int64
from graphad.core.errors import ArgumentTypeError, MatrixError, MissingGradientError
from graphad.core.op import define, else_eval, no_form
from graphad.core.shapes import ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops import library
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import zeros_like
from graphad.ops.array.gather import Gather
from graphad.ops.array.indicators import one_hot
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.shape import shape, sizes_of
from graphad.ops.array.slice import getitem
from graphad.ops.array.sorting import argsort
from graphad.ops.linalg.diagonal import BandPart, DiagPart, PartsOfMatrix, SetDiag
from graphad.ops.linalg.direct import lapack
from graphad.ops.linalg.eigen import iterated
from graphad.ops.linalg.matmul import adjoint, times
from graphad.ops.linalg.systems import FACTORISED, Solve, TriangularSolve, require_matrix
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.complexes import CONJ, complex_dtype, real
from graphad.ops.math.select import where
from graphad.ops.rules import scalar_like


class _Factors(PartsOfMatrix):
    """The base of factorisations of stacks of matrices."""

    lower = no_form(FACTORISED)


def _least(m: int | None, n: int | None) -> int | None:
    return None if m is None or n is None else least(m, n)


def _lower(x: Tensor) -> Tensor:
    return bind(BandPart(-1, 0), x)


def _upper(x: Tensor) -> Tensor:
    return bind(BandPart(0, -1), x)


def _strictly_lower(x: Tensor) -> Tensor:
    low = _lower(x)
    return bind(SetDiag(0), low, zeros_like(bind(DiagPart(0), low)))


@define
class Qr(_Factors):
    """Two outputs for x [..., m, n]: q with orthonormal columns and r, upper triangular, with x = q r; min(m, n) columns of q and
    rows of r, or m each if `full`.
    """

    name = "qr"
    keeps = (False, True)
    full: bool

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("qr", x, "input", False)
        if x.dims is None:
            return x, x
        *lead, m, n = ranked(x.dims)
        inner = m if self.full else _least(m, n)
        return x.with_dims((*lead, m, inner)), x.with_dims((*lead, inner, n))

    def eval(self, x: Array) -> tuple[Array, Array]:
        q, r = lapack(np.linalg.qr, x, "complete" if self.full else "reduced")
        return q, r

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Factorised("geqrf", self.full)

    def vjp(self, ctx: VjpContext, q_bar: Tensor | None, r_bar: Tensor | None) -> Cotangents:
        # Walter and Lehmann (2018), "On evaluating higher-order derivatives of the QR decomposition of tall matrices with full
        # column rank"; if there are more columns than rows, the other columns of r are q^H x (Roberts and Roberts,
        # 2020).
        q, r = ctx.outputs
        m, n = (None, None) if q.dims is None or r.dims is None else (q.dims[-2], r.dims[-1])
        tall = isinstance(m, int) and isinstance(n, int) and m >= n
        if self.full and not (isinstance(m, int) and isinstance(n, int) and m <= n):
            raise MissingGradientError(
                "qr: with full_matrices=True there is a derivative only if rows <= columns is known; "
                "use full_matrices=False."
            )
        q_bar = zeros_like(q) if q_bar is None else q_bar
        r_bar = zeros_like(r) if r_bar is None else r_bar
        if tall:
            return (_square_bar(q, r, q_bar, r_bar),)
        k = m if isinstance(m, int) and isinstance(n, int) else getitem(sizes_of(q), -1)
        first, rest = getitem(r, (..., slice(0, k))), getitem(r, (..., slice(k, None)))
        of_first, of_rest = getitem(r_bar, (..., slice(0, k))), getitem(r_bar, (..., slice(k, None)))
        q_bar = q_bar + times(times(q, rest), of_rest, adjoint_b=True)
        return (concat([_square_bar(q, first, q_bar, of_first), times(q, of_rest)], axis=-1),)


def _square_bar(q: Tensor, r: Tensor, q_bar: Tensor, r_bar: Tensor) -> Tensor:
    """The cotangent of q r for a square r."""
    middle = times(r, _upper(r_bar), adjoint_b=True) - times(q_bar, q, adjoint_a=True)
    # Made Hermitian from its lower triangle. The diagonal is real, since that of r is.
    low = _strictly_lower(middle)
    diagonal = bind(DiagPart(0), middle)
    if q.dtype.is_complex:
        diagonal = cast(real(diagonal), q.dtype)
    middle = bind(SetDiag(0), low + adjoint(low), diagonal)
    return adjoint(bind(TriangularSolve(False, False), r, adjoint(q_bar + times(q, middle))))


_SINGULAR = "lu: Input is not invertible: a matrix of it is singular."


@define
class Lu(_Factors):
    """Two outputs for square x [..., n, n]: l and u in one matrix, without the ones on the diagonal of l; and p, of
    dtype `index`, with x[p] = l u: row p[i] of x is row i of the product.
    """

    name = "lu"
    keeps = (False, True)
    index: DType

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("lu", x, "input", True)
        if self.index not in (int32, int64):
            raise ArgumentTypeError(f"lu: output_idx_type is {self.index.name}; int32 or int64 is needed.")
        return x, TensorSpec.of(None if x.dims is None else x.dims[:-1], self.index)

    def eval(self, x: Array) -> tuple[Array, Array]:
        factors, order = arrays.copy(x), np.empty(x.shape[:-1], self.index.numpy)
        if not arrays.is_here(x):
            return self._there(x, factors, order)  # type: ignore[no-any-return]
        if not x.size:
            return factors, order
        getrf = library.linalg().lapack.get_lapack_funcs("getrf", (factors,))
        for place in np.ndindex(x.shape[:-2]):
            factors[place], pivots, info = lapack(getrf, x[place])
            if info > 0:
                raise MatrixError(_SINGULAR)
            order[place] = _swapped(pivots.tolist())
        return factors, order

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        """For matrices that the library factorises on one thread, so that the bits do not depend on how many there are."""
        n = x.dims[-1] if x.dims else None
        return forms.Pivoted() if type(n) is int and n < forms.ON_ONE_THREAD.start else None

    def _there(self, x: Any, factors: Any, order: Array) -> Any:
        """On a device; only the pivots of each matrix come back."""
        for place in np.ndindex(x.shape[:-2]) if x.size else ():
            factors[place], pivots = x[place].factored()
            order[place] = _swapped(pivots.tolist())
        if not (np.diagonal(factors, 0, -2, -1) != 0).all():
            raise MatrixError(_SINGULAR)
        return factors, x.given(order)

    def vjp(self, ctx: VjpContext, g: Tensor | None, p_bar: Tensor | None) -> Cotangents:
        # de Hoog, Anderssen and Lukas (2011), "Differentiation of matrix functionals using triangular factorization".
        if g is None:
            return (None,)
        factors, order = ctx.outputs
        unit = _unit(factors)
        inner = _strictly_lower(times(unit, _strictly_lower(g), adjoint_a=True))
        inner = inner + _upper(times(_upper(g), _upper(factors), adjoint_b=True))
        inner = bind(TriangularSolve(True, True), unit, inner)
        inner = adjoint(bind(TriangularSolve(False, False), factors, adjoint(inner)))
        return (_rows_at(inner, argsort(order, axis=-1)),)


def _swapped(pivots: Sequence[int]) -> list[int]:
    """The order of rows after each has been exchanged with its pivot."""
    rows = list(range(len(pivots)))
    for i, k in enumerate(pivots):
        rows[i], rows[k] = rows[k], rows[i]
    return rows


def _unit(factors: Tensor) -> Tensor:
    """The lower factor, with the ones on its diagonal."""
    low = _lower(factors)
    d = bind(DiagPart(0), low)
    return bind(SetDiag(0), low, zeros_like(d) + scalar_like(1, d))


def _rows_at(x: Any, order: Tensor) -> Tensor:
    """Row order[..., i] of x for row i."""
    rank = order.ndim
    if rank is None or x.ndim is None:
        return times(one_hot(order, getitem(sizes_of(order), -1), dtype=x.dtype), x)
    if x.ndim - 1 > rank:
        order = broadcast_to(order, concat([shape(x)[:-2], shape(order)[-1:]], axis=0))
    elif x.ndim - 1 < rank:
        x = broadcast_to(x, concat([shape(order)[:-1], shape(x)[-2:]], axis=0))
    return bind(Gather(x.ndim - 2, x.ndim - 2, False), x, order)


@define
class Eig(_Factors):
    """Two outputs for square x [..., n, n]: its eigenvalues in LAPACK's order, and its eigenvectors as columns of length 1, each
    determined up to a factor of absolute value 1; both complex.
    """

    name = "eig"
    keeps = (True, True)

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("eig", x, "tensor", True)
        dtype = x.dtype if x.dtype.is_complex else complex_dtype(x.dtype)
        return TensorSpec.of(None if x.dims is None else x.dims[:-1], dtype), TensorSpec.of(x.dims, dtype)

    def eval(self, x: Array) -> tuple[Array, Array]:
        dtype = np.result_type(x.dtype, np.complex64)
        if not x.size:
            return np.zeros(x.shape[:-1], dtype), np.zeros(x.shape, dtype)
        values, vectors = iterated("eig", np.linalg.eig, x)
        return values.astype(dtype), vectors.astype(dtype)

    def vjp(self, ctx: VjpContext, e_bar: Tensor | None, v_bar: Tensor | None) -> Cotangents:
        # Boeddeker et al. (2017), "On the computation of complex-valued gradients with application to statistically optimum
        # beamforming", (4.77); the part that would only rotate the phase of a unit vector is removed.
        e, v = ctx.outputs
        inner = None
        if v_bar is not None:
            turn = times(v, v_bar, adjoint_a=True)
            gram = times(v, v, adjoint_a=True)
            lengths = cast(real(bind(DiagPart(0), turn)), v.dtype)
            turn = turn - gram * bind(ExpandDims((-2,)), lengths)
            difference = bind(ExpandDims((-2,)), e) - bind(ExpandDims((-1,)), e)
            same = equal(difference, scalar_like(0, e))
            inverse = where(
                same, scalar_like(0, e), scalar_like(1, e) / where(same, scalar_like(1, e), difference)
            )
            inner = turn * bind(CONJ, inverse)
        if e_bar is not None:
            base = zeros_like(v) if inner is None else inner
            inner = bind(SetDiag(0), base, e_bar)
        x_bar = bind(Solve(True), v, times(inner, v, adjoint_b=True))
        return (x_bar if ctx.inputs[0].dtype.is_complex else real(x_bar),)


class QrFactors(NamedTuple):
    """What `qr` gives: q with orthonormal columns, r upper triangular."""

    q: Tensor
    r: Tensor


class LuFactors(NamedTuple):
    """What `lu` gives: both factors in one matrix, and the order of the rows."""

    lu: Tensor
    p: Tensor


@blaming
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> QrFactors:
    """(q, r) with q r = input, q having orthonormal columns and r being upper triangular.

    Args:
      input: Tensor [..., m, n], a float or complex dtype.
      full_matrices: Give m columns of q and m rows of r instead of min(m, n).
    Returns: A named tuple of q [..., m, k] and r [..., k, n], with k = min(m, n), or m for full matrices.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes; DTypeError (a TypeError): another dtype.
    Example:
      >>> linalg.qr([[1.0, 2.0], [0.0, 3.0]])[1].shape
      TensorShape([2, 2])
    """
    x, op = lift(input), Qr(bool(full_matrices))
    if x.dtype is float16:  # LAPACK has no 16 bits; results of 32 are rounded once
        return QrFactors(*[cast(part, float16) for part in bind(op, cast(x, float32))])
    return QrFactors(*bind(op, x))


def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> LuFactors:
    """(lu, p): both factors of square matrices in one [..., n, n], without the ones on the diagonal of the lower one,
    and the row order p [..., n]: they are the factors of the matrix with its rows in that order.

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
      output_idx_type: The dtype of p, int32 or int64.
    Returns: A named tuple of lu [..., n, n] and p [..., n].
    Raises: InvalidArgumentError: a matrix is singular.
    """
    return LuFactors(*bind(Lu(as_dtype(output_idx_type)), lift(input)))


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve a x = rhs, given the LU factors and the row order of a from `lu`.

    Args:
      lower_upper: Tensor [..., n, n], a float or complex dtype.
      perm: Integer tensor [..., n].
      rhs: Tensor [..., n, k] of the same dtype.
      validate_args: Whether to check the shapes again when the function runs.
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    factors, b = lift_pair("lu_solve", lower_upper, rhs)
    b = _rows_at(b, lift(perm))
    return bind(TriangularSolve(False, False), factors, bind(TriangularSolve(True, False), _unit(factors), b))


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix with these LU factors and this row order from `lu`.

    Args:
      lower_upper: Tensor [..., n, n], a float or complex dtype.
      perm: Integer tensor [..., n].
      validate_args: Whether to check the shapes again when the function runs.
    Returns: Tensor [..., n, n].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    factors = lift(lower_upper)
    return _rows_at(times(_unit(factors), _upper(factors)), argsort(lift(perm), axis=-1))


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of the matrix with these LU factors and this row order from `lu`.

    Args:
      lower_upper: Tensor [..., n, n], a float or complex dtype.
      perm: Integer tensor [..., n].
      validate_args: Whether to check the shapes again when the function runs.
    Returns: Tensor [..., n, n].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    factors = lift(lower_upper)
    none = zeros_like(factors)
    d = bind(DiagPart(0), none)
    return lu_solve(factors, perm, bind(SetDiag(0), none, d + scalar_like(1, d)))


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices, complex.

    Args:
      tensor: Tensor [..., n, n], float or complex.
    Returns: (values [..., n]; vectors [..., n, n], one in each column, of length 1).
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): the matrices are not square.
    """
    values, vectors = bind(Eig(), lift(tensor))
    return values, vectors


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices; see `eig`.

    Args:
      tensor: Tensor [..., n, n], float or complex.
    Returns: Complex tensor [..., n].
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): the matrices are not square.
    """
    return eig(tensor)[0]
