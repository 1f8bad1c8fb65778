"""Scaling by norms: normalisation, clipping of one tensor and of several together; the cross product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from graphad.core.annotations import Array, AxisLike, TensorLike
from graphad.core.convert import lift, lift_like, lift_pair
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.refusal import members
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.array.join import stack, unstack
from graphad.ops.array.transpose import roll
from graphad.ops.directly import directly
from graphad.ops.math.arithmetic import abs
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import greater, is_finite
from graphad.ops.math.power import root_of_squares, rsqrt, sqrt
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.math.sum_of_products import SumOfProducts, sum_of_products


def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: AxisLike = None,
) -> Tensor:
    """`x` divided by the larger of its Euclidean norm along `axis` and sqrt(epsilon).

    Args:
      x: Tensor of any shape, a float or complex dtype.
      axis: The axis or axes over which the norm is taken; all by default.
      epsilon: A lower bound on the squared norm.
      dim: An older name of `axis`.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or both `axis` and `dim` are given; DTypeError (a
      TypeError): another dtype.
    Example:
      >>> math.l2_normalize([3.0, 4.0]).numpy()
      array([0.6, 0.8], dtype=float32)
    """
    if dim is not None:
        if axis is not None:
            raise InvalidArgumentError(
                f"l2_normalize: axis is {axis} and dim {dim}; dim is the older name of axis: give one."
            )
        axis = dim
    x = lift(x)
    size = abs(x) if x.dtype.is_complex else x
    scale = rsqrt(maximum(sum_of_products(size, size, axis, True), epsilon))
    return x * (cast(scale, x.dtype) if x.dtype.is_complex else scale)


@overload
def clip_by_norm(  # type: ignore[overload-overlap]
    t: IndexedSlices, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> Tensor: ...
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: AxisLike = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """`t` scaled down to norm `clip_norm` where its Euclidean norm is larger; never enlarged.

    Args:
      t: Tensor of any shape and a float dtype, or IndexedSlices (whose values are clipped).
      clip_norm: A scalar, of any real dtype; a negative one counts as 0.
      axes: The axis or axes over which the norm is taken; all by default.
    Returns: Like `t`. A zero vector stays zero, with gradient 1.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    Example:
      >>> clip_by_norm([3.0, 4.0], 1.0).numpy()
      array([0.6, 0.8], dtype=float32)
    """
    values = t.values if isinstance(t, IndexedSlices) else lift(t)
    limit = cast(lift_like("clip_by_norm", clip_norm, values.dtype), values.dtype)
    if not isinstance(clip_norm, int | float) or clip_norm < 0:
        limit = maximum(limit, 0)
    if axes is None and (found := directly(_shortened, values, limit)) is not None:
        return t.with_values(found) if isinstance(t, IndexedSlices) else found
    total = sum_of_products(values, values, axes, True)
    # Where the norm is zero, take the root of 1 instead: the derivative of sqrt at zero would turn into NaN.
    positive = greater(total, 0)
    length = where(positive, sqrt(where(positive, total, ones_like(total))), total)
    clipped = (values * limit) / maximum(length, limit)
    if not are_compatible(clipped.dims, values.dims):
        raise InvalidArgumentError(
            f"clip_by_norm: t has shape {format_dims(values.dims)}, clip_norm {format_dims(limit.dims)}, which does not "
            "broadcast to it."
        )
    if isinstance(t, IndexedSlices):
        return t.with_values(clipped)
    return clipped


def _shortened(x: Array, limit: Any) -> Any:
    if x.dtype.char not in "fd" or not x.ndim or limit.ndim:
        return None
    length = np.sqrt(_SQUARES.eval(x, x))
    return x * limit / np.maximum(length, limit)


_SQUARES = SumOfProducts(None, True)


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """The Euclidean norm of all tensors of a list together; None entries count as zero.

    Args:
      t_list: A list of float tensors of any shapes, IndexedSlices or None.
    Returns: Float scalar.
    Raises: InvalidArgumentError: there is no tensor.
    Example:
      >>> global_norm([[3.0], None, [4.0]]).numpy()
      np.float32(5.0)
    """
    if not isinstance(t_list, Iterable):
        raise ArgumentTypeError(
            f"global_norm: t_list is a {type(t_list).__name__}; a list of tensors is needed."
        )
    total: Any = None
    for t in members("global_norm", "t_list", t_list, "give a list of tensors"):
        if t is None:
            continue
        values = t.values if isinstance(t, IndexedSlices) else lift(t)
        part = sum_of_products(values, values)
        total = part if total is None else total + part
    if total is None:
        raise InvalidArgumentError("global_norm: t_list holds no tensor; give at least one.")
    return root_of_squares(total)


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Any], Tensor]:
    """Several tensors scaled down together so that their global norm is at most `clip_norm`.

    Args:
      t_list: A list of float tensors of any shapes, IndexedSlices or None.
      clip_norm: A positive scalar.
      use_norm: The global norm, if it is already known; then the tensors may be of several dtypes, and keep theirs.
    Returns: (the list of scaled tensors, the global norm). If the norm is infinite or NaN, all elements become NaN.
    Raises: InvalidArgumentError (a ValueError): there is no tensor; DTypeError (a TypeError): another dtype.
    Example:
      >>> clip_by_global_norm([[3.0], [4.0]], 1.0)[1].numpy()
      np.float32(5.0)
    """
    t_list = members("clip_by_global_norm", "t_list", t_list, "give a list of tensors")
    length = global_norm(t_list) if use_norm is None else lift(use_norm)
    limit = lift_like("clip_by_global_norm", clip_norm, length.dtype)
    scale = limit * minimum(1.0 / length, 1.0 / limit)
    scale = where(is_finite(length), scale, lift(float("nan"), length.dtype))
    out: list[Any] = []
    for t in t_list:
        if t is None:
            out.append(None)
        elif isinstance(t, IndexedSlices):
            out.append(t.with_values(t.values * cast(scale, t.values.dtype)))
        else:
            t = lift(t)
            out.append(t * cast(scale, t.dtype))
    return out, length


def _crossed(a: Array, b: Array) -> Array | None:
    """The products and differences of `cross`, written where they belong."""
    if a.dtype is not b.dtype or a.dtype.kind not in "fciu":
        return None
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), a.dtype)
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        np.subtract(a[..., i] * b[..., j], a[..., j] * b[..., i], out[..., k])
    return out


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The cross product of vectors along the last axis, which must have size 3.

    Args:
      a, b: Tensors [..., 3] of one shape and one numeric dtype.
    Returns: Tensor [..., 3].
    Raises: InvalidArgumentError (a ValueError): the shapes differ, or the last size is not 3; DTypeError (a TypeError): dtypes
      that differ.
    Example:
      >>> linalg.cross([1, 0, 0], [0, 1, 0]).numpy()
      array([0, 0, 1], dtype=int32)
    """
    a, b = lift_pair("cross", a, b)
    for word, x in (("a", a), ("b", b)):
        if x.dims is not None and (not x.dims or (x.dims[-1] is not None and x.dims[-1] != 3)):
            raise InvalidArgumentError(
                f"cross: {word} has shape {format_dims(x.dims)}; its last size must be 3."
            )
    if a.dims is None or b.dims is None:
        return roll(a, -1, -1) * roll(b, -2, -1) - roll(a, -2, -1) * roll(b, -1, -1)
    if (found := directly(_crossed, a, b)) is not None:
        return found
    parts: Any = [unstack(x, 3, -1) for x in (a, b)]
    return stack(
        [parts[0][i] * parts[1][j] - parts[0][j] * parts[1][i] for i, j in ((1, 2), (2, 0), (0, 1))], -1
    )
