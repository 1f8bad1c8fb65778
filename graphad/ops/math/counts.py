"""How often integers occur, all together or row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, int32, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import require_one_of
from graphad.core.shapes import format_dims, is_definite
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.directly import directly
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_max, reduce_min
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.sparse.tensor import SparseTensor
from graphad.ops.state.effects import require


def _counts(x: Any, dtype: Any) -> Any:
    """How often each number occurs, where NumPy counts them as integers that hold the counts; it refuses a negative one."""
    if x.dtype.kind != "i" or not x.size or not dtype.is_integer or x.size > int(dtype.max):
        return None
    return np.bincount(np.reshape(x, -1)).astype(dtype.numpy)


@blaming
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in `arr`, or the sum of its weights.

    Args:
      arr: Integers of any shape, none negative, or a SparseTensor, whose explicit values alone count; of floats what is
        behind the point is cut off.
      weights: As many numbers, in a SparseTensor if `arr` is one; the result has their dtype.
      minlength, maxlength: Bounds of the length of the result, which is otherwise the largest number plus 1; numbers of
        maxlength or more are not counted.
      dtype: The dtype of counts, used without `weights`.
      axis: None or 0 to count all numbers together; -1 to count each row of a matrix by itself.
      binary_output: Whether to return 1 for each number that occurs, instead of its count; not with `weights`.
    Returns: Vector [length] of the counts or sums; for a matrix with `axis=-1` [rows, length].
    Raises: InvalidArgumentError (a ValueError): there are more or fewer weights, another axis, a negative number, or
      `binary_output` with weights; ArgumentTypeError (a TypeError): one of `arr` and `weights` is sparse.
    Example:
      >>> math.bincount([1, 1, 3]).numpy()
      array([0, 2, 0, 1], dtype=int32)
    """
    require_one_of("bincount", "axis", axis, (None, 0, -1), "None, 0 and -1 are possible")
    if weights is not None:
        if binary_output:
            raise InvalidArgumentError(
                "bincount: binary_output says whether there are any, and takes no weights."
            )
        if isinstance(arr, SparseTensor) is not isinstance(weights, SparseTensor):
            raise ArgumentTypeError("bincount: arr and weights must both be sparse or both be dense.")
    place = _place(arr)
    dims = arr.dims if isinstance(arr, SparseTensor) else place.dims
    by_row = axis == -1 and (dims is None or len(dims) != 1)
    if by_row and (dims is None or len(dims) != 2):
        raise InvalidArgumentError(
            f"bincount: arr has shape {format_dims(dims)}; with axis=-1 it must be a vector or a matrix."
        )
    if weights is None and minlength is None and maxlength is None and not (by_row or binary_output):
        counts = directly(_counts, place, dtype=as_dtype(dtype))
        if counts is not None:
            return counts
    require(
        reduce_min(place) >= 0, "bincount: the numbers of arr must be non-negative; they are \x00.", [place]
    )
    if weights is None:
        values = ones_like(place, dtype=as_dtype(dtype))
    else:
        values = lift(weights.values if isinstance(weights, SparseTensor) else weights)
    is_empty = place.dims is not None and 0 in place.dims
    length = lift(0, int64) if is_empty else cast(reduce_max(place), int64) + 1
    if minlength is not None:
        length = maximum(length, cast(minlength, int64))
    elif not is_definite(place.dims):
        length = maximum(length, lift(0, int64))  # of no numbers
    if maxlength is not None:
        top = cast(maxlength, int64)
        least, most = known_value(cast(0 if minlength is None else minlength, int64)), known_value(top)
        # The number is known where both bounds are and leave no choice.
        is_fixed = least is not None and most is not None and least >= most
        length = top if is_fixed else where(length < top, length, top)
        # Numbers of maxlength or more are not counted: a negative segment id is ignored.
        place = where(cast(place, int64) < top, place, -ones_like(place))
    if not by_row:
        found = unsorted_segment_sum(reshape(values, [-1]), reshape(place, [-1]), length)
    else:
        place = cast(place, int64)
        if isinstance(arr, SparseTensor):
            count, row = arr.dense_shape[0], arr.indices[:, 0]
        else:
            count = shape(place, int64)[0]
            row = range_of(count)[:, None]
        # Row k has the segments from k * length on; a number that is not counted stays negative.
        at = where(place < 0, place, place + row * length)
        found = unsorted_segment_sum(reshape(values, [-1]), reshape(at, [-1]), count * length)
        found = reshape(found, stack([count, length]))
    return minimum(found, 1) if binary_output else found


def _place(arr: TensorLike) -> Any:
    """The numbers that are counted, int32 or int64."""
    x = lift(arr.values if isinstance(arr, SparseTensor) else arr)
    if not x.dtype.is_integer or x.dtype.size < 4:
        return cast(x, int32)
    return cast(x, int64) if x.dtype.is_unsigned else x
