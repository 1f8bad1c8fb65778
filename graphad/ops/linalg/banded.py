"""Banded matrices: products, systems and eigenvalues of tridiagonal ones, systems of triangular ones.

The diagonals are rows of a tensor [..., number of diagonals, n], the highest first: row k holds a[i, i + above - k] at
position i. Elements of a row that lie outside the matrix are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, lift_pair
from graphad.core.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    MatrixError,
    MissingGradientError,
    UnsupportedOptionError,
)
from graphad.core.op import Op, define, else_eval
from graphad.core.schema import Count
from graphad.core.shapes import broadcast_dims, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.join import stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.slice import getitem
from graphad.ops.array.squeezing import squeeze
from graphad.ops.directly import directly
from graphad.ops.linalg.diagonal import matrix_rows
from graphad.ops.linalg.diagonals import diag_part
from graphad.ops.linalg.direct import SINGULAR
from graphad.ops.linalg.eigen import Eigh, real_eigenvalues
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.systems import FACTORISED, require_matrix
from graphad.ops.linalg.tridiagonal import TridiagonalEigenvalues, full_matrix
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import conj, conjugate
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.rules import OF_A_SOLUTION, align_stacked, same_dtype, unbroadcast


@define
class BandedSolve(Op):
    """x with a x = b for b [..., n, k] and a with `above` diagonals above the main one and `below` below it, given as rows
    [..., above + 1 + below, n], the highest diagonal first: row r holds a[i, i + above - r] at position i. A singular
    matrix is an error.
    """

    name = "banded_solve"
    keeps, keeps_alone = ((0,), True), OF_A_SOLUTION
    below: Count
    above: Count

    def infer(self, bands: TensorSpec, b: TensorSpec) -> TensorSpec:
        dtype = same_dtype(self.name, (bands, b))
        require_matrix(self.name, bands, "diagonals", False)
        require_matrix(self.name, b, "rhs", False)
        if bands.dims is None or b.dims is None:
            return TensorSpec.of(None, dtype)
        if bands.dims[-2] not in (None, self.below + self.above + 1):
            raise InvalidArgumentError(
                f"{self.name}: diagonals have shape {format_dims(bands.dims)}; {self.below + self.above + 1} of them are needed."
            )
        n, m = bands.dims[-1], b.dims[-2]
        if n is not None and m is not None and n != m:
            raise InvalidArgumentError(
                f"{self.name}: diagonals have shape {format_dims(bands.dims)}, rhs has shape {format_dims(b.dims)}; "
                "diagonals.shape[-1] must equal rhs.shape[-2]."
            )
        lead = broadcast_dims(self.name, bands.dims[:-2], b.dims[:-2])
        return TensorSpec.of(None if lead is None else (*lead, m if n is None else n, b.dims[-1]), dtype)

    def eval(self, bands: Array, b: Array) -> Array:
        bands, b = (arrays.here(x, "scipy.linalg.solve_banded") for x in (bands, b))
        n = bands.shape[-1]
        packed = np.zeros(bands.shape, bands.dtype)  # LAPACK stores bands by columns
        for row in range(bands.shape[-2]):
            up = self.above - row
            source = slice(0, max(n - up, 0)) if up >= 0 else slice(-up, None)
            target = slice(up, None) if up >= 0 else slice(0, max(n + up, 0))
            packed[..., row, target] = bands[..., row, source]
        if bands.ndim == b.ndim == 2 and b.size:
            return self._solved(packed, b).astype(b.dtype, copy=False)
        lead = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
        right = np.broadcast_to(b, (*lead, *b.shape[-2:]))
        if not right.size:
            return np.empty(right.shape, b.dtype)
        width, k = packed.shape[-2], b.shape[-1]
        if packed.size == width * n:  # one matrix: what stands on the right of it is further columns
            columns = np.moveaxis(right, -2, 0)
            x = self._solved(packed.reshape(width, n), columns.reshape(n, -1)).reshape(columns.shape)
            return np.moveaxis(x, 0, -2).astype(b.dtype)
        packed = np.broadcast_to(packed, (*lead, width, n))
        # Matrices below each other along the diagonal of one, with zeros between them, are one banded matrix.
        whole = np.moveaxis(packed, -2, 0).reshape(width, -1)
        out = self._solved(whole, right.reshape(-1, k)).reshape(right.shape).astype(b.dtype, copy=False)
        if not np.isfinite(out).all():  # 0 times what is not finite has got into their neighbours
            for place in np.ndindex(lead):
                out[place] = self._solved(packed[place], right[place])
        return out

    def _solved(self, packed: Array, right: Array) -> Array:
        """The solution of one system [n, k]."""
        if packed.shape[-1] == 1 and not packed[self.above].all():  # SciPy divides by it
            raise MatrixError(SINGULAR)
        try:
            solve = library.linalg().solve_banded
            return solve((self.below, self.above), packed, right, check_finite=False)  # type: ignore[no-any-return]
        except np.linalg.LinAlgError as cause:
            raise MatrixError(SINGULAR) from cause

    @else_eval(FACTORISED)
    def lower(self, bands: TensorSpec, b: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.BandSolved(self.below, self.above)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        bands = ctx.inputs[0]
        if bands.dims is None:
            raise MissingGradientError(
                f"{self.name}: the gradient needs a rank of the diagonals that is known while tracing; set the shape."
            )
        b_bar = bind(BandedSolve(self.above, self.below), turned(bands, self.below, self.above), g)
        bar = None
        if ctx.needs(0):
            x = ctx.outputs[0]
            if x.dims is None:
                raise MissingGradientError(
                    f"{self.name}: the gradient by the bands needs a rank that is known while tracing; set the shape."
                )
            width = self.below + self.above
            wide = pad(conjugate(x), [[0, 0]] * (len(x.dims) - 2) + [[self.below, self.above], [0, 0]])
            rows = []
            for row in range(width + 1):
                part = getitem(wide, (..., slice(width - row, -row if row else None), slice(None)))
                rows.append(reduce_sum(b_bar * part, axis=-1))
            bar = unbroadcast(ctx, 0, bind(NEG, stack(rows, -2)))
        return bar, unbroadcast(ctx, 1, b_bar) if ctx.needs(1) else None

    def batch(self, ctx: BatchContext, bands: Ranked, b: Ranked) -> Tensor:
        return bind(self, *align_stacked(ctx, (bands, b)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 2)) if axes != [None, None] else None


def turned(bands: Any, below: int, above: int) -> Tensor:
    """The diagonals of the adjoint: `above` below its main one and `below` above it."""
    wide = pad(conjugate(bands), [[0, 0]] * (len(bands.dims) - 1) + [[above, below]])
    rows = []
    for row in range(below + above + 1):
        start = above + below - row
        rows.append(getitem(wide, (..., start, slice(start, -row if row else None))))
    return stack(rows, -2)


def _sequence(op: str, diagonals: TensorLike) -> list[Any]:
    """A list of three diagonals as tensors of one length."""
    if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
        raise ArgumentTypeError(
            f"{op}: diagonals are {type(diagonals).__name__}; a list of superdiagonal, main diagonal, subdiagonal is needed."
        )
    middle: Any = lift(diagonals[1])
    upper, _ = lift_pair(op, diagonals[0], middle)
    lower, _ = lift_pair(op, diagonals[2], middle)
    known: list[Any] = [part.dims[-1] if part.dims else None for part in (upper, middle, lower)]
    if None in known:
        raise InvalidArgumentError(f"{op}: the sizes of a sequence of diagonals must be known while tracing.")
    no = [[0, 0]] * (len(middle.dims) - 1)
    if known[0] == known[1] - 1:
        upper = pad(upper, [*no, [0, 1]])
    if known[2] == known[1] - 1:
        lower = pad(lower, [*no, [1, 0]])
    return [upper, middle, lower]


def compact_diagonals(op: str, diagonals: TensorLike, form: str) -> Tensor:
    """The three diagonals of a tridiagonal matrix as rows."""
    if form == "matrix":
        a = lift(diagonals)
        require_matrix(op, a.spec, "diagonals", True)
        return diag_part(a, k=(-1, 1), align="LEFT_RIGHT")
    if form == "sequence":
        return stack(_sequence(op, diagonals), -2)
    if form != "compact":
        raise InvalidArgumentError(
            f"{op}: diagonals_format is {form!r}; it is 'compact', 'sequence' or 'matrix'."
        )
    a = lift(diagonals)
    if a.dims is not None and (len(a.dims) < 2 or a.dims[-2] not in (None, 3)):
        raise InvalidArgumentError(f"{op}: diagonals have shape {a.shape}; [..., 3, n] is needed.")
    return a


@blaming
def tridiagonal_matmul(
    diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices and matrices.

    Args:
      diagonals: "compact": [..., 3, n], the rows being the superdiagonal (its last element is not read), the main
        diagonal and the subdiagonal (its first element is not read). "sequence": a list of these three; superdiagonal
        and subdiagonal may have n - 1 elements. "matrix": [..., n, n], of which only the three diagonals are read.
      rhs: Tensor [..., n, k] of the same float or complex dtype.
      diagonals_format: "compact", "sequence" or "matrix".
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or the format is unknown.
    """
    op = "tridiagonal_matmul"
    if diagonals_format == "sequence":
        rows: list[Any] = _sequence(op, diagonals)
        sizes = {part.dims for part in rows}
        x, a = lift_like(op, rhs, rows[0].dtype), rows[0] if len(sizes) == 1 else stack(rows, -2)
        rows = [expand_dims(part, -1) for part in rows]
    else:
        a, x = lift_pair(op, compact_diagonals(op, diagonals, diagonals_format), rhs)
        rows = []
    if x.ndim is None or a.ndim is None or x.ndim < 2:
        raise InvalidArgumentError(f"{op}: rhs has shape {x.shape}; a matrix of known rank is needed.")
    upper, middle, lower = rows or [expand_dims(getitem(a, (..., row, slice(None))), -1) for row in range(3)]
    found = directly(_times_tridiagonal, upper, middle, lower, x)
    if found is not None:
        return found
    # What lies outside of the matrix is not read, as it may be NaN.
    above = getitem(upper, _BUT_LAST) * getitem(x, _BUT_FIRST)
    below = getitem(lower, _BUT_FIRST) * getitem(x, _BUT_LAST)
    total: Tensor = _beside(above, 0, 1) + middle * x + _beside(below, 1, 0)
    return total


_BUT_FIRST, _BUT_LAST = (..., slice(1, None), slice(None)), (..., slice(0, -1), slice(None))


def _beside(x: Tensor, before: int, after: int) -> Tensor:
    """Matrices with rows of zeros before and after."""
    return pad(x, [[0, 0]] * (len(ranked(x.dims)) - 2) + [[before, after], [0, 0]])


def _times_tridiagonal(upper: Any, middle: Any, lower: Any, x: Any) -> Any:
    """The steps of `tridiagonal_matmul`; None where batches are repeated."""
    if not x.size or any(row.shape[:-1] != x.shape[:-1] for row in (upper, middle, lower)):
        return None
    total = middle * x
    total[_BUT_LAST] += upper[_BUT_LAST] * x[_BUT_FIRST]
    total[..., -1:, :] += 0  # as to what is padded: of zeros the sum is 0.0, whatever their sign
    total[_BUT_FIRST] += lower[_BUT_FIRST] * x[_BUT_LAST]
    total[..., :1, :] += 0
    return total


@blaming
def tridiagonal_solve(
    diagonals: TensorLike,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solve a x = rhs for tridiagonal matrices a, with LAPACK.

    Args:
      diagonals: As for `tridiagonal_matmul`.
      rhs: Tensor [..., n], or [..., n, k], of the same float or complex dtype.
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs: Whether `rhs` is [..., k, n]; ignored if it is [..., n].
      conjugate_rhs: Solve for the conjugate of `rhs`.
      partial_pivoting: Accepted for compatibility; rows are always pivoted.
      perturb_singular: Not supported.
    Returns: Tensor with the shape of `rhs`, or [..., n, k] if that was transposed.
    Raises: InvalidArgumentError: a matrix is singular, or the sizes do not fit.
    """
    op = "tridiagonal_solve"
    if perturb_singular:
        raise UnsupportedOptionError(
            f"{op}: perturb_singular is not supported; add a small number to the main diagonal."
        )
    a, b = lift_pair(op, compact_diagonals(op, diagonals, diagonals_format), rhs)
    if a.ndim is None or b.ndim is None:
        raise InvalidArgumentError(f"{op}: the ranks of diagonals and rhs must be known while tracing.")
    is_vector = b.ndim == a.ndim - 1
    if conjugate_rhs:
        b = conj(b)
    if is_vector:
        return squeeze(bind(BandedSolve(1, 1), a, expand_dims(b, -1)), -1)
    if transpose_rhs:
        b = adjoint_of(conj(b))
    return bind(BandedSolve(1, 1), a, b)


@blaming
def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve a x = rhs for banded triangular matrices a.

    Args:
      bands: Tensor [..., k, n]: the diagonals from the highest to the lowest, a[i, j] at position i of its row. For a
        lower triangle the main diagonal is the first row, and the leading elements of the other rows that lie outside
        the matrix are not read. For an upper triangle it is the last row, and the trailing elements are not read.
      rhs: Tensor [..., n, m] of the same float or complex dtype.
      lower: Whether the matrices are lower triangular; otherwise upper.
      adjoint: Solve with the adjoint of the matrix.
    Returns: Tensor [..., n, m] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or there is a 0 on the diagonal.
    """
    op = "banded_triangular_solve"
    a, b = lift_pair(op, bands, rhs)
    require_matrix(op, a.spec, "bands", False)
    count = None if a.dims is None else a.dims[-2]
    if not isinstance(count, int) or not count or b.ndim is None:
        raise InvalidArgumentError(
            f"{op}: bands have shape {a.shape} and rhs {b.shape}; the number of diagonals, at least 1, and the rank of rhs must "
            "be known."
        )
    below, above = (count - 1, 0) if lower else (0, count - 1)
    if adjoint:
        a, below, above = turned(a, below, above), above, below
    return bind(BandedSolve(below, above), a, b)


@blaming
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The eigenvalues of Hermitian tridiagonal matrices in ascending order, differentiable. Eigenvalues alone of
    real matrices are computed from the two diagonals, others and eigenvectors by `eigh` of the full matrix.

    Args:
      alpha: The main diagonal [..., n], a float or complex dtype.
      beta: The superdiagonal [..., n - 1]; the subdiagonal is its conjugate.
      eigvals_only: Whether to return the eigenvalues alone; otherwise the eigenvectors too, as columns.
      select: "a" for all eigenvalues, "i" for those with indices select_range[0] to select_range[1], "v" for
        those from select_range[0] to select_range[1], which takes a single matrix; both ends are included.
      select_range: The two bounds for "i" and "v".
      tol: Accepted for compatibility; ignored.
    Returns: The eigenvalues [..., n], real, or (values, vectors [..., n, n]).
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or `select` is unknown.
    """
    op = "eigh_tridiagonal"
    middle, off = lift_pair(op, alpha, beta)
    if select not in ("a", "i", "v"):
        raise InvalidArgumentError(f"{op}: select is {select!r}; it is 'a', 'i' or 'v'.")
    if select != "a" and (not isinstance(select_range, list | tuple) or len(select_range) != 2):
        raise InvalidArgumentError(
            f"{op}: select_range is {select_range!r}; for select={select!r} it is two numbers."
        )
    values: Any
    vectors: Any = None
    if not eigvals_only:
        values, vectors = bind(Eigh(), full_matrix(middle, off))
    elif middle.dtype.is_complex:
        values = real_eigenvalues(full_matrix(middle, off))
    else:
        values = bind(TridiagonalEigenvalues(), middle, off)
    if select == "i":
        chosen = slice(int(select_range[0]), int(select_range[1]) + 1)
        values = values[..., chosen]
        vectors = None if vectors is None else vectors[..., chosen]
    elif select == "v":
        if values.ndim != 1:
            raise InvalidArgumentError(
                f"{op}: alpha has shape {middle.shape}; for select='v' it is a vector."
            )
        low, high = (cast(end, values.dtype) for end in select_range)
        mask = (values >= low) & (values <= high)
        values = boolean_mask(values, mask)
        vectors = None if vectors is None else boolean_mask(vectors, mask, axis=1)
    return values if vectors is None else (values, vectors)
