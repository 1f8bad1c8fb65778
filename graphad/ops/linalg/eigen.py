"""Eigenvalues of Hermitian matrices and singular values: LAPACK through NumPy, derivatives computed from the factors.

The derivatives of vectors divide by differences of (squared) values. Where two are equal the quotient is taken to be 0,
which is right for every function that does not depend on the choice of basis in their common eigenspace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    Cotangents,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dims import least
from graphad.core.dtypes import as_dtype
from graphad.core.errors import MatrixError, MissingGradientError
from graphad.core.op import define, else_eval
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.linalg.diagonal import BandPart, DiagPart, OfMatrix, PartsOfMatrix, SetDiag
from graphad.ops.linalg.direct import lapack
from graphad.ops.linalg.held import is_operator
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import times
from graphad.ops.linalg.systems import FACTORISED, require_matrix
from graphad.ops.math.arithmetic import add
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.select import where
from graphad.ops.rules import scalar_like

if TYPE_CHECKING:
    from graphad.core.dtypes import DType


def iterated(name: str, function: Callable[..., Any], x: Array, *args: Any) -> Any:
    """The result of one of LAPACK's iterative routines for matrices x.

    Raises: InvalidArgumentError: it did not converge, or x is not finite, for which some routines never end.
    """
    if not np.isfinite(x).all():
        raise MatrixError(
            f"{name}: a matrix holds NaN or infinity, for which the iteration does not converge; find where it comes from "
            "with debugging.check_numerics."
        )
    try:
        return lapack(function, x, *args)
    except np.linalg.LinAlgError as cause:
        raise MatrixError(f"{name}: the iteration did not converge; does the matrix hold NaN?") from cause


def _columns(x: Tensor) -> Tensor:
    """Numbers [..., n] as rows [..., 1, n], to scale the columns of matrices."""
    return bind(ExpandDims((-2,)), x)


def _inverse_differences(x: Tensor) -> Tensor:
    """1 / (x[j] - x[i]) at row i and column j, 0 where they are equal."""
    difference = _columns(x) - bind(ExpandDims((-1,)), x)
    same = equal(difference, scalar_like(0, x))
    return where(same, scalar_like(0, x), 1.0 / where(same, scalar_like(1, x), difference))


def _scaled(a: Tensor, values: Any) -> Tensor:
    """a with its columns scaled by real values."""
    return a * cast(_columns(values), a.dtype)


def _real_dtype(x: TensorSpec) -> DType:
    return as_dtype({"complex64": "float32", "complex128": "float64"}.get(x.dtype.name, x.dtype.name))


@define
class Eigh(PartsOfMatrix):
    """Two outputs for a Hermitian matrix [..., n, n], of which the lower triangle is read: the eigenvalues, ascending and real,
    and the eigenvectors as columns, each determined up to a factor of absolute value 1.
    """

    name = "eigh"
    keeps = (False, True)

    def infer(self, a: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("eigh", a, "tensor", True)
        return TensorSpec.of(None if a.dims is None else a.dims[:-1], _real_dtype(a)), a

    def eval(self, a: Array) -> tuple[Array, ...]:
        values, vectors = iterated("eigh", np.linalg.eigh, a)
        return values, vectors

    @else_eval(FACTORISED)
    def lower(self, a: TensorSpec) -> forms.Form | None:
        return forms.Factorised("syevd")

    def vjp(self, ctx: VjpContext, e_bar: Tensor | None, v_bar: Tensor | None) -> Cotangents:
        e, v = ctx.outputs
        a_bar = None if e_bar is None else times(_scaled(v, e_bar), v, adjoint_b=True)
        if v_bar is not None:
            inner = cast(_inverse_differences(e), v.dtype) * times(v, v_bar, adjoint_a=True)
            of_vectors = times(v, times(inner, v, adjoint_b=True))
            a_bar = of_vectors if a_bar is None else a_bar + of_vectors
        assert a_bar is not None  # at least one of the two has a cotangent
        return (_in_lower_triangle(a_bar),)


def _in_lower_triangle(a_bar: Tensor) -> Tensor:
    """The cotangent folded into the lower triangle, the only one that is read."""
    half = scalar_like(0.5, a_bar)
    total = bind(BandPart(-1, 0), a_bar + adjoint_of(a_bar))
    return bind(SetDiag(0), total, bind(DiagPart(0), total) * half)


class _Values(OfMatrix):
    """The base of ops that give only the eigenvalues or singular values of a stack of matrices."""

    keeps = ((0,), False)


@define
class HermitianEigenvalues(_Values):
    """The eigenvalues, ascending and real, of a Hermitian matrix [..., n, n], of which the lower triangle is read."""

    name = "hermitian_eigenvalues"
    known_as = "eigvalsh"

    def infer(self, a: TensorSpec) -> TensorSpec:
        require_matrix("eigvalsh", a, "tensor", True)
        return TensorSpec.of(None if a.dims is None else a.dims[:-1], _real_dtype(a))

    def eval(self, a: Array) -> Array:
        return iterated("eigvalsh", np.linalg.eigvalsh, a)  # type: ignore[no-any-return]

    @else_eval(FACTORISED)
    def lower(self, a: TensorSpec) -> forms.Form | None:
        return forms.Factorised("syevd_values")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        _, vectors = bind(Eigh(), ctx.inputs[0])
        return (_in_lower_triangle(times(_scaled(vectors, g), vectors, adjoint_b=True)),)


@define
class SingularValues(_Values):
    """The singular values of x [..., m, n], descending and real."""

    name = "singular_values"
    known_as = "svd"

    def infer(self, x: TensorSpec) -> TensorSpec:
        return Svd(False).infer(x)[0]

    def eval(self, x: Array) -> Array:
        return iterated("svd", np.linalg.svdvals, x)  # type: ignore[no-any-return]

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Factorised("gesdd_values")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        _, u, v = bind(Svd(False), ctx.inputs[0])
        return (times(_scaled(u, g), v, adjoint_b=True),)


@define
class Svd(PartsOfMatrix):
    """Three outputs for x [..., m, n]: singular values s, descending and real, u and v with x = u diag(s) v^H; min(m, n) columns
    each, or all if `full`.
    """

    name = "svd"
    n_parts = 3
    keeps = (True, True)
    full: bool

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("svd", x, "tensor", False)
        real = _real_dtype(x)
        if x.dims is None:
            return TensorSpec.of(None, real), x, x
        *lead, m, n = x.dims
        count = None if m is None or n is None else least(m, n)
        return (
            TensorSpec.of((*lead, count), real),
            x.with_dims((*lead, m, m if self.full else count)),
            x.with_dims((*lead, n, n if self.full else count)),
        )

    def eval(self, x: Array) -> tuple[Array, ...]:
        u, s, vh = iterated("svd", np.linalg.svd, x, self.full)
        return s, u, arrays.contiguous(np.conj(np.swapaxes(vh, -1, -2)))

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Factorised("gesdd", self.full)

    def vjp(
        self, ctx: VjpContext, s_bar: Tensor | None, u_bar: Tensor | None, v_bar: Tensor | None
    ) -> Cotangents:
        # Townsend (2016), "Differentiating the singular value decomposition", equations 18 to 22; for complex dtypes
        # with the # phase of each pair of vectors chosen so that v keeps its phase (Wan and Zhang, 2019).
        s, u, v = ctx.outputs
        if u_bar is None and v_bar is None:
            if self.full:
                s, u, v = bind(Svd(False), ctx.inputs[0])
            return (times(_scaled(u, s_bar), v, adjoint_b=True),)
        if self.full:
            raise MissingGradientError(
                "svd: singular vectors have a derivative only for full_matrices=False."
            )
        differences, inverse = cast(_inverse_differences(s * s), u.dtype), 1.0 / s
        parts = [] if s_bar is None else [times(_scaled(u, s_bar), v, adjoint_b=True)]
        if u_bar is not None:
            turn = times(u, u_bar, adjoint_a=True)
            skew = turn - adjoint_of(turn)
            inner = _scaled(differences * skew, s)
            if u.dtype.is_complex:
                inner = bind(SetDiag(0), inner, bind(DiagPart(0), skew) * cast(inverse * 0.5, u.dtype))
            parts.append(times(times(u, inner) + _scaled(u_bar - times(u, turn), inverse), v, adjoint_b=True))
        if v_bar is not None:
            turn = times(v, v_bar, adjoint_a=True)
            # Its adjoint stands left of that of v.
            inner = _scaled(differences * (turn - adjoint_of(turn)), s)
            parts.append(times(u, times(v, inner) + _scaled(v_bar - times(v, turn), inverse), adjoint_b=True))
        return (functools.reduce(add, parts),)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Args:
      tensor: Tensor [..., n, n], a float or complex dtype, of which the lower triangle is read; the gradient is lower
        triangular.
    Returns: (values [..., n], real numbers in the dtype of `tensor`; vectors [..., n, n], one in each column).
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Example:
      >>> linalg.eigh([[2.0, 0.0], [0.0, 1.0]])[0].numpy()
      array([1., 2.], dtype=float32)
    """
    values, vectors = bind(Eigh(), lift(tensor))
    return cast(values, vectors.dtype), vectors


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices; see `eigh`.

    Args:
      tensor: Tensor [..., n, n], a float or complex dtype, of which the lower triangle is read.
    Returns: Tensor [..., n] of the same dtype: real numbers, ascending.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    """
    x = lift(tensor)
    return cast(real_eigenvalues(x), x.dtype)


def real_eigenvalues(x: Tensor) -> Tensor:
    """The eigenvalues of Hermitian matrices [..., n, n] as [..., n] of a real dtype."""
    return bind(HermitianEigenvalues(), x)


@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: Literal[True] = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool = False, *, compute_uv: Literal[False], name: str | None = None
) -> Tensor: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool, compute_uv: bool, name: str | None = None
) -> Tensor | tuple[Tensor, Tensor, Tensor]: ...
@blaming
def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Singular values, descending, and singular vectors: tensor = u diag(s) v^H.

    Args:
      tensor: Tensor [..., m, n], a float or complex dtype.
      full_matrices: Whether u and v are square; they then have neither a gradient nor a forward mode.
      compute_uv: Whether to compute u and v as well.
    Returns: (s [..., k], u [..., m, k], v [..., n, k]) with k = min(m, n), or s alone.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes; DTypeError (a TypeError): another dtype.
    Example:
      >>> linalg.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False).numpy()
      array([4., 3.], dtype=float32)
    """
    if not compute_uv:
        return bind(SingularValues(), lift(tensor))
    s, u, v = bind(Svd(bool(full_matrices)), lift(tensor))
    return s, u, v


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The last two axes exchanged, and conjugated for complex dtypes.

    Args:
      matrix: Tensor [..., n, m] of any numeric dtype.
    Returns: Tensor [..., m, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes.
    Example:
      >>> linalg.adjoint([[1 + 1j, 2.0]]).numpy()
      array([[1.-1.j],
             [2.-0.j]])
    """
    if is_operator(matrix):
        return matrix.adjoint()  # type: ignore[no-any-return]
    return adjoint_of(lift(matrix))
