"""Sets: the distinct integers in each row of a tensor. Results are sparse, the members of each row in order from the left."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import int32, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind, require_same_dtype
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones, zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat as joined
from graphad.ops.array.join import stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import reshape as reshaped
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.sorting import argsort
from graphad.ops.math.cast import cast
from graphad.ops.math.cumulative import cumsum
from graphad.ops.math.reduce import reduce_all, reduce_max, reduce_prod
from graphad.ops.sparse.places import in_line, out_of_line
from graphad.ops.sparse.tensor import SparseTensor
from graphad.ops.state.effects import require

# The members of all rows as pairs (number of the row, member), and the leading sizes, those before the last axis.
Rows = tuple[Any, Any, Any]


def _rows(op: str, x: SparseTensor | Tensor, name: str) -> Rows:
    if isinstance(x, SparseTensor):
        sizes = x.dense_shape[:-1]
        return in_line(x.indices[:, :-1], sizes), x.values, sizes
    tensor: Any = lift(x)
    if tensor.ndim is None or tensor.ndim < 2:
        raise InvalidArgumentError(
            f"{op}: {name} has shape {tensor.shape}; a known rank of at least 2 is needed."
        )
    require_kind(op, tensor, INTEGER, name)
    sizes = shape_of(tensor, int64)
    count = reduce_prod(sizes[:-1])
    each = range_of(count)[:, None] + zeros(stack([count, sizes[-1]]), int64)
    return reshaped(each, [-1]), reshaped(tensor, [-1]), sizes[:-1]


def _sorted(rows: Tensor, members: Tensor, *others: Tensor) -> list[Any]:
    """Pairs sorted by row and then by member, with a stable sort; `others` are permuted alike."""
    order = argsort(members, stable=True)
    order = gather(order, argsort(gather(rows, order), stable=True))
    return [gather(x, order) for x in (rows, members, *others)]


def _is_first(rows: Tensor, members: Tensor) -> Tensor:
    """Whether each pair differs from the one before it."""
    new = (rows[1:] != rows[:-1]) | (members[1:] != members[:-1])
    return joined([ones(shape_of(rows[:1]), "bool"), new], 0)


def _distinct(rows: Tensor, members: Tensor) -> tuple[Any, Any]:
    rows, members = _sorted(rows, members)
    first = _is_first(rows, members)
    return boolean_mask(rows, first), boolean_mask(members, first)


def _result(rows: Tensor, members: Tensor, sizes: Tensor) -> SparseTensor:
    """Distinct sorted pairs as a sparse tensor."""
    count = reduce_prod(sizes)
    lengths: Any = unsorted_segment_sum(ones(shape_of(rows), int64), rows, count)
    starts = cumsum(lengths, exclusive=True)
    column = range_of(cast(shape_of(rows)[0], int64)) - gather(starts, rows)
    places = joined([out_of_line(rows, sizes), column[:, None]], 1)
    most = reduce_max(joined([lengths, lift([0], int64)], 0))
    return SparseTensor.of(places, members, joined([sizes, stack([most])], 0))


def _pair(op: str, a: Any, b: Any) -> tuple[Rows, Rows]:
    x, y = _rows(op, a, "a"), _rows(op, b, "b")
    require_same_dtype(op, x[1], y[1], ("a", "b"))
    require(
        reduce_all(shape_of(x[2]) == shape_of(y[2])) & reduce_all(x[2] == y[2]),
        f"{op}: the leading sizes differ: \x00 and \x00.",
        [x[2], y[2]],
    )
    return x, y


def _both(x: Rows, y: Rows) -> tuple[Any, Any, Any, Any]:
    """The distinct pairs of each set, merged in order: rows, members, whether the pair is of the second set, whether the next
    pair is equal."""
    first, second = _distinct(x[0], x[1]), _distinct(y[0], y[1])
    sides = joined([zeros(shape_of(first[0]), int32), ones(shape_of(second[0]), int32)], 0)
    rows, members, side = _sorted(joined([first[0], second[0]], 0), joined([first[1], second[1]], 0), sides)
    again = joined([~_is_first(rows, members)[1:], zeros(shape_of(rows[:1]), "bool")], 0)
    return rows, members, side, again


def intersection(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, validate_indices: bool = True
) -> SparseTensor:
    """The integers that are in a row of `a` and in the same row of `b`.

    Args:
      a, b: Integer tensors [..., members] of one dtype and with the same leading sizes, dense or sparse.
      validate_indices: Accepted for compatibility; indices need no order here.
    Returns: SparseTensor [..., most members], with the members of each row in order. No gradient.
    Raises: ArgumentTypeError (a TypeError): another dtype; InvalidArgumentError (a
      ValueError): the leading sizes differ, or a rank below 2; DTypeError (a TypeError): the dtypes differ.
    Example:
      >>> sets.intersection([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
      array([1, 3], dtype=int32)
    """
    x, y = _pair("sets.intersection", a, b)
    rows, members, _, again = _both(x, y)
    return _result(boolean_mask(rows, again), boolean_mask(members, again), x[2])


def difference(
    a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    aminusb: bool = True,
    validate_indices: bool = True,
) -> SparseTensor:
    """The integers that are in a row of `a` and not in the same row of `b`.

    Args:
      a, b: Integer tensors [..., members] of one dtype and with the same leading sizes, dense or sparse.
      aminusb: Whether to return a - b; otherwise b - a.
      validate_indices: Accepted for compatibility; indices need no order here.
    Returns: SparseTensor [..., most members], with the members of each row in order. No gradient.
    Raises: ArgumentTypeError (a TypeError): another dtype; InvalidArgumentError (a
      ValueError): the leading sizes differ, or a rank below 2; DTypeError (a TypeError): the dtypes differ.
    Example:
      >>> sets.difference([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
      array([2], dtype=int32)
    """
    x, y = _pair("sets.difference", a, b)
    rows, members, side, again = _both(x, y)
    paired = again | joined([zeros(shape_of(rows[:1]), "bool"), again[:-1]], 0)
    left = ~paired & (side == (0 if aminusb else 1))
    return _result(boolean_mask(rows, left), boolean_mask(members, left), x[2])


def union(
    a: SparseTensor | TensorLike, b: SparseTensor | TensorLike, validate_indices: bool = True
) -> SparseTensor:
    """The integers that are in a row of `a` or in the same row of `b`.

    Args:
      a, b: Integer tensors [..., members] of one dtype and with the same leading sizes, dense or sparse.
      validate_indices: Accepted for compatibility; indices need no order here.
    Returns: SparseTensor [..., most members], with the members of each row in order. No gradient.
    Raises: ArgumentTypeError (a TypeError): another dtype; InvalidArgumentError (a
      ValueError): the leading sizes differ, or a rank below 2; DTypeError (a TypeError): the dtypes differ.
    Example:
      >>> sets.union([[1, 2, 3]], [[3, 1, 5]]).values.numpy()
      array([1, 2, 3, 5], dtype=int32)
    """
    x, y = _pair("sets.union", a, b)
    rows, members = _distinct(joined([x[0], y[0]], 0), joined([x[1], y[1]], 0))
    return _result(rows, members, x[2])


def size(a: SparseTensor | TensorLike, validate_indices: bool = True) -> Tensor:
    """The number of distinct values in each row.

    Args:
      a: A SparseTensor [..., members] of an integer dtype.
      validate_indices: Accepted for compatibility; indices need no order here.
    Returns: int32 tensor [...].
    Raises: ArgumentTypeError (a TypeError): `a` is not a SparseTensor.
    Example:
      >>> sets.size(SparseTensor([[0, 0], [0, 1]], [7, 7], [1, 2])).numpy()
      array([1], dtype=int32)
    """
    if not isinstance(a, SparseTensor):
        raise ArgumentTypeError(f"sets.size: a is of type {type(a).__name__}; a SparseTensor is needed.")
    rows, members, sizes = _rows("sets.size", a, "a")
    rows, _ = _distinct(rows, members)
    counts = unsorted_segment_sum(ones(shape_of(rows), int32), rows, reduce_prod(sizes))
    return reshaped(counts, sizes)
