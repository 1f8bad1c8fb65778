"""The distinct elements of a vector in the order of first occurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, bool_, int32
from graphad.core.errors import InvalidArgumentError
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.create import ones_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.shape import shape
from graphad.ops.array.sorting import argsort
from graphad.ops.directly import parts_directly
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.composed import invert_permutation
from graphad.ops.math.cumulative import cumsum

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.dtypes import DType
    from graphad.core.tensor import Tensor


_MANY = 4000  # elements, for which one order by NumPy takes longer than the ops


class Unique(NamedTuple):
    """The result of `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The result of `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # hides tuple.count, as TensorFlow's does


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Unique:
    """The different elements y of a vector in the order in which they come first, and idx with x[i] = y[idx[i]].

    A NaN differs from all others, 0.0 and -0.0 are the same. The gradient of y goes to where each element comes first.

    Args:
      x: Vector.
      out_idx: int32 or int64.
    Returns: (y, idx); y has as many elements as the values say, an unknown size in a traced function.
    Raises: InvalidArgumentError (a ValueError): `x` is not a vector.
    Example:
      >>> unique([3, 1, 3]).y.numpy()
      array([3, 1], dtype=int32)
    """
    y, idx, _ = _unique("unique", x, out_idx)
    return Unique(y, idx)


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> UniqueWithCounts:
    """As `unique`, and how often each element of y occurs, of dtype `out_idx`.

    Args:
      x: Vector [n] of a real dtype.
      out_idx: int32 or int64.
    Returns: (y, idx, count).
    Raises: InvalidArgumentError (a ValueError): `x` is not a vector.
    """
    y, idx, count = _unique("unique_with_counts", x, out_idx)
    return UniqueWithCounts(y, idx, unsorted_segment_sum(ones_like(idx), idx, count))


def _unique(op: str, x: TensorLike, out_idx: DType | np.dtype[Any] | str | type) -> tuple[Any, Any, Any]:
    """The distinct elements, the position of each element among them, and their number."""
    x, dtype = lift(x), as_dtype(out_idx)
    if x.ndim not in (None, 1):
        raise InvalidArgumentError(f"{op}: x has shape {x.shape}; a vector is needed.")
    parts = parts_directly(_first_seen, x, dtype=dtype.numpy)
    if parts is not None:
        return parts[0], parts[1], parts[2]
    order = argsort(x)
    ranked = gather(x, order)
    is_new = concat([ones_like(ranked[:1], dtype=bool_), not_equal(ranked[1:], ranked[:-1])], 0)
    # Equal elements keep their order, so the first of a group is the earliest.
    firsts = boolean_mask(order, is_new)
    by_place = argsort(firsts)
    group = cumsum(cast(is_new, int32)) - 1
    number = gather(invert_permutation(by_place), group)
    idx = gather(number, invert_permutation(order))
    return bind(TakeAlong(0), x, gather(firsts, by_place)), cast(idx, dtype), shape(firsts)[0]


def _first_seen(x: Array, dtype: np.dtype[Any]) -> tuple[Array, ...]:
    """The same at once. Raises: ValueError: NumPy has no order for such elements, or takes longer for so many."""
    if x.ndim == 1 and x.size > _FEW and x.dtype.kind in "iu":
        low = x.min()
        span = int(x.max()) - int(low) + 1
        if span <= _OF_A_TABLE * x.size:
            return _by_table(x, low, span, dtype)
    if x.ndim != 1 or x.dtype.kind == "c" or x.size > _MANY:
        raise ValueError("the usual way is taken")
    _, firsts, group = np.unique(x, return_index=True, return_inverse=True, equal_nan=False)
    by_place = np.argsort(firsts)
    number = np.empty(firsts.size, dtype)
    number[by_place] = np.arange(firsts.size)
    return x[firsts[by_place]], number[group], np.array(firsts.size, np.int32)


_FEW, _OF_A_TABLE = (
    64,
    4,
)  # integers, and how large a table of all numbers from the least to the largest may be for each


def _by_table(x: Array, low: Any, span: int, dtype: np.dtype[Any]) -> tuple[Array, ...]:
    """The same for integers from `low` on, `span` numbers, without sorting them."""
    wide = x if x.dtype.itemsize == 8 else x.astype(np.int64)  # differences of narrower ones might overflow
    at = (wide - wide.dtype.type(low)).astype(np.intp, copy=False)
    first = np.full(span, x.size, np.intp)
    first[at[::-1]] = np.arange(x.size - 1, -1, -1)  # of several the last counts, which comes first
    there = np.flatnonzero(first < x.size)
    firsts = first[there]
    by_place = np.argsort(firsts)
    number = np.empty(span, dtype)
    number[there[by_place]] = np.arange(firsts.size)
    return x[firsts[by_place]], number[at], np.array(firsts.size, np.int32)
