"""Sorting: an op without a gradient computes the order, and the values are taken along the axis by a differentiable op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Array, BatchContext, DTypeLike, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size, run_time_symbols
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind_of
from graphad.core.op import Op, define, else_eval, no_gradient
from graphad.core.registry import lookup
from graphad.core.run_sizes import Sized
from graphad.core.schema import Axis, Given
from graphad.core.shapes import format_dims, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.kernels import forms
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.order import descending_order, sorted_values, stable_order
from graphad.ops.array.sizes import require_count
from graphad.ops.array.support import requested_size, row_beside, shifted, static_int
from graphad.ops.directly import is_free, parts_directly

_IN_ORDER = "a place in the order is told by all other elements"


@define
class ArgSort(Op):
    """The indices, of `dtype`, that sort x along `axis`, ascending or descending; equal elements keep their order both ways,
    NaN counts as the largest.
    """

    name = "argsort"
    keeps = (False, False)
    axis: Axis
    descending: bool
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind_of("argsort", self.dtype, INTEGER)
        if x.dims is not None:
            normalize_axis("argsort", self.axis, len(x.dims), "values", x.dims)
        return TensorSpec.of(x.dims, self.dtype)

    def eval(self, x: Array) -> Array:
        moved = np.moveaxis(x, self.axis, -1) if x.ndim > 1 else x
        order = descending_order(moved) if self.descending else stable_order(moved)
        order = order.astype(self.dtype.numpy, copy=False)
        return np.moveaxis(order, -1, self.axis) if x.ndim > 1 else order

    @else_eval(_IN_ORDER)
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Ordered("order", self.axis, self.descending, self.dtype)

    vjp = no_gradient("an order is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(ArgSort(shifted(self.axis, len(x.dims) - 1), self.descending, self.dtype), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], self.axis)


@define
class TopIndices(Op):
    """The indices, of `dtype`, of the k largest elements along the last axis, largest first; of equal ones the first comes
    first, NaN counts as the largest.
    """

    name = "top_indices"
    known_as = "top_k"
    keeps = (False, False)
    k: Given[Size]
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind_of("top_k", self.dtype, INTEGER, "index_type")
        if x.dims is None:
            return TensorSpec.of(None, self.dtype)
        if not x.dims:
            raise InvalidArgumentError("top_k: input is a scalar; it must have rank 1 or more.")
        if x.dims[-1] is not None and self.k is not None and self.k > x.dims[-1]:
            raise InvalidArgumentError(
                f"top_k: input must have at least k columns: input has shape {format_dims(x.dims)}, k is {self.k}."
            )
        return TensorSpec.of((*x.dims[:-1], self.k), self.dtype)

    def eval(self, x: Array) -> Array:
        size = x.shape[-1]
        order: Array
        if self.k > size:
            raise InvalidArgumentError(
                f"top_k: input must have at least k columns: input has shape {x.shape}, k is {self.k}."
            )
        is_plain = x.dtype.kind in "iuf"
        if self.k == 1 and is_plain and type(x) is np.ndarray:
            # For it too NaN is the largest, and the first of equal ones is taken.
            order = np.argmax(x, -1)[..., None]
        elif 0 < 4 * self.k < size and is_plain and x.size > _FEW:
            order = _largest(x.reshape(-1, size), self.k).reshape(*x.shape[:-1], self.k)
        else:
            order = descending_order(x)[..., : self.k]
        return order.astype(self.dtype.numpy)

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """For a k that the run finds, as the first k of all in order; looking them up checks that there are so many."""
        (x,) = inputs
        if not run_time_symbols([self.k]) or not x.dims:
            return None
        size, axis = x.dims[-1], len(x.dims) - 1
        if not isinstance(size, Dim) and (size is None or size > _FEW):
            return None  # these are picked out sooner than all are sorted
        first = bind(lookup("steps")(0, self.k, 1, dtypes.int32))
        return lookup("gather")(axis), (bind(ArgSort(axis, True, self.dtype), x), first)

    @else_eval(_IN_ORDER)
    def lower(self, x: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        return forms.Ordered("order", len(ranked(x.dims)) - 1, True, self.dtype)

    vjp = no_gradient("an order is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        return bind(self, x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], -1)


_FEW = 4096  # numbers, whose order is found before their largest are picked out


def _largest(x: Array, k: int) -> Array:
    """The first k of these for each row: those not below a bound that k elements reach, which alone are sorted."""
    rows, size = x.shape
    mask = x < _reached(x, k)[:, None]
    np.logical_not(mask, mask)  # NaN counts as the largest
    places = np.flatnonzero(mask)
    row, column = np.divmod(places, size)
    counts = np.bincount(row, minlength=rows)
    most = int(counts.max())
    if most > size // 4:  # ties; with few such rows the others need not be sorted
        is_tied = counts > size // 4
        found = np.empty((rows, k), np.int64)
        found[is_tied] = descending_order(x[is_tied])[:, :k]
        if not is_tied.all():
            found[~is_tied] = _largest(x[~is_tied], k)
        return found
    values = x.reshape(-1)[places]
    if most * rows == places.size:
        values, columns = values.reshape(rows, most), column.reshape(rows, most)
    else:  # rows of one length: what is filled in comes last, as the order of equal elements is kept
        at = np.arange(places.size) - np.repeat(np.cumsum(counts) - counts, counts)
        filled = np.full((rows, most), -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min, x.dtype)
        columns = np.zeros((rows, most), np.int64)
        filled[row, at], columns[row, at] = values, column
        values = filled
    ranked: Array = np.take_along_axis(columns, descending_order(values)[:, :k], -1)
    return ranked


def _reached(x: Array, k: int) -> Array:
    """For each row a number that k of its elements reach, and few others: the k-th largest one of the maxima of many parts."""
    rows, size = x.shape
    parts = max(4 * k, _PARTS)
    length = size // parts
    if length >= _LONG:
        x = np.maximum.reduce(x[:, : length * parts].reshape(rows, length, parts), 1)
    place = x.shape[1] - k
    least: Array = np.partition(x, place, -1)[:, place]
    return least


_PARTS, _LONG = 64, 4


class TopK(NamedTuple):
    """The result of `top_k`: the values and their indices."""

    values: Tensor
    indices: Tensor


def _is_descending(op: str, direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            f"{op}: direction {direction!r} is unknown; it is 'ASCENDING' or 'DESCENDING'."
        )
    return direction == "DESCENDING"


@blaming
def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The int32 indices that sort `values` along `axis`; equal elements keep their order. The gradient is None.

    Args:
      values: Tensor [..., n, ...] of a real dtype.
      axis: The axis, -rank <= axis < rank.
      direction: "ASCENDING" or "DESCENDING".
      stable: Always so here.
    Returns: int32 tensor with the shape of `values`.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or no such direction.
    Example:
      >>> argsort([3.0, 1.0, 2.0]).numpy()
      array([1, 2, 0], dtype=int32)
    """
    x = lift(values)
    place = normalize_axis("argsort", axis, x.ndim, "values", x.dims)
    return bind(ArgSort(place, _is_descending("argsort", direction), dtypes.int32), x)


@blaming
def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """`values` sorted along `axis`; the gradient goes back to where each element came from.

    Args:
      values: Tensor [..., n, ...] of a real dtype.
      axis: The axis, -rank <= axis < rank.
      direction: "ASCENDING" or "DESCENDING".
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or no such direction.
    Example:
      >>> sort([3.0, 1.0, 2.0]).numpy()
      array([1., 2., 3.], dtype=float32)
    """
    x = lift(values)
    place = normalize_axis("sort", axis, x.ndim, "values", x.dims)
    return sorted_along(x, place, _is_descending("sort", direction), dtypes.int32)


def sorted_along(x: Tensor, axis: int, descending: bool, index: DType) -> Tensor:
    """x sorted along an axis; by way of an order of dtype `index` if derivatives or a graph are needed."""
    found = _sorted(x.data, axis, descending) if is_free(x) else None
    return (
        EagerTensor(found)
        if found is not None
        else bind(TakeAlong(axis), x, bind(ArgSort(axis, descending, index), x))
    )


def _sorted(x: Array, axis: int, descending: bool) -> Array | None:
    """The same of an array; None if only the order tells which of two equal elements comes first."""
    found = sorted_values(x, axis) if type(x) is np.ndarray else None
    return found if found is None or not descending else np.ascontiguousarray(np.flip(found, axis))


def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> TopK:
    """The k largest elements along the last axis, and their indices.

    Args:
      input: Tensor [..., n] of a real dtype.
      k: How many, an int from 0 to n or an integer scalar tensor.
      sorted: Largest first; always so here.
      index_type: The dtype of the indices.
    Returns: (values, indices), both [..., k]. Of equal elements the one with the lower index comes first.
    Raises: InvalidArgumentError (a ValueError): `k` is negative or above n.
    Example:
      >>> math.top_k([1.0, 3.0, 2.0], 2).indices.numpy()
      array([1, 2], dtype=int32)
    """
    x = lift(input)
    count = static_int("top_k", k, "k")
    require_count("top_k", count, "k")
    size, given = requested_size("top_k", k, "k")
    op = TopIndices(size, as_dtype(index_type))
    if (
        type(count) is int
        and op.dtype in (dtypes.int32, dtypes.int64)
        and is_free(x)
        and _has_row_of(x.data, count)
    ):
        found = parts_directly(lambda data: _largest_of_rows(data, op), x)
        if found is not None:
            return TopK(*found)
    indices = bind(op, x, *given)
    return TopK(bind(TakeAlong(-1 if x.ndim is None else x.ndim - 1), x, indices), indices)


def _has_row_of(x: Array, count: int) -> bool:
    return x.dtype.kind in "iuf" and x.ndim > 0 and x.shape[-1] >= count


def _largest_of_rows(x: Array, op: TopIndices) -> tuple[Array, Array]:
    order = op.eval(x)
    return np.take_along_axis(x, order, -1), order
