"""Sobol points by number, and indices of elements numbered in row-major order."""

from __future__ import annotations

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import as_dtype, float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind_of
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.create import ones, zeros_like
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import index_tensor, static_int
from graphad.ops.math.arithmetic import floordiv
from graphad.ops.math.cumulative import cumprod
from graphad.ops.math.reduce import reduce_max, reduce_min, reduce_prod
from graphad.ops.state.effects import SLOT, require

_DIMENSIONS = 21201  # SciPy has direction numbers for so many
_POINTS = 2**30


def sobol_sample(
    dim: int,
    num_results: TensorLike,
    skip: TensorLike = 0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Points of the Sobol sequence in the unit cube, without the first one, the origin: [num_results, dim]. No gradient.

    Args:
      dim: The dimension of the cube, up to 21201.
      num_results: The number of points; it must be known while tracing, and so must `skip`.
      skip: The number of points to skip at the start.
      dtype: float32 or float64.
    Returns: Tensor [num_results, dim] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a number that is not known while tracing, or out of range.
    Source: Joe and Kuo, Constructing Sobol sequences with better two-dimensional projections, 2008.
    """
    d, n, first = _number("dim", dim, 1), _number("num_results", num_results, 0), _number("skip", skip, 0)
    if d > _DIMENSIONS or first + n >= _POINTS:
        raise InvalidArgumentError(
            f"sobol_sample: {n} points in {d} dimensions after {first} others; at most {_DIMENSIONS} dimensions and "
            "2**30 points are possible."
        )
    require_kind_of("sobol_sample", as_dtype(dtype), FLOATING)
    points = np.zeros((0, d))
    if n:
        points = library.stats().qmc.Sobol(d, scramble=False).fast_forward(first + 1).random(n)
    return lift(points.astype(as_dtype(dtype).numpy))


def _number(word: str, x: object, least: int) -> int:
    number = static_int("sobol_sample", x, word)
    if not isinstance(number, int) or number < least:
        raise InvalidArgumentError(
            f"sobol_sample: {word} is {number}; an integer of at least {least}, known while tracing, is needed."
        )
    return number


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """The index along each axis of elements that are numbered in row-major order: [rank, *shape of indices]. No gradient.

    Args:
      indices: Integers from 0 to below the number of elements.
      dims: The sizes of the axes, a vector of the same dtype.
    Returns: Integer tensor [rank, *shape of indices].
    Raises: InvalidArgumentError: an index is out of range.
    """
    op = "unravel_index"
    i, sizes = lift_pair(op, indices, dims)
    index_tensor(op, i, "indices")
    if sizes.ndim not in (None, 1):
        raise InvalidArgumentError(f"{op}: dims has shape {sizes.shape}; a vector of sizes is needed.")
    count = reduce_prod(sizes)
    require(
        (reduce_min(i) >= 0) & (reduce_max(i) < count),
        f"{op}: indices hold {SLOT}; for dims {SLOT} they must be at least 0 and below {SLOT}.",
        [i, sizes, count],
    )
    strides = cumprod(sizes, exclusive=True, reverse=True)
    column = concat([[-1], ones(shape(shape(i)), "int32")], 0)
    found = floordiv(i, reshape(strides, column))
    # The index along the axis before, if that axis had all that is left.
    of_more = concat([zeros_like(found[:1]), found[:-1]], 0)
    return found - of_more * reshape(sizes, column)
