"""Matrix functions composed of decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.identity_matrix import eye
from graphad.ops.array.join import concat
from graphad.ops.array.passing import stop_gradient
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_array
from graphad.ops.control.branch import conditional
from graphad.ops.linalg.diagonals import diag, diag_part
from graphad.ops.linalg.eigen import svd
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.pseudo_inverse import PseudoInverse
from graphad.ops.linalg.systems import cholesky, cholesky_solve
from graphad.ops.math import greater
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import logical_and, logical_not
from graphad.ops.math.reduce import reduce_any, reduce_max, reduce_prod, reduce_sum
from graphad.ops.math.select import maximum, where
from graphad.ops.math.statistics import norm


@blaming
def normalize(
    tensor: TensorLike, ord: str | float = "euclidean", axis: AxisLike = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(x / n, n) for the norm n of x along `axis`, which is kept with size 1; see `norm`.

    Args:
      tensor: Tensor [...], a float or complex dtype.
      ord, axis: As for `norm`.
    Returns: (tensor of the same shape, norm with `axis` kept with size 1).
    Raises: InvalidArgumentError (a ValueError): an order that is not supported, or an axis out of range.
    Example:
      >>> linalg.normalize([3.0, 4.0])[0].numpy()
      array([0.6, 0.8], dtype=float32)
    """
    x = lift(tensor)
    length = norm(x, ord, axis, keepdims=True)
    return x / length, length


@blaming
def pinv(
    a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The Moore-Penrose inverse of [..., m, n] from its singular values; those up to rcond times the largest count as
    0. Derivatives are those for changes that keep how many are left.

    Args:
      rcond: The relative threshold; by default 10 * max(m, n) * the machine epsilon of the dtype.
      a: Tensor [..., m, n], a float or complex dtype.
      validate_args: Accepted for compatibility.
    Returns: Tensor [..., n, m].
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes; DTypeError (a TypeError): another dtype.
    Source: Penrose, A generalized inverse for matrices, 1955.
    """
    a = lift(a)
    parts = svd(stop_gradient(a))
    s = parts[0]
    least = _larger_size(a, s) * (10.0 * float(np.finfo(s.dtype.as_numpy_dtype).eps))
    threshold = least if rcond is None else cast(rcond, s.dtype)
    kept = _are_above(threshold, s)
    y = _of_parts(*parts, kept)
    is_small = static_array(threshold <= least)
    if rcond is None or (is_small is not None and is_small.all()):
        return bind(PseudoInverse(), y, a)
    # Where more than rounding errors is left out, derivatives depend on the left out singular values too.
    is_part = reduce_any(logical_and(_are_above(least, s), logical_not(kept)))
    return conditional(  # type: ignore[no-any-return]
        is_part, lambda: _of_parts(*svd(a), kept), lambda: bind(PseudoInverse(), y, a)
    )


def _are_above(rcond: Tensor, s: Tensor) -> Tensor:
    """Which singular values are above this part of the largest."""
    return s > rcond[..., None] * reduce_max(s, axis=-1, keepdims=True)


def _of_parts(s: Tensor, u: Tensor, v: Tensor, kept: Tensor) -> Tensor:
    """The pseudo-inverse from the parts of the singular value decomposition that are kept."""
    inverse = where(kept, 1 / where(kept, s, 1 + zeros_like(s)), zeros_like(s))
    return matmul(v * cast(inverse, v.dtype)[..., None, :], u, adjoint_b=True)


@blaming
def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The number of singular values of [..., m, n] above `tol`.

    Args:
      a: Tensor [..., m, n], a float or complex dtype.
      tol: The threshold, a number or a tensor [...]; by default max(m, n) * the machine epsilon * the largest singular
        value.
      validate_args: Accepted for compatibility.
    Returns: int32 tensor [...].
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes; DTypeError (a TypeError): another dtype.
    """
    a = lift(a)
    s = svd(a, compute_uv=False)
    if tol is None:
        step = _larger_size(a, s) * float(np.finfo(s.dtype.as_numpy_dtype).eps)
        tol = step * reduce_max(s, axis=-1, keepdims=True)
    return reduce_sum(cast(greater(s, tol), int32), axis=-1)


@blaming
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The x that makes |matrix @ x - rhs|**2 + l2_regularizer * |x|**2 smallest: [..., m, n] and [..., m, k] give [..., n, k].

    If m < n and l2_regularizer is 0, it is the solution with the smallest norm. It is computed from a Cholesky factor
    of the smaller Gram matrix, which squares the condition number; `fast=False` uses singular values instead.

    Args:
      matrix: Tensor [..., m, n], a float or complex dtype.
      rhs: Tensor [..., m, k] of the same dtype.
      l2_regularizer: The weight of |x|**2, added to the diagonal of the normal equations.
      fast: Whether to use a Cholesky factor; otherwise singular values.
    Returns: Tensor [..., n, k] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or the Cholesky factor does not exist;
    DTypeError (a TypeError):
      dtypes that differ.
    Example:
      >>> linalg.lstsq([[1.0], [1.0]], [[1.0], [3.0]]).numpy()
      array([[2.]], dtype=float32)
    """
    a, b = lift_pair("lstsq", matrix, rhs)
    if not fast:
        if l2_regularizer:
            raise InvalidArgumentError("lstsq: fast=False takes no l2_regularizer; use fast=True, or 0.")
        return matmul(pinv(a), b)
    rows, columns = _sizes("lstsq", a)

    def tall() -> Tensor:
        gram = matmul(a, a, adjoint_a=True) + cast(l2_regularizer, a.dtype) * eye(columns, dtype=a.dtype)
        return cholesky_solve(cholesky(gram), matmul(a, b, adjoint_a=True))

    def wide() -> Tensor:
        gram = matmul(a, a, adjoint_b=True) + cast(l2_regularizer, a.dtype) * eye(rows, dtype=a.dtype)
        return matmul(a, cholesky_solve(cholesky(gram), b), adjoint_a=True)

    found: Tensor = conditional(rows >= columns, tall, wide)
    return found


def _sizes(op: str, a: Tensor) -> tuple[Any, Any]:
    """The rows and columns of a matrix, as numbers where they are known."""
    if a.dims is not None and len(a.dims) < 2:
        raise InvalidArgumentError(f"{op}: the matrix has shape {a.shape}; it must have rank 2 or more.")
    known = (None, None) if a.dims is None else tuple(a.shape.as_list()[-2:])
    sizes = shape(a)
    return tuple([sizes[k] if size is None else size for k, size in zip((-2, -1), known, strict=True)])  # type: ignore[return-value]


def _larger_size(a: Tensor, s: Tensor) -> Tensor:
    """max(m, n), in the dtype of the singular values."""
    return cast(maximum(*_sizes("svd", a)), s.dtype)


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """The tensor with result[i, j, i, j] = diagonal[i, j], each axis occurring twice, and 0 elsewhere.

    Args:
      diagonal: Tensor [...] of any numeric dtype.
    Returns: Tensor with twice as many axes, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a scalar; DTypeError (a TypeError): another dtype.
    """
    x = lift(diagonal)
    if x.ndim == 0:
        raise InvalidArgumentError("tensor_diag: diagonal is a scalar; at least 1 axis is needed.")
    if x.ndim == 1:
        return diag(x)
    sizes = shape(x)
    return reshape(diag(reshape(x, [-1])), concat([sizes, sizes], 0))


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The elements [i, j] that `tensor_diag` puts at [i, j, i, j].

    Args:
      input: Tensor [*s, *s] of any dtype: the two halves of its shape are equal.
    Returns: Tensor [*s] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the halves of the shape differ.
    """
    x: Any = lift(input)
    if x.ndim is None or x.ndim % 2 or not x.ndim:
        raise InvalidArgumentError(f"tensor_diag_part: shape {x.shape}; an even number of axes is needed.")
    if x.ndim == 2 and x.dims[0] == x.dims[1]:
        return diag_part(x)
    half = shape(x)[: x.ndim // 2]
    count = reduce_prod(half)
    return reshape(diag_part(reshape(x, [count, count])), half)
