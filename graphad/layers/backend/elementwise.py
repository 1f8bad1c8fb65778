"""Element by element, and sums along axes, as `keras.backend` has them."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.tensor import Tensor
from graphad.ops import array, math, nn

# -- element by element ------------------------------------------------------------------------------------------------------


def clip(x: TensorLike, min_value: float | TensorLike | None, max_value: float | TensorLike | None) -> Tensor:
    """As `graphad.clip_by_value`; a bound of None is none, and a number below min_value counts as min_value.

    Args:
      x: Tensor of any shape, a numeric dtype.
      min_value: The lower bound, or None.
      max_value: The upper bound, or None.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    if isinstance(min_value, int | float) and isinstance(max_value, int | float):
        max_value = min_value if max_value < min_value else max_value
    x = lift(x)
    if min_value is not None and max_value is not None:
        return math.clip_by_value(x, min_value, max_value)
    if min_value is not None:
        return math.maximum(x, min_value)
    return x if max_value is None else math.minimum(x, max_value)


def pow(x: TensorLike, a: TensorLike) -> Tensor:
    """As `graphad.math.pow`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      a: Tensor, the exponent.
    Returns: Tensor of the shape that both broadcast to, in their dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.pow(x, a)


def sqrt(x: TensorLike) -> Tensor:
    """As `graphad.math.sqrt`, and 0 for negative numbers.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    return math.sqrt(math.maximum(x, array.zeros((), x.dtype)))


# -- activations -------------------------------------------------------------------------------------------------------------


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x for x > 0, alpha (exp(x) - 1) else.

    Args:
      x: Tensor of any shape, a numeric dtype.
      alpha: The slope or scale of what is below.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    y = nn.elu(x)
    return y if alpha == 1 else math.where(x > 0, y, alpha * y)


def hard_sigmoid(x: TensorLike) -> Tensor:
    """0.2 x + 0.5 between 0 and 1.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.clip_by_value(0.2 * lift(x) + 0.5, 0.0, 1.0)


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """x for x above the threshold, at most max_value, and alpha (x - threshold) else.

    Args:
      x: Tensor of any shape, a numeric dtype.
      alpha: The slope or scale of what is below.
      max_value: The upper bound, or None.
      threshold: Below it the other branch is taken.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    if threshold:
        above = x * math.cast(x > threshold, x.dtype)
    else:
        above = nn.leaky_relu(x, alpha) if alpha and max_value is None else nn.relu(x)
    if max_value is not None:
        above = math.clip_by_value(above, 0, max_value)
    if not alpha or (max_value is None and not threshold):
        return above
    return above - alpha * nn.relu(threshold - x)


def softmax(x: TensorLike, axis: AxisLike = -1) -> Tensor:
    """exp(x) over its sum along an axis or several, of a tensor with two axes or more.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    if x.ndim is not None and x.ndim < 2:
        raise InvalidArgumentError(
            f"softmax: x has shape {tuple(x.shape)}; two axes or more are needed, or use nn.softmax."
        )
    if isinstance(axis, int):
        return nn.softmax(x, axis)
    above = math.exp(x - math.reduce_max(x, axis, keepdims=True))
    return above / math.reduce_sum(above, axis, keepdims=True)


def softplus(x: TensorLike) -> Tensor:
    """As `graphad.math.softplus`.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.softplus(x)


def softsign(x: TensorLike) -> Tensor:
    """As `graphad.nn.softsign`.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return nn.softsign(x)


# -- along axes --------------------------------------------------------------------------------------------------------------


def all(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along the axes are true, or not 0.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_all(math.cast(lift(x), dtypes.bool_), axis, keepdims)


def any(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """Whether an element along the axes is true, or not 0.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_any(math.cast(lift(x), dtypes.bool_), axis, keepdims)


def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """As `graphad.argmax`, along the last axis by default.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """As `graphad.argmin`, along the last axis by default.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.argmin(x, axis)


def _inexact(x: TensorLike) -> Tensor:
    """A tensor, of dtype `floatx` if it is of booleans."""
    x = lift(x)
    return math.cast(x, floatx_dtype()) if x.dtype is dtypes.bool_ else x


def max(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_max`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_max(x, axis, keepdims)


def mean(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_mean`; booleans count as 0 and 1.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_mean(_inexact(x), axis, keepdims)


def min(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_min`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_min(x, axis, keepdims)


def prod(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_prod`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_prod(x, axis, keepdims)


def std(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_std`; booleans count as 0 and 1.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_std(_inexact(x), axis, keepdims)


def sum(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_sum`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_sum(x, axis, keepdims)


def var(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """As `graphad.math.reduce_variance`; booleans count as 0 and 1.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
      keepdims: Whether the axes stay with size 1.
    Returns: Tensor without the axes, or with size 1 for each.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return math.reduce_variance(_inexact(x), axis, keepdims)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Tensor:
    """As `graphad.math.in_top_k`, with the operands in the other order.

    Args:
      predictions: Float tensor [batch, classes].
      targets: Integer tensor [batch].
      k: How many count as the top.
    Returns: A bool tensor [batch].
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return nn.in_top_k(targets, predictions, k)


def reverse(x: TensorLike, axes: int | Sequence[int]) -> Tensor:
    """As `graphad.reverse`, along one axis or several.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axes: An axis or several.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.reverse(x, [axes] if isinstance(axes, int) else axes)
