"""Eigenvalues of symmetric tridiagonal matrices from their diagonals: LAPACK's root-free iteration, without the full matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.dtypes import float32, float64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_dtype
from graphad.core.op import Op, define, else_eval
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.slice import getitem
from graphad.ops.array.support import all_stacked, row_beside, same_row
from graphad.ops.linalg.diagonals import diag, set_diag
from graphad.ops.linalg.eigen import eigh, iterated
from graphad.ops.linalg.matmul import times
from graphad.ops.linalg.systems import FACTORISED
from graphad.ops.math.complexes import conj
from graphad.ops.rules import require_same_dtype, scalar_like


def full_matrix(alpha: Tensor, beta: Tensor) -> Tensor:
    """The Hermitian matrix [..., n, n] with a main diagonal [..., n] and a superdiagonal [..., n - 1]."""
    return set_diag(set_diag(diag(alpha), beta, k=1), conj(beta), k=-1)


@define
class TridiagonalEigenvalues(Op):
    """The eigenvalues, ascending, of symmetric tridiagonal matrices with the main diagonals alpha [..., n] and the diagonals
    beta [..., n - 1] above and below it. NaN and infinity are an error.
    """

    name = "tridiagonal_eigenvalues"
    known_as = "eigh_tridiagonal"

    def infer(self, alpha: TensorSpec, beta: TensorSpec) -> TensorSpec:
        op = "eigh_tridiagonal"
        require_dtype(op, alpha, (float32, float64), "alpha")
        require_same_dtype(op, alpha, beta, ("alpha", "beta"))
        a, b = alpha.dims, beta.dims
        if (a is not None and not a) or (b is not None and not b):
            raise InvalidArgumentError(
                f"{op}: alpha has shape {format_dims(a)}, beta {format_dims(b)}; each must have rank 1 at least."
            )
        if a is None or b is None:
            return alpha if b is None else TensorSpec.of((*b[:-1], None), alpha.dtype)
        n, m = a[-1], b[-1]
        fits = type(n) is not int or type(m) is not int or m == max(n - 1, 0)
        if not fits or not are_compatible(a[:-1], b[:-1]):
            raise InvalidArgumentError(
                f"{op}: alpha has shape {format_dims(a)}, beta {format_dims(b)}; beta must have one element less along the last "
                "axis, and the same leading axes."
            )
        return alpha

    def eval(self, alpha: Array, beta: Array) -> Array:
        alpha, beta = (arrays.here(x, "scipy.linalg.eigvalsh_tridiagonal") for x in (alpha, beta))
        lead, n = alpha.shape[:-1], alpha.shape[-1]
        found = np.empty(alpha.shape, alpha.dtype)
        for place in np.ndindex(lead) if n else ():
            # In float64, as NumPy computes eigenvalues of float32 too.
            both = np.concatenate([alpha[place], beta[place]], dtype=np.float64)
            found[place] = iterated("eigh_tridiagonal", lambda x: _values(x[:n], x[n:]), both)
        return found

    @else_eval(FACTORISED)
    def lower(self, alpha: TensorSpec, beta: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Tridiagonal()

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        vectors = eigh(full_matrix(*ctx.inputs))[1]
        # d value[k] / d alpha[i] is vectors[i, k]^2.
        squares = times(vectors * vectors, getitem(g, (..., None)))
        alpha_bar = getitem(squares, (..., 0)) if ctx.needs(0) else None
        if not ctx.needs(1):
            return alpha_bar, None
        beside = getitem(vectors, (..., slice(None, -1), slice(None))) * getitem(
            vectors, (..., slice(1, None), slice(None))
        )
        beta_bar = getitem(times(beside, getitem(g, (..., None))), (..., 0))
        return alpha_bar, beta_bar * scalar_like(2, g)

    def batch(self, ctx: BatchContext, alpha: Ranked, beta: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, (alpha, beta)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], -1)


def _values(middle: np.ndarray, off: np.ndarray) -> np.ndarray:
    lapack = library.lapack()
    if lapack is None:
        return np.linalg.eigvalsh(np.diag(middle) + np.diag(off, 1) + np.diag(off, -1))
    if middle.size == 1:
        return middle
    found, info = lapack.dsterf(middle, off)
    if info:
        raise np.linalg.LinAlgError
    return found  # type: ignore[no-any-return]
