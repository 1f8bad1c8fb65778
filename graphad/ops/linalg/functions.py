"""Functions of square matrices, through SciPy: exponential, logarithm, square root.

The derivative of such a function in a direction d is a block of the same function of [[x, d], [0, x]] (Mathias, 1996, "A chain
rule for matrix functions"), and the adjoint of the derivative is the derivative at the conjugate transpose. The same
holds for higher derivatives.

Of a large matrix, square root and logarithm are differentiated by its triangular Schur factor: the block solves one Sylvester
equation for each root that is taken, and the derivative of the logarithm of the last root is a sum of fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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
from graphad.core.convert import lift
from graphad.core.dtypes import complex64, complex128
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_dtype
from graphad.core.op import Op, define, no_form
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import concat
from graphad.ops.array.shape import sizes_of
from graphad.ops.array.slice import getitem
from graphad.ops.linalg import functions_there
from graphad.ops.linalg.diagonal import OfMatrix, matrix_rows
from graphad.ops.linalg.direct import lapack
from graphad.ops.linalg.matmul import adjoint
from graphad.ops.linalg.systems import require_matrix
from graphad.ops.rules import align_stacked, broadcast_specs, same_dtype, unbroadcast

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


_OF_THE_WHOLE = "a function of a matrix is computed from products or factors of the whole, by a library"


class _OfSquare(OfMatrix):
    """The base of functions of square matrices."""

    keeps = (True, False)
    lower = no_form(_OF_THE_WHOLE)

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_matrix(self.name, x, "input", True)
        return x

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(_DIRECTIONS[self.name], adjoint(ctx.inputs[0]), g),)


def _each(function: Callable[..., Any], x: DeviceArray | Array) -> Array:
    """A function of one matrix applied to each of a stack; NaN for a matrix that is not finite, and where the result is not of
    the dtype of x.
    """
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-2]):
        if not np.isfinite(x[place]).all():
            out[place] = np.nan
            continue
        y = lapack(function, x[place], any_size=True)
        out[place] = _of_kind(y, x.dtype)
    return out


def _of_kind(y: Array, dtype: np.dtype) -> Array | float:
    """A matrix for a result of a dtype: where that is real and y is not, but for rounding, NaN."""
    if not np.iscomplexobj(y) or dtype.kind == "c":
        return y
    rounding = 100 * np.finfo(dtype).eps * np.abs(y).max(initial=0.0)
    return y.real if np.abs(y.imag).max(initial=0.0) <= rounding else np.nan


@define
class Expm(_OfSquare):
    """The sum of x^k / k! over k from 0, for square x [..., n, n]."""

    name = "expm"

    def eval(self, x: Array) -> Array:
        if arrays.is_here(x):
            return lapack(library.linalg().expm, x, any_size=True) if x.size else np.array(x)
        return functions_there.expm(x)  # type: ignore[no-any-return]


@define
class Logm(_OfSquare):
    """The matrix whose exponential is x [..., n, n], complex, with eigenvalues whose imaginary parts are in (-pi, pi]."""

    name = "logm"

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_dtype("logm", x, (complex64, complex128), "input")
        return super().infer(x)

    def eval(self, x: Array) -> Array:
        found = None if arrays.is_here(x) else functions_there.of_hermitian(x, "logm")
        if found is not None:
            return found  # type: ignore[no-any-return]
        x = arrays.here(x, "scipy.linalg.logm")
        if not x.size:
            return x
        return _each(library.linalg().logm, x.astype(np.complex128)).astype(x.dtype)


@define
class Sqrtm(_OfSquare):
    """The matrix whose square is x [..., n, n], with eigenvalues whose real parts are not negative; NaN if x is real
    and that square root is not.
    """

    name = "sqrtm"

    def eval(self, x: Array) -> Array:
        found = None if arrays.is_here(x) else functions_there.of_hermitian(x, "sqrtm")
        return _each(library.linalg().sqrtm, arrays.here(x, "scipy.linalg.sqrtm")) if found is None else found


def _size(x: Tensor) -> Tensor | int:
    return x.dims[-1] if x.dims is not None and isinstance(x.dims[-1], int) else getitem(sizes_of(x), -1)


@define
class MatrixDirection(Op):
    """The derivative of expm, logm or sqrtm at square x [..., n, n] in the direction d [..., n, n]: the upper right block of that
    function of [[x, d], [0, x]].
    """

    name = "matrix_direction"
    keeps = (True, False)
    of: Literal["expm", "logm", "sqrtm"]
    lower = no_form(_OF_THE_WHOLE)

    def infer(self, x: TensorSpec, d: TensorSpec) -> TensorSpec:
        _FUNCTIONS[self.of].infer(x)
        require_matrix(self.name, d, "direction", True)
        spec = broadcast_specs(self.name, (x, d), same_dtype(self.name, (x, d)))
        if x.dims is not None and d.dims is not None and not are_compatible(x.dims[-2:], d.dims[-2:]):
            raise InvalidArgumentError(
                f"{self.name}: direction has shape {format_dims(d.dims)}, the matrix {format_dims(x.dims)}; their last two "
                "sizes must be equal."
            )
        return spec

    def eval(self, x: Array, d: Array) -> Array:
        shape, n = np.broadcast_shapes(x.shape, d.shape), x.shape[-1]
        if self.of != "expm" and not arrays.is_here(x):
            found = functions_there.along(x, d, self.of)
            if found is not None:
                return found  # type: ignore[no-any-return]
            x, d = (arrays.here(z, f"scipy.linalg.{self.of}") for z in (x, d))
        if self.of == "expm" and n >= _FRECHET and arrays.is_here(x):
            found = lapack(_along_exponentials, np.broadcast_to(x, shape), np.broadcast_to(d, shape))
            if found is not None:
                return found  # type: ignore[no-any-return]
        if self.of != "expm" and n >= _SCHUR:
            found = lapack(_along_directions, np.broadcast_to(x, shape), np.broadcast_to(d, shape), self.of)
            if found is not None:
                return found  # type: ignore[no-any-return]
        wide = arrays.zeros((*shape[:-2], 2 * n, 2 * n), x.dtype, x)
        wide[..., :n, :n] = wide[..., n:, n:] = x
        wide[..., :n, n:] = d
        return arrays.contiguous(_FUNCTIONS[self.of].eval(wide)[..., :n, n:])

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, d = ctx.inputs
        x_bar = d_bar = None
        if ctx.needs(0):
            # The same rule again, for the matrix of twice the size.
            n, none = _size(x), zeros_like(x + d)
            wide = _blocks(x + none, d + none, none, x + none)
            inner = bind(self, adjoint(wide), _blocks(none, g, none, none))
            first, last = slice(0, n), slice(n, None)
            x_bar = unbroadcast(
                ctx, 0, getitem(inner, (..., first, first)) + getitem(inner, (..., last, last))
            )
        if ctx.needs(1):
            d_bar = unbroadcast(ctx, 1, bind(self, adjoint(x), g))
        return x_bar, d_bar

    def batch(self, ctx: BatchContext, x: Ranked, d: Ranked) -> Tensor:
        return bind(self, *align_stacked(ctx, (x, d)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 2))


_FRECHET = 32  # sizes from which both are found together in less time than the exponential of twice the size


def _along_exponentials(xs: Array, ds: Array) -> Array | None:
    """The derivatives of the exponentials of matrices, computed in float64 (Al-Mohy and Higham, 2009, "Computing the Frechet
    derivative of the matrix exponential"); None where one is not finite."""
    if not (np.isfinite(xs).all() and np.isfinite(ds).all()):
        return None
    out = np.empty(xs.shape, xs.dtype)
    for place in np.ndindex(xs.shape[:-2]):
        out[place] = library.linalg().expm_frechet(
            xs[place], ds[place], compute_expm=False, check_finite=False
        )
    return out


def _along_directions(xs: Array, ds: Array, of: str) -> Array | None:
    """The derivatives of the roots or logarithms of matrices; None where one is too close to singular or not finite."""
    out = np.empty(xs.shape, xs.dtype)
    for place in np.ndindex(xs.shape[:-2]):
        y = _along(of, xs[place], ds[place])
        if y is None:
            return None
        out[place] = _of_kind(y, xs.dtype)
    return out


_SCHUR = 24  # sizes from which the triangular factor is quicker than the function of twice the size
_NEAR_ONE = 0.25  # how far from 1 a matrix may be for `_FRACTIONS` to have all digits of its logarithm
_FRACTIONS = 7
_ROOTS = 60


def _along(of: str, x: Array, d: Array) -> Any:
    linalg = library.linalg()
    if not (np.isfinite(x).all() and np.isfinite(d).all()):
        return None
    is_complex = x.dtype.kind == "c" or of == "logm"
    wide = np.complex128 if is_complex else np.float64
    root, turn = linalg.schur(x.astype(wide), output="complex" if is_complex else "real")
    if not is_complex and np.diagonal(root, -1).any():
        root, turn = linalg.rsf2csf(root, turn)
    values = np.abs(np.diagonal(root))
    if not values.min() > 1e-8 * values.max():
        return None
    y = turn.conj().T @ d @ turn
    roots = 0
    while (of == "sqrtm" and not roots) or (
        of == "logm" and linalg.norm(root - np.eye(len(x)), 1) > _NEAR_ONE
    ):
        root = np.triu(linalg.sqrtm(np.triu(root)))
        ends = np.diagonal(root)
        if roots == _ROOTS or not np.abs(ends[:, None] + ends).min() > 1e-8 * np.abs(ends).max():
            return None
        y = y.astype(root.dtype, copy=False)
        (trsyl,) = linalg.get_lapack_funcs(("trsyl",), (root,))
        y = _sylvester(trsyl, root, root, y)
        roots += 1
    if of == "logm":
        y = 2.0**roots * _of_fractions(linalg, root, y)
    return turn @ y @ turn.conj().T


_SMALL = 48  # sizes that LAPACK solves as quickly as two halves


def _sylvester(trsyl: Callable[..., Any], a: Array, b: Array, c: Array) -> Array:
    """The x with a x + x b = c, for upper triangular a and b: by halves, so that most of it is products."""
    m, n = c.shape
    if max(m, n) <= _SMALL:
        x, scale, _ = trsyl(a, b, c)
        return x / scale  # type: ignore[no-any-return]
    if m >= n:
        k = m // 2
        low = _sylvester(trsyl, a[k:, k:], b, c[k:])
        return np.concatenate([_sylvester(trsyl, a[:k, :k], b, c[:k] - a[:k, k:] @ low), low])
    k = n // 2
    left = _sylvester(trsyl, a, b[:k, :k], c[:, :k])
    return np.concatenate([left, _sylvester(trsyl, a, b[k:, k:], c[:, k:] - left @ b[:k, k:])], 1)


def _of_fractions(linalg: Any, x: Array, d: Array) -> Array:
    """The derivative of log(x) for a triangular x close to 1: the integral of (1 + t (x - 1))^-1 d (1 + t (x - 1))^-1 over t
    from 0 to 1 at the nodes of Gauss, which give the diagonal fraction of Pade.
    """
    one, y = np.eye(len(x)), np.zeros_like(d)
    for node, weight in zip(*np.polynomial.legendre.leggauss(_FRACTIONS), strict=True):
        t = (node + 1) / 2
        factor = one + t * (x - one)
        left = linalg.solve_triangular(factor, d, check_finite=False)
        y += weight / 2 * linalg.solve_triangular(factor, left.T, trans="T", check_finite=False).T
    return y


def _blocks(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """[[a, b], [c, d]]."""
    return concat([concat([a, b], axis=-1), concat([c, d], axis=-1)], axis=-2)


_FUNCTIONS: dict[Any, Any] = {"expm": Expm(), "logm": Logm(), "sqrtm": Sqrtm()}
_DIRECTIONS = {name: MatrixDirection(name) for name in _FUNCTIONS}


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of square matrices [..., n, n].

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
    Example:
      >>> linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
      array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return bind(Expm(), lift(input))


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithm of square complex matrices [..., n, n], none singular.

    Args:
      input: Tensor [..., n, n], a complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Al-Mohy and Higham, Improved inverse scaling and squaring algorithms for the matrix logarithm, 2012.
    """
    return bind(Logm(), lift(input))


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square root of square matrices [..., n, n], none singular; NaN if the matrix is real and its root
    is not.

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [..., n, n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Source: Deadman, Higham and Ralha, Blocked Schur algorithms for computing the matrix square root, 2013.
    """
    return bind(Sqrtm(), lift(input))
