"""Convolutions and correlations of vectors, which are each other's derivatives.

NumPy adds products of a long vector and a short one element by element. Here the long one is cut into pieces that overlap, and a
matrix of shifted elements of the short one is multiplied with all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Any, Literal

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind, constant_here
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, no_form
from graphad.core.shapes import are_compatible, are_numbers, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.gather import Gather
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.slice import getitem
from graphad.ops.array.support import all_stacked, row_beside, same_row
from graphad.ops.array.transpose import reverse
from graphad.ops.linalg.matmul import MatMul, product_of_arrays
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.rules import NUMERIC, OF_THE_OTHER, require_kind, same_dtype

_AT_ONCE = 1 << 18  # products of several short vectors, which are made before they are added
_SHORT, _LONG = 64, 256  # elements of a piece


@define
class VectorConvolution(Op):
    """y[..., k] is the sum over j of a[..., j] v[..., k - j], for k from 0 to n + m - 2, of vectors [..., n] and [..., m]; if it
    `correlates`, the sum over j of a[..., k + j] v[..., j], for k from 0 to n - m. Nothing is conjugated. Leading axes are equal.
    """

    name = "vector_convolution"
    rounds_once = True
    keeps_alone = OF_THE_OTHER
    words = {"correlates": "whether the second vector is not turned around"}
    correlates: bool = False
    lower = no_form("a sum of products runs over both vectors, in opposite directions or with an offset")

    def infer(self, a: TensorSpec, v: TensorSpec) -> TensorSpec:
        dtype = same_dtype(self.name, (a, v))
        require_kind(self.name, a, NUMERIC, "a")
        for name, spec in (("a", a), ("v", v)):
            if spec.dims == ():
                raise InvalidArgumentError(f"{self.name}: {name} is a scalar; a vector is needed.")
        if a.dims is None or v.dims is None:
            return TensorSpec.of(None, dtype)
        if not are_compatible(a.dims[:-1], v.dims[:-1]):
            raise InvalidArgumentError(
                f"{self.name}: a has shape {format_dims(a.dims)}, v {format_dims(v.dims)}; "
                "the axes before the last must be equal."
            )
        lead = [n if m is None else m for n, m in zip(a.dims[:-1], v.dims[:-1], strict=True)]
        n, m = a.dims[-1], v.dims[-1]
        if type(n) is int and type(m) is int:
            self._check(n, m)
        if n is None or m is None:
            return TensorSpec.of((*lead, None), dtype)
        return TensorSpec.of((*lead, n - m + 1 if self.correlates else n + m - 1), dtype)

    def _check(self, n: int, m: int) -> None:
        if not m or not n or (self.correlates and n < m):
            more = ", and the first no fewer than the second" if self.correlates else ""
            raise InvalidArgumentError(
                f"{self.name}: the vectors have {n} and {m} elements; each must have at least one{more}."
            )

    def eval(self, a: Array, v: Array) -> Array:
        self._check(a.shape[-1], v.shape[-1])
        wide, other = widened(a), widened(v)
        of_one, of_rows = (_correlated, _correlated_rows) if self.correlates else (_convolved, convolved_rows)
        if a.ndim == 1:
            return as_dtype_of(of_one(wide, other), a)
        lead = a.shape[:-1]
        wide, other = wide.reshape(prod(lead), a.shape[-1]), other.reshape(prod(lead), v.shape[-1])
        if len(wide) * sum(map(len, (wide.T, other.T))) * min(len(wide.T), len(other.T)) <= _AT_ONCE:
            y = of_rows(wide, other)
        else:
            y = np.stack([of_one(x, z) for x, z in zip(wide, other, strict=True)])
        return as_dtype_of(y.reshape(*lead, y.shape[-1]), a)

    def expanded(self, a: Ranked, v: Ranked) -> Tensor | None:
        if len(a.dims) != 1 or not are_numbers((*a.dims, *v.dims)):
            return None
        n, m = a.dims[0], v.dims[0]
        if self.correlates:
            return _correlation(a, v, n, m)
        if n < m:
            a, v, n, m = v, a, m, n
        return _correlation(pad(a, [[m - 1, m - 1]]), reverse(v, [0]), n + 2 * (m - 1), m)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        a, v = ctx.inputs
        a_bar = v_bar = None
        if ctx.needs(0):
            a_bar = bind(VectorConvolution(not self.correlates), g, conjugate(v))
        if ctx.needs(1):
            operands = (conjugate(a), g) if self.correlates else (g, conjugate(a))
            v_bar = bind(VectorConvolution(True), *operands)
        return a_bar, v_bar

    def batch(self, ctx: BatchContext, a: Ranked, v: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, (a, v)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], -1)


def _sizes(count: int, m: int) -> tuple[int, int]:
    """The results of a piece, and the pieces of so many results: short enough that the matrix is no larger than all pieces."""
    piece = min(max(m, _SHORT), max(_SHORT, isqrt(count + 1)), _LONG, count)
    return piece, -(-count // piece)


def _convolved(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    if len(a) < len(v):
        a, v = v, a
    return _apart(_of_pieces(a, v[::-1], len(v) - 1), a, v, "full")


def _correlated(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    return _apart(_of_pieces(a, v), a, v[::-1], "valid")


def _apart(y: np.ndarray, a: np.ndarray, v: np.ndarray, mode: Literal["full", "valid"]) -> np.ndarray:
    """The convolution y. Where it is not finite, NumPy's: in a matrix of shifted elements NaN and infinity meet zeros, so that
    all results of a piece would be NaN."""
    if type(y) is not np.ndarray or y.dtype.kind not in "fc" or np.isfinite(y).all():
        return y
    return np.convolve(a, v, mode)


def _of_pieces(a: np.ndarray, v: np.ndarray, around: int = 0) -> np.ndarray:
    """The correlation of v with a, which has so many zeros on both sides."""
    n, m = len(a) + 2 * around, len(v)
    count = n - m + 1
    if m > count:
        return _correlated_with_many(a, v, count)
    piece, pieces = _sizes(count, m)
    rows = _pieces(_placed(a, around, pieces * piece + m - 1), pieces, piece, piece + m - 1)
    shifted = _pieces(_placed(v[::-1], piece - 1, m + 2 * (piece - 1)), piece + m - 1, 1, piece)
    full = product_of_arrays(arrays.contiguous(rows), arrays.contiguous(shifted[::-1]))
    return full.reshape(-1)[:count]  # type: ignore[no-any-return]


def _correlated_with_many(a: np.ndarray, v: np.ndarray, count: int) -> np.ndarray:
    """The same for few results with many products each, which are summed piece by piece, then over the elements of a piece."""
    m = len(v)
    piece = min(max(count, _SHORT), _LONG, m)
    pieces, width = -(-m // piece), piece + count - 1
    rows = _pieces(_placed(a, 0, pieces * piece + count - 1), pieces, piece, width)
    sums = product_of_arrays(arrays.contiguous(rows).T, _placed(v, 0, pieces * piece).reshape(pieces, piece))
    step, next_column = sums.strides
    shifted = arrays.strided(sums, (count, piece), (step, step + next_column))
    return np.add.reduce(shifted, 1)  # type: ignore[no-any-return]


def _placed(x: np.ndarray, before: int, size: int) -> np.ndarray:
    """x with zeros around it, in an array of `size` elements."""
    y = arrays.zeros(size, x.dtype, x)
    y[before : before + len(x)] = x
    return y


def _pieces(x: np.ndarray, count: int, apart: int, size: int) -> np.ndarray:
    """A view of so many pieces of an array, `apart` from each other."""
    return arrays.strided(x, (count, size), (apart * x.itemsize, x.itemsize))


def convolved_rows(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Convolutions of rows [rows, n] and [rows, m]: row k of the products is shifted by k, then all are added."""
    if a.shape[1] < v.shape[1]:
        a, v = v, a
    (rows, n), m = a.shape, v.shape[1]
    wide = arrays.zeros((rows, m, n + m), a.dtype, a)
    wide[:, :, :n] = a[:, None, :] * v[:, :, None]
    shifted = wide.reshape(rows, m * (n + m))[:, : m * (n + m - 1)].reshape(rows, m, n + m - 1)
    return np.add.reduce(shifted, 1)  # type: ignore[no-any-return]


def _correlated_rows(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Correlations of rows [rows, n] and [rows, m]."""
    (rows, n), m = a.shape, v.shape[1]
    a = arrays.contiguous(a)
    windows = arrays.strided(a, (rows, n - m + 1, m), (*a.strides, a.itemsize))
    if arrays.is_here(a):
        return np.einsum("rkj,rj->rk", windows, v)  # type: ignore[no-any-return]
    return np.matmul(windows, v[:, :, None])[:, :, 0]  # type: ignore[no-any-return]


def _correlation(a: Any, v: Any, n: int, m: int) -> Tensor:
    """`_of_pieces` as ops, for devices: pieces and the matrix are gathered."""
    count = n - m + 1
    if m > count:
        piece = min(max(count, _SHORT), _LONG, m)
        pieces, width = -(-m // piece), piece + count - 1
        rows = _windows(pad(a, [[0, (pieces - 1) * piece + width - n]]), pieces, piece, width)
        other = bind(Reshape((pieces, piece)), pad(v, [[0, pieces * piece - m]]))
        sums = bind(Reshape((width * piece,)), bind(MatMul(True, False), rows, other))
        return reduce_sum(_windows(sums, count, piece, piece, piece + 1), 1)
    piece, pieces = _sizes(count, m)
    width = piece + m - 1
    rows = _windows(pad(a, [[0, (pieces - 1) * piece + width - n]]), pieces, piece, width)
    matrix = reverse(_windows(pad(v, [[piece - 1, piece - 1]]), width, 1, piece), [1])
    return getitem(bind(Reshape((pieces * piece,)), bind(MatMul(), rows, matrix)), slice(count))


def _windows(x: Any, count: int, apart: int, size: int, step: int = 1) -> Tensor:
    """The elements of x at `size` places, `step` apart, from each of `count` places on, `apart` from each other."""
    places = np.arange(count, dtype=np.int32)[:, None] * apart + np.arange(size, dtype=np.int32) * step
    return bind(Gather(0, 0, False), x, constant_here(places))
