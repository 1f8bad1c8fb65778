"""Determinants: LAPACK through NumPy; derivatives by inverses, and by cofactors where there is no inverse.

The determinant is a polynomial of the elements, so it has derivatives of all orders everywhere. Those of singular matrices come
from `Cofactors`, whose derivative is the same op with one more direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    Rows,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.ieee import unreported
from graphad.core.op import Op, TupleOp, define, else_eval, no_form
from graphad.core.shapes import broadcast_dims, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.create import ones_like, zeros_like
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.sizes import known_value
from graphad.ops.linalg.diagonal import DiagPart, OfMatrix, SetDiag, matrix_rows
from graphad.ops.linalg.direct import lapack
from graphad.ops.linalg.held import is_operator
from graphad.ops.linalg.matmul import adjoint
from graphad.ops.linalg.systems import FACTORISED, Inverse, require_matrix
from graphad.ops.math.arithmetic import MUL
from graphad.ops.math.compare import LOGICAL_AND, LOGICAL_OR, equal, not_equal
from graphad.ops.math.complexes import CONJ, conjugate, imag, real
from graphad.ops.math.complexes import complex as complex_of
from graphad.ops.math.select import where
from graphad.ops.rules import align_stacked, same_dtype, scalar_like, unbroadcast


def _without_matrix(x: TensorSpec) -> TensorSpec:
    return x.with_dims(None if x.dims is None else x.dims[:-2])


def _units(x: Tensor) -> Tensor:
    return bind(SetDiag(0), zeros_like(x), ones_like(bind(DiagPart(0), x)))


def _present(ctx: VjpContext, g: Tensor, y: Tensor, singular: bool) -> tuple[Tensor, Tensor]:
    """The matrices and their determinants or signs, with unit matrices for those that a `where` left out and that hold NaN or,
    if `singular`, are singular.

    The cotangent of those is 0, and so is what the rule makes of it.
    """
    x = ctx.inputs[0]
    if not ctx.is_masked:
        return x, y
    is_lost = not_equal(y, y)
    if singular:
        is_lost = bind(LOGICAL_OR, equal(y, scalar_like(0, y)), is_lost)
    is_out = bind(LOGICAL_AND, equal(g, scalar_like(0, g)), is_lost)
    return where(_wide(is_out), _units(x), x), where(is_out, scalar_like(1, y), y)


def _wide(y: Tensor) -> Tensor:
    return bind(ExpandDims((-2, -1)), y)


def _lost(determinant: Array, x: Array) -> Array:
    """Which matrices hold NaN and have a determinant of 0: LAPACK may take a NaN for a pivot of 0."""
    return (determinant == 0) & np.isnan(x).any((-2, -1))  # type: ignore[no-any-return]


def _nan_where(lost: Array, y: Array) -> Array:
    return np.where(lost, y.dtype.type(np.nan), y)[()] if lost.any() else y


@define
class Determinant(OfMatrix):
    """The determinant of the last two axes."""

    name = "det"
    keeps = (True, True)

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_matrix("det", x, "input", True)
        return _without_matrix(x)

    def eval(self, x: Array) -> Array:
        y = unreported(lapack, np.linalg.det, x)
        return y if np.all(y) else _nan_where(_lost(y, x), y)

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Factorised("getrf")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, y = _present(ctx, g, ctx.outputs[0], False)
        known = known_value(y)
        if known is not None and np.all(known):
            return (bind(MUL, _wide(bind(MUL, g, conjugate(y))), adjoint(bind(Inverse(), x))),)
        zero = scalar_like(0, y)
        is_singular = equal(y, zero)
        mask = _wide(is_singular)
        scale = bind(MUL, g, conjugate(where(is_singular, zero, y)))
        regular = bind(MUL, _wide(scale), adjoint(bind(Inverse(), where(mask, _units(x), x))))
        cofactors = conjugate(bind(Cofactors(), where(mask, x, zeros_like(x))))
        return (where(mask, bind(MUL, _wide(g), cofactors), regular),)


_MOST = 4096  # sums of cofactors for one derivative


def _cofactors(x: np.ndarray) -> np.ndarray:
    """The cofactors of matrices of float64 or complex128."""
    n = x.shape[-1]
    if n == 1:
        return np.ones_like(x)
    if n == 2:
        y = np.empty_like(x)
        y[..., 0, 0], y[..., 1, 1] = x[..., 1, 1], x[..., 0, 0]
        y[..., 0, 1], y[..., 1, 0] = -x[..., 1, 0], -x[..., 0, 1]
        return y
    y = np.zeros_like(x)
    is_finite = np.isfinite(x).all((-2, -1))
    y[~is_finite] = np.nan
    places = is_finite & x.any((-2, -1))
    if places.any():
        y[places] = _by_singular_values(x[places])
    return y


_ROUNDS = 3  # of dividing rows and columns: one does where no element is 0
_LARGEST_POWER = 200  # of an element once they are divided: LAPACK's SVD of an infinity may not return


def _by_singular_values(x: np.ndarray) -> np.ndarray:
    """The cofactors of U S V^H are det(U) det(V^H) conj(U P V^H), where P holds the products of all other singular values.

    Rows and columns are first divided by powers of 2, so that their sizes neither decide the rank nor overflow in a product.
    """
    n = x.shape[-1]
    is_singular = unreported(lapack, np.linalg.slogdet, x)[0] == 0
    powers: Any = 0
    for axis in (-1, -2) * _ROUNDS:
        power = _usual_power(x, axis)
        x = _times_power(x, -power)
        powers = powers + power.sum((-2, -1), keepdims=True) - power
    u, s, v = lapack(np.linalg.svd, x)
    # What rounding leaves of singular values that are 0: the rank of a singular matrix decides which cofactors are.
    is_none = s <= n * np.finfo(s.dtype).eps * s[..., :1]
    is_none &= (is_singular | (unreported(lapack, np.linalg.slogdet, x)[0] == 0))[..., None]
    s = np.where(is_none, 0.0, s)
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    turn = lapack(np.linalg.det, u) * lapack(np.linalg.det, v)
    turn = (turn / np.abs(turn))[..., None, None]
    found = np.conj((u * (before * after)[..., None, :]) @ v)
    return _times_power(turn * found, powers)


def _usual_power(x: np.ndarray, axis: int) -> np.ndarray:
    """The mean exponent of the elements along an axis that are not 0, or more if the largest is far larger."""
    size = np.abs(x)
    counts = np.maximum(np.count_nonzero(size, axis, keepdims=True), 1)
    mean = np.rint(np.frexp(size)[1].sum(axis, keepdims=True) / counts).astype(np.int64)
    largest = np.frexp(size.max(axis, keepdims=True))[1]
    power: np.ndarray = np.maximum(mean, largest - _LARGEST_POWER)
    return power


def _times_power(x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """x times 2 to these exponents, which alone may be out of range."""
    if np.iscomplexobj(x):  # part by part: an infinity times 1j has a real part of NaN
        found = np.empty_like(x)
        found.real, found.imag = _times_power(x.real, exponents), _times_power(x.imag, exponents)
        return found
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(x, exponents)  # type: ignore[no-any-return]


def _in_directions(x: np.ndarray, directions: Sequence[np.ndarray]) -> np.ndarray:
    """The derivative of the cofactors in these directions: with n rows they are polynomials of degree n - 1 along a line, whose
    linear coefficient is a mean over n points of a circle."""
    if not directions:
        return _cofactors(x)
    h, rest = directions[0], directions[1:]
    sizes = [np.abs(a).max((-2, -1), keepdims=True) for a in (x, h)]
    size, step = (np.where((a == 0) | ~np.isfinite(a), 1.0, a) for a in sizes)
    h = h * (size / step)
    total: Any = 0.0
    n = x.shape[-1]
    for root in np.exp(2j * np.pi * np.arange(n) / n):
        total = total + np.conj(root) / n * _in_directions(x + root * h, rest)
    return total * (step / size)  # type: ignore[no-any-return]


@define
class Cofactors(Op):
    """The cofactors of square matrices, the derivative of the determinant by the elements: of one operand, its own; of more, the
    derivative of those of the first in the directions of the others, linear in each of these.
    """

    name = "cofactors"
    lower = no_form(FACTORISED)

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        if not xs:
            raise InvalidArgumentError("cofactors: there is no matrix; give at least one.")
        dtype = same_dtype("cofactors", xs)
        for x in xs:
            require_matrix("cofactors", x, "input", True)
        if any(x.dims is None for x in xs):
            return TensorSpec.of(None, dtype)
        ends = [x.dims[-2:] for x in xs if x.dims is not None]
        sizes = {size for end in ends for size in end if type(size) is int}
        if len(sizes) > 1:
            raise InvalidArgumentError(
                f"cofactors: the matrices have shapes {', '.join(format_dims(x.dims) for x in xs)}; their last two sizes must be "
                "equal."
            )
        lead = broadcast_dims("cofactors", *[x.dims[:-2] for x in xs if x.dims is not None])
        return TensorSpec.of(None if lead is None else (*lead, *ends[0]), dtype)

    def eval(self, *xs: Array) -> Array:
        dtype, n, order = xs[0].dtype, xs[0].shape[-1], len(xs) - 1
        # Those of the zero matrix are of degree n - 1: only one derivative is not 0.
        is_zero = order != n - 1
        if is_zero and not np.any(xs[0]):
            return arrays.zeros(np.broadcast_shapes(*[x.shape for x in xs]), dtype, xs[0])
        wide = np.broadcast_arrays(
            *[np.asarray(arrays.here(x, "linalg.svd"), np.result_type(dtype, np.float64)) for x in xs]
        )
        x = wide[0]
        y = np.zeros_like(x)
        places = x.any((-2, -1)) if is_zero else np.ones(x.shape[:-2], bool)
        for h in wide[1:]:
            places = places & h.any((-2, -1))  # exact zeros, as of elements that a `where` left out
        if n and places.any():
            if order and n**order > _MOST:
                raise InvalidArgumentError(
                    f"det: the derivative of order {order + 1} of the determinant of a singular matrix with {n} rows takes "
                    f"{n**order} sums of cofactors; at most {_MOST} are computed."
                )
            found = _in_directions(x[places], [h[places] for h in wide[1:]])
            y[places] = found if dtype.kind == "c" else found.real
        return y.astype(dtype)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        # All derivatives of the determinant are symmetric in their directions, of which the cotangent is one.
        bars: list[Tensor | None] = []
        for i in range(len(ctx.inputs)):
            others = [x for k, x in enumerate(ctx.inputs) if k != i or i == 0]
            bar = conjugate(bind(Cofactors(), *others, conjugate(g))) if ctx.needs(i) else None
            bars.append(None if bar is None else unbroadcast(ctx, i, bar))
        return bars

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        return bind(self, *align_stacked(ctx, xs))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        return matrix_rows(specs, axes, [2] * len(specs))


@define
class SLogDet(OfMatrix, TupleOp):
    """Two outputs: the sign (for complex x, a number of absolute value 1) and the logarithm of the absolute value of the
    determinant of the last two axes.
    """

    name = "slogdet"
    keeps = (True, (0,))

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        require_matrix("slogdet", x, "input", True)
        return _without_matrix(x), _without_matrix(x)

    def eval(self, x: Array) -> tuple[Array, ...]:
        sign, value = unreported(lapack, np.linalg.slogdet, x)
        if not np.all(sign):
            lost = _lost(sign, x)
            sign, value = _nan_where(lost, sign), _nan_where(lost, value)
        return sign.astype(x.dtype), value.astype(x.dtype)

    @else_eval(FACTORISED)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Factorised("getrf_log")

    def vjp(self, ctx: VjpContext, sign_bar: Tensor | None, g: Tensor | None) -> Cotangents:
        if ctx.inputs[0].dtype.is_complex:
            # The logarithm grows with the real part of the trace of x^-1 dx, the angle of the sign with its imaginary part.
            sign = ctx.outputs[0]
            size = zeros_like(real(sign)) if g is None else real(g)
            turn = zeros_like(size) if sign_bar is None else imag(bind(MUL, bind(CONJ, sign), sign_bar))
            g = complex_of(size, turn)
        if g is None:
            return (None,)  # the sign of a real determinant is piecewise constant
        x, _ = _present(ctx, g, ctx.outputs[0], True)
        return (bind(MUL, bind(ExpandDims((-2, -1)), g), adjoint(bind(Inverse(), x))),)


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinant of square matrices: [..., n, n] becomes [...].

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: Tensor [...] of the same dtype. Its gradient is the transposed adjugate (conjugated, of a complex matrix), of a
      singular matrix too: of rank one where one row depends on the others, 0 where more do. There, a derivative of order k needs
      n^(k - 1) matrices of cofactors, at most 4096.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    Example:
      >>> linalg.det([[1.0, 2.0], [3.0, 5.0]]).numpy().round(4)
      np.float32(-1.0)
    """
    if is_operator(input):
        return input.determinant()  # type: ignore[no-any-return]
    return bind(Determinant(), lift(input))


class LogDeterminant(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    log_abs_determinant: Tensor


def slogdet(input: TensorLike, name: str | None = None) -> LogDeterminant:
    """The sign and the logarithm of the absolute value of the determinant of square matrices [..., n, n].

    Args:
      input: Tensor [..., n, n], a float or complex dtype.
    Returns: A named tuple of sign [...] and log_abs_determinant [...].
    Raises: InvalidArgumentError (a ValueError): the matrices are not square; DTypeError (a TypeError): another dtype.
    """
    return LogDeterminant(*bind(SLogDet(), lift(input)))
