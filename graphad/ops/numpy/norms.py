"""Norms and condition numbers, and inverses of tensors as linear maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import is_definite, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.math.power import root_of_squares
from graphad.ops.math.sum_of_products import sum_of_products
from graphad.ops.numpy import shapes
from graphad.ops.numpy.matrices import inv, matrix_of, slogdet, solve, svdvals
from graphad.ops.numpy.promotion import cast_to, dims_of, inexact, known_sizes, rank_of


@blaming
def _largest(size: Any, axis: AxisLike, keepdims: bool) -> Tensor:
    """The largest of numbers from 0 on; 0 of none."""
    if 0 in (size.dims or ()):
        return math.reduce_sum(size, axis, keepdims)
    found = math.reduce_max(size, axis, keepdims)
    if is_definite(size.dims):
        return found
    none = array.zeros_like(found)
    return math.where(math.less(found, none), none, found)


def _with_zero(s: Any) -> Any:
    """Singular values, followed by a 0 where there may be none."""
    last = ranked(s.dims)[-1]
    return s if isinstance(last, int) and last else array.pad(s, [[0, 0]] * (len(s.dims) - 1) + [[0, 1]])


def vector_norm(x: TensorLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norms of vectors over axes, all by default.

    Args:
      x: Tensor of any shape, a float or complex dtype; integers and bools count as float64.
      axis: The axis or axes whose elements are one vector.
      keepdims: Whether to keep the axes with size 1.
      ord: 2, inf, -inf, 0 (the number of nonzero elements), or another number p for the p-th root of the sum of |x|^p.
    Returns: Real tensor without the axes. The gradient of the norm 2 at 0 is NaN.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.linalg.vector_norm([3.0, 4.0]).numpy()
      np.float64(5.0)
    """
    x = inexact(x)
    if isinstance(ord, str):
        raise InvalidArgumentError(
            f"norm: ord {ord!r} is unknown for vectors; it is a number, inf and -inf included."
        )
    if isinstance(axis, list | tuple):
        axis = list(axis)
        if not axis:
            return (
                math.abs(x)
                if ord != 0
                else math.cast(math.not_equal(x, cast_to(0, x.dtype)), x.dtype.real_dtype)
            )
    if ord == 2:
        if x.dtype.is_complex:
            squares = math.real(math.multiply(x, math.conj(x)))
            return root_of_squares(math.reduce_sum(squares, axis, keepdims))
        return root_of_squares(sum_of_products(x, x, axis, keepdims))
    size = math.abs(x)
    if ord == np.inf:
        return _largest(size, axis, keepdims)
    if ord == -np.inf:
        return math.reduce_min(size, axis, keepdims)
    if ord == 0:
        return math.reduce_sum(math.cast(math.not_equal(x, cast_to(0, x.dtype)), size.dtype), axis, keepdims)
    if ord == 1:
        return math.reduce_sum(size, axis, keepdims)
    power = cast_to(float(ord), size.dtype)
    return math.pow(math.reduce_sum(math.pow(size, power), axis, keepdims), cast_to(1.0 / ord, size.dtype))


@blaming
def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: object = "fro") -> Tensor:
    """The norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    Args:
      x: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
      keepdims: Whether to keep the last two axes with size 1.
      ord: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2 (largest and smallest singular value), 1
        and -1 (largest and smallest absolute column sum), inf and -inf (the same for rows).
    Returns: Real tensor [...].
    Raises: InvalidArgumentError (a ValueError): `ord` is unknown, or x has rank below 2.
    Example:
      >>> numpy.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]], ord="nuc").numpy()
      np.float64(7.0)
    """
    x = matrix_of("matrix_norm", x)
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=[-2, -1], keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        s = svdvals(x)
        if ord == "nuc":
            found = math.reduce_sum(s, -1)
        elif ord == 2:
            found = _with_zero(s)[..., 0]
        else:
            found = s[..., -1]
    elif ord in (1, -1, np.inf, -np.inf):
        sums = math.reduce_sum(math.abs(x), -2 if abs(ord) == 1 else -1)
        found = _largest(sums, -1, False) if ord > 0 else math.reduce_min(sums, -1)
    else:
        raise InvalidArgumentError(
            f"matrix_norm: ord {ord!r} is unknown; it is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."
        )
    return array.expand_dims(array.expand_dims(found, -1), -1) if keepdims else found


@blaming
def norm(
    x: TensorLike,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The norm of vectors, of matrices where `axis` names two axes, or of all elements; see `vector_norm` and `matrix_norm`.

    Args:
      x: Tensor of any shape, a float or complex dtype; integers count as float64.
      ord: The norm, as for `vector_norm` with one axis and `matrix_norm` with two; by default the 2-norm of all elements.
      axis: One axis or two; by default, if `ord` is given, those of a vector or a matrix.
      keepdims: Whether to keep the axes with size 1.
    Returns: Real tensor without the axes.
    Raises: InvalidArgumentError (a ValueError): `axis` names more than two axes, one is out of range, or `ord` is unknown.
    Example:
      >>> numpy.linalg.norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
      array([ 5., 10.])
    """
    x = inexact(x)
    rank = rank_of("norm", x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    if axis is None:
        axis = list(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise InvalidArgumentError(f"norm: axis names {len(axes)} axes; it must name one or two.")
    places = [normalize_axis("norm", k, rank) for k in axes]
    found = matrix_norm(shapes.moveaxis(x, places, [-2, -1]), ord="fro" if ord is None else ord)
    return shapes.expand_dims(found, places) if keepdims else found


@blaming
def cond(x: TensorLike, p: TensorLike | None = None) -> Tensor:
    """The condition numbers of matrices: from the singular values, or the product of the norms `p` of x and its inverse.

    Args:
      x: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
      p: None or 2 for the largest singular value divided by the smallest, -2 for the inverse of that; or an `ord` of
        `matrix_norm`.
    Returns: Real tensor [...]; inf for singular matrices.
    Raises: InvalidArgumentError (a ValueError): x has rank below 2, or `p` is unknown.
    Example:
      >>> numpy.linalg.cond([[2.0, 0.0], [0.0, 4.0]]).numpy()
      np.float64(2.0)
    """
    x = matrix_of("cond", x)
    if p is None or p in (2, -2):
        s = svdvals(x)
        found = math.divide(s[..., 0], s[..., -1]) if p != -2 else math.divide(s[..., -1], s[..., 0])
        is_zero = math.equal(s[..., 0], cast_to(0, s.dtype))
        return math.where(is_zero, cast_to(np.inf, s.dtype), found)
    sign = slogdet(x)[0]
    is_singular = math.equal(sign, cast_to(0, sign.dtype))
    one = array.eye(array.shape(x)[-1], dtype=x.dtype)
    x = math.where(shapes.expand_dims(is_singular, (-2, -1)), one, x)
    found = math.multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))
    return math.where(is_singular, cast_to(np.inf, found.dtype), found)


@blaming
def tensorinv(a: TensorLike, ind: int = 2) -> Tensor:
    """The inverse of `a` as a linear map from its last axes to its first `ind` ones.

    Args:
      a: Tensor of known sizes, the product of the first `ind` being that of the others; a float or complex dtype.
      ind: The number of leading axes, the output axes of the map.
    Returns: Tensor with the last axes of `a` first.
    Raises: InvalidArgumentError (a ValueError): the products differ, the map has no inverse, or `ind` is below 1.
    Example:
      >>> numpy.linalg.tensorinv(numpy.reshape(numpy.eye(4), [2, 2, 4])).shape
      TensorShape([4, 2, 2])
    """
    a = inexact(a)
    dims = known_sizes("tensorinv", dims_of("tensorinv", a), "the sizes of a")
    if ind < 1:
        raise InvalidArgumentError(f"tensorinv: ind is {ind}; it must be 1 or more.")
    count = int(np.prod(dims[:ind]))
    return array.reshape(inv(array.reshape(a, [count, -1])), [*dims[ind:], *dims[:ind]])


@blaming
def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """The x with tensordot(a, x, x.ndim) = b.

    Args:
      a: Tensor [*sizes of b, *sizes of x], known, with equal products; a float or complex dtype.
      b: Tensor with the sizes of the first axes of `a`.
      axes: Axes of `a` that are moved to the end first.
    Returns: Tensor with the sizes of the last axes of `a`.
    Raises: InvalidArgumentError (a ValueError): the sizes do not fit, or the map has no inverse.
    Example:
      >>> numpy.linalg.tensorsolve(numpy.reshape(numpy.eye(4), [4, 2, 2]), [1.0, 2.0, 3.0, 4.0]).numpy()
      array([[1., 2.],
             [3., 4.]])
    """
    a, b = inexact(a), inexact(b)
    if axes is not None:
        rank = len(dims_of("tensorsolve", a))
        a = shapes.moveaxis(a, list(axes), list(range(rank - len(axes), rank)))
    of_b = known_sizes("tensorsolve", dims_of("tensorsolve", b), "the sizes of b")
    sizes = known_sizes("tensorsolve", dims_of("tensorsolve", a)[len(of_b) :], "the sizes of a")
    count = prod(of_b)
    return array.reshape(solve(array.reshape(a, [count, count]), array.reshape(b, [-1])), sizes)
