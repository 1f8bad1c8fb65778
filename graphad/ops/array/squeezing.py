"""`squeeze`: removes axes of size 1, even if they are known only at run time."""

from __future__ import annotations

import numpy as np

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import is_one
from graphad.core.shapes import is_definite, normalize_axes
from graphad.core.tensor import Tensor
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import Squeeze, reshape
from graphad.ops.array.shape import shape
from graphad.ops.math.compare import NOT_EQUAL


def squeeze(input: TensorLike, axis: AxisLike = None, name: str | None = None) -> Tensor:
    """`input` without axes of size 1: all of them, or those that `axis` names.

    Without `axis` and with an unknown shape, the rank of the result is unknown too.

    Args:
      input: Tensor [...] of any dtype.
      axis: The axes to leave out; None or no axis for all of size 1.
    Returns: Tensor of the same dtype, without these axes.
    Raises: InvalidArgumentError: a named axis is longer than 1.
    Example:
      >>> squeeze([[[1], [2]]]).shape
      TensorShape([2])
    """
    x = lift(input)
    axes = None if axis is None else normalize_axes("squeeze", axis, x.ndim, "x", x.dims)
    if not axes:
        if not is_definite(x.dims):
            sizes = shape(x)
            return reshape(x, boolean_mask(sizes, bind(NOT_EQUAL, sizes, lift(np.int32(1)))))
        axes = tuple(i for i, size in enumerate(x.dims or ()) if is_one(size))
    return bind(Squeeze(axes), x)
