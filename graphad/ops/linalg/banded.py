"""Matrices of a few diagonals: products, systems and eigenvalues of tridiagonal ones, systems of banded triangular ones.

The diagonals are rows of a tensor [..., number of diagonals, n], the highest first: row k holds a[i, i + above - k] at place i.
What would lie outside of the matrix is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
from graphad.core.convert import lift, lift_pair
from graphad.core.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    MissingGradientError,
    UnsupportedOptionError,
)
from graphad.core.op import Op, define
from graphad.core.schema import Count
from graphad.core.shapes import broadcast_dims, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.join import stack
from graphad.ops.array.padding import pad
from graphad.ops.array.scatter import boolean_mask
from graphad.ops.array.shape import expand_dims
from graphad.ops.array.slice import getitem
from graphad.ops.array.squeeze import squeeze
from graphad.ops.linalg.diagonal import matrix_rows
from graphad.ops.linalg.diagonals import diag, diag_part, set_diag
from graphad.ops.linalg.eigen import eigh, eigvalsh
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import align_matrices
from graphad.ops.linalg.systems import require_matrix
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import conj, conjugate
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.rules import same_dtype, unbroadcast


@define
class BandedSolve(Op):
    """x with a x = b for b [..., n, k] and a with `above` diagonals above the main one and `below` below it, given as rows
    [..., above + 1 + below, n], the highest diagonal first: row r holds a[i, i + above - r] at place i. A singular matrix is an
    error.
    """

    name = "banded_solve"
    keeps = ((0,), True)
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
        n = bands.shape[-1]
        packed = np.zeros(bands.shape, bands.dtype)  # by columns, as LAPACK has it
        for row in range(bands.shape[-2]):
            up = self.above - row
            source = slice(0, max(n - up, 0)) if up >= 0 else slice(-up, None)
            target = slice(up, None) if up >= 0 else slice(0, max(n + up, 0))
            packed[..., row, target] = bands[..., row, source]
        lead = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
        packed = np.broadcast_to(packed, (*lead, *packed.shape[-2:]))
        right = np.broadcast_to(b, (*lead, *b.shape[-2:]))
        out = np.empty(right.shape, b.dtype)
        if not out.size:
            return out
        solve = library.linalg().solve_banded
        for place in np.ndindex(lead):
            try:
                out[place] = solve((self.below, self.above), packed[place], right[place], check_finite=False)
            except np.linalg.LinAlgError as cause:
                raise InvalidArgumentError("Input matrix is not invertible.") from cause
        return out

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        bands, x = ctx.inputs[0], ctx.outputs[0]
        b_bar = bind(BandedSolve(self.above, self.below), turned(bands, self.below, self.above), g)
        bar = None
        if ctx.needs(0):
            if x.dims is None:
                raise MissingGradientError(
                    f"{self.name}: there is a gradient by the bands where the rank is known while tracing; set the shape."
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
        return bind(self, *align_matrices(ctx, (bands, b)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 2)) if axes != [None, None] else None


def turned(bands: Any, below: int, above: int) -> Any:
    """The diagonals of the adjoint: `above` below its main one and `below` above it."""
    wide = pad(conjugate(bands), [[0, 0]] * (len(bands.dims) - 1) + [[above, below]])
    rows = []
    for row in range(below + above + 1):
        start = above + below - row
        rows.append(getitem(wide, (..., start, slice(start, -row if row else None))))
    return stack(rows, -2)


def compact_diagonals(op: str, diagonals: TensorLike, form: str) -> Any:
    """The three diagonals of a tridiagonal matrix as rows."""
    if form == "matrix":
        a = lift(diagonals)
        require_matrix(op, a.spec, "diagonals", True)
        return diag_part(a, k=(-1, 1), align="LEFT_RIGHT")
    if form == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise ArgumentTypeError(
                f"{op}: diagonals are {type(diagonals).__name__}; a list of three is needed: above the main one, that one, below."
            )
        middle: Any = lift(diagonals[1])
        upper, _ = lift_pair(op, diagonals[0], middle)
        lower, _ = lift_pair(op, diagonals[2], middle)
        known: list[Any] = [part.dims[-1] if part.dims else None for part in (upper, middle, lower)]
        if None in known:
            raise InvalidArgumentError(
                f"{op}: the sizes of a sequence of diagonals must be known while tracing."
            )
        no = [[0, 0]] * (len(middle.dims) - 1)
        if known[0] == known[1] - 1:
            upper = pad(upper, [*no, [0, 1]])
        if known[2] == known[1] - 1:
            lower = pad(lower, [*no, [1, 0]])
        return stack([upper, middle, lower], -2)
    if form != "compact":
        raise InvalidArgumentError(
            f"{op}: diagonals_format is {form!r}; it is 'compact', 'sequence' or 'matrix'."
        )
    a = lift(diagonals)
    if a.dims is not None and (len(a.dims) < 2 or a.dims[-2] not in (None, 3)):
        raise InvalidArgumentError(f"{op}: diagonals have shape {a.shape}; [..., 3, n] is needed.")
    return a


def tridiagonal_matmul(
    diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices and matrices.

    Args:
      diagonals: "compact": [..., 3, n], the diagonal above the main one, whose last element is not read, the main one, and the
        one below, whose first element is not read. "sequence": a list of these three, of which the outer ones may have n - 1
        elements. "matrix": [..., n, n], of which the three diagonals are read.
      rhs: Tensor [..., n, k] of the same float or complex dtype.
      diagonals_format: Which of these it is.
    Returns: Tensor [..., n, k].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or no such format.
    """
    op = "tridiagonal_matmul"
    a, x = lift_pair(op, compact_diagonals(op, diagonals, diagonals_format), rhs)
    if x.ndim is None or a.ndim is None or x.ndim < 2:
        raise InvalidArgumentError(f"{op}: rhs has shape {x.shape}; a matrix of known rank is needed.")
    wide = pad(x, [[0, 0]] * (x.ndim - 2) + [[1, 1], [0, 0]])
    upper, middle, lower = (expand_dims(getitem(a, (..., row, slice(None))), -1) for row in range(3))
    n = slice(None)
    above, below = getitem(wide, (..., slice(2, None), n)), getitem(wide, (..., slice(0, -2), n))
    return upper * above + middle * x + lower * below


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
    """x with a x = rhs for tridiagonal matrices a, by LAPACK.

    Args:
      diagonals: As for `tridiagonal_matmul`.
      rhs: Tensor [..., n], or [..., n, k], of the same float or complex dtype.
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs: `rhs` is [..., k, n]; of no effect where it is [..., n].
      conjugate_rhs: Solve for the conjugate of `rhs`.
      partial_pivoting: Rows always change places here.
      perturb_singular: Not supported.
    Returns: Tensor of the shape of `rhs`, [..., n, k] if it was transposed.
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


def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """x with a x = rhs for triangular matrices a of a few diagonals.

    Args:
      bands: Tensor [..., k, n]: the diagonals from the highest to the lowest, a[i, j] of each at place i. For lower triangles
        the main one is the first, and the first elements of the others are not read; for upper ones it is the last, and the
        last elements of the others are not read.
      rhs: Tensor [..., n, m] of the same float or complex dtype.
      lower: Which triangle it is.
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
            f"{op}: bands have shape {a.shape} and rhs {b.shape}; how many diagonals there are, 1 at least, and the rank of rhs "
            "must be known."
        )
    below, above = (count - 1, 0) if lower else (0, count - 1)
    if adjoint:
        a, below, above = turned(a, below, above), above, below
    return bind(BandedSolve(below, above), a, b)


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The eigenvalues of Hermitian tridiagonal matrices in rising order, by `eigh` of the full matrix; differentiable.

    Args:
      alpha: The main diagonal [..., n], a float or complex dtype.
      beta: The diagonal above it [..., n - 1]; below is its conjugate.
      eigvals_only: Otherwise the eigenvectors too, as columns.
      select: "a" for all, "i" for those with the numbers from select_range[0] to select_range[1], both counted, "v" for those
        above select_range[0] up to select_range[1], of one matrix.
      select_range: Two numbers.
      tol: Of no effect.
    Returns: The eigenvalues [..., n], real, or (values, vectors [..., n, n]).
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or no such `select`.
    """
    op = "eigh_tridiagonal"
    middle, off = lift_pair(op, alpha, beta)
    if select not in ("a", "i", "v"):
        raise InvalidArgumentError(f"{op}: select is {select!r}; it is 'a', 'i' or 'v'.")
    if select != "a" and (not isinstance(select_range, list | tuple) or len(select_range) != 2):
        raise InvalidArgumentError(
            f"{op}: select_range is {select_range!r}; for select={select!r} it is two numbers."
        )
    full = set_diag(set_diag(diag(middle), off, k=1), conj(off), k=-1)
    values, vectors = (eigvalsh(full), None) if eigvals_only else eigh(full)
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
        mask = (values > low) & (values <= high)
        values = boolean_mask(values, mask)
        vectors = None if vectors is None else boolean_mask(vectors, mask, axis=1)
    return values if vectors is None else (values, vectors)


__all__ = ["banded_triangular_solve", "eigh_tridiagonal", "tridiagonal_matmul", "tridiagonal_solve"]
