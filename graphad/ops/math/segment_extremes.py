"""Largest and smallest members of segments, and their products: `segment_max`, `unsorted_segment_prod` and so on.

Ids are as for `unsorted_segment_sum`. Tied members share the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.dtypes import from_numpy
from graphad.core.op import define, else_eval
from graphad.core.references import AT
from graphad.core.schema import Count, Given, IntegerSpec
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.create import zeros_like
from graphad.ops.array.order import stable_order
from graphad.ops.array.positions import WRITES_ANYWHERE, combined
from graphad.ops.array.scatter import SegmentGather, Segments, UnsortedSegmentSum, members
from graphad.ops.array.shape import shape
from graphad.ops.array.support import index_tensor, requested_size, static_array
from graphad.ops.directly import directly
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.segment import members_of, sorted_segments
from graphad.ops.math.segment_others import SegmentOthers
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.rules import NUMERIC, REAL, require_kind, scalar_like

_MANY = 2048  # elements; for fewer the ops take no longer
_FEW = 64  # ids that say at once that most are not in order


# `reduceat` is slow along the first axis, a step over all segments at once costs some microseconds: with fewer elements for each
# step than this, `reduceat` takes less time.
_ELEMENTS_OF_A_STEP = 750


def _combined(formula: np.ufunc, rows: Array, starts: Array) -> Array:
    """`formula.reduceat(rows, starts, 0)`: step k takes the k-th row of each part that has one, in the order of `reduceat`."""
    if type(rows) is not np.ndarray or rows.ndim == 1:
        return formula.reduceat(rows, starts, 0)
    lengths = np.diff(starts, append=len(rows))
    steps = int(lengths.max())
    if rows.size < steps * _ELEMENTS_OF_A_STEP:
        return formula.reduceat(rows, starts, 0)
    order = np.argsort(-lengths, kind="stable")
    firsts = starts[order]
    out = rows[firsts]
    longer = len(lengths) - np.cumsum(np.bincount(lengths))  # parts with more than k rows
    for k in range(1, steps):
        part = out[: longer[k]]
        formula(part, rows[firsts[: longer[k]] + k], out=part)
    found: np.ndarray = np.empty_like(out)
    found[order] = out
    return found


class _Combined(Segments):
    """y[b, s, k] of all data[b, i, k] with ids[b, i] = s, combined by a ufunc; see `UnsortedSegmentSum`."""

    keeps = (True, True)
    takes_symbols = False
    formula: ClassVar[np.ufunc]
    way: ClassVar[str]  # of `forms.Indexed`
    kinds: ClassVar[frozenset[str]] = REAL
    empty: ClassVar[Any]  # the value of a segment without members, given the dtype

    def infer(self, data: TensorSpec, ids: IntegerSpec) -> TensorSpec:
        require_kind(self.name, data, self.kinds, "data")
        return super().infer(data, ids)

    def eval(self, data: Array, ids: Array) -> Array:
        if self.formula is not np.multiply:
            shape = (*ids.shape[: self.batch_dims], self.num, *data.shape[ids.ndim :])
            found = combined(self.way, data, ids, shape, self.batch_dims, self.batch_dims, negative="none")
            if found is not None:
                return found
        lead, tail, at, values = members(self.name, data, ids, self.num, self.batch_dims)
        wide = widened(values)
        count = math.prod(lead) * self.num
        is_sorted = bool((at[1:_FEW] >= at[: _FEW - 1][: len(at) - 1]).all() and (at[1:] >= at[:-1]).all())
        if tail or is_sorted:
            out = arrays.full((count, *tail), type(self).empty(data.dtype), wide.dtype, wide)
            if len(at):
                if not is_sorted:
                    order = stable_order(at)
                    at, wide = at[order], wide[order]
                starts = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
                if len(starts) == count:  # each has members
                    out = _combined(self.formula, wide, starts)
                else:
                    out[at[starts]] = _combined(self.formula, wide, starts)
        else:
            empty = type(self).empty(data.dtype)
            start = empty
            if self.formula is not np.multiply and wide.dtype.kind == "f":
                start = -np.inf if self.formula is np.maximum else np.inf
            out = arrays.full(count, start, wide.dtype, wide)
            self.formula.at(out, at, wide)
            if start is not empty and (out == start).any():  # no members, or infinite ones
                is_empty = np.ones(count, bool)
                is_empty[at] = False
                out[is_empty] = empty
        return as_dtype_of(out, values).reshape((*lead, self.num, *tail))

    @else_eval(WRITES_ANYWHERE)
    def lower(self, data: TensorSpec, ids: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        return forms.Indexed(self.way, self.batch_dims, self.batch_dims, negative="none")

    def added(self, values: Any, ids: Any, y: Any) -> Tensor:
        """The sums of `values` over the segments that y has."""
        num = None if y.dims is None else y.dims[self.batch_dims]
        given = () if num is not None else (shape(y)[self.batch_dims],)
        return bind(UnsortedSegmentSum((AT, 1) if given else num, self.batch_dims), values, ids, *given)

    def spread(self, x: Tensor, ids: Tensor) -> Tensor:
        """For each slice of data the value of its segment; 0 for those without a segment."""
        return bind(SegmentGather(self.batch_dims), x, ids)


def _extreme_vjp(self: Any, ctx: VjpContext, g: Tensor) -> Sequence[Any]:
    data, ids, y = ctx.inputs[0], ctx.inputs[1], ctx.outputs[0]
    found = None if self.batch_dims else directly(_without_ties, data, ids, y, g)
    if found is not None:
        return found, None
    is_chosen = equal(data, self.spread(y, ids))
    count = self.added(cast(is_chosen, g.dtype), ids, y)
    share = self.spread(g / maximum(count, scalar_like(1, count)), ids)
    return where(is_chosen, share, zeros_like(share)), None


def _without_ties(data: Array, ids: Array, y: Array, g: Array) -> Array | None:
    """The cotangent of many floats where no two of a segment share its extreme: each has a whole share."""
    if data.size < _MANY or data.dtype.kind != "f" or y.size * 8 > data.size or ids.min() < 0:
        return None  # with few elements for each extreme the ops take no longer
    flat = ids.reshape(-1)
    values, extremes = data.reshape(len(flat), -1), y.reshape(len(y), -1)
    chosen = np.flatnonzero(values == np.take(extremes, flat, 0))
    if chosen.size > y.size:
        return None
    at = chosen if extremes.shape[1] == 1 else chosen // extremes.shape[1]
    at = flat[at].astype(np.int64, copy=False)
    if extremes.shape[1] > 1:
        at = at * extremes.shape[1] + chosen % extremes.shape[1]
    if at.size and np.bincount(at).max() > 1:
        return None
    found = np.zeros(data.shape, g.dtype)
    found.reshape(-1)[chosen] = g.reshape(-1)[at]
    return found


@define
class UnsortedSegmentMax(_Combined):
    """y[b, s, k] is the largest data[b, i, k] with ids[b, i] = s, NaN if one is; the lowest number of the dtype for a segment
    without members. As unsorted_segment_sum otherwise.
    """

    name, formula, way = "unsorted_segment_max", np.maximum, "max"
    num: Given[Size]
    batch_dims: Count = 0
    empty = staticmethod(lambda dtype: from_numpy(dtype).min)
    vjp = _extreme_vjp


@define
class UnsortedSegmentMin(_Combined):
    """y[b, s, k] is the smallest data[b, i, k] with ids[b, i] = s, NaN if one is; the largest number of the dtype for a segment
    without members. As unsorted_segment_sum otherwise.
    """

    name, formula, way = "unsorted_segment_min", np.minimum, "min"
    num: Given[Size]
    batch_dims: Count = 0
    empty = staticmethod(lambda dtype: from_numpy(dtype).max)
    vjp = _extreme_vjp


@define
class UnsortedSegmentProd(_Combined):
    """y[b, s, k] is the product of all data[b, i, k] with ids[b, i] = s, 1 for a segment without members. As
    unsorted_segment_sum otherwise.
    """

    name, formula, way, kinds = "unsorted_segment_prod", np.multiply, "mul", NUMERIC
    keeps = (True, False)
    num: Given[Size]
    batch_dims: Count = 0
    empty = staticmethod(lambda dtype: 1)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        data, ids = ctx.inputs[0], ctx.inputs[1]
        return self.spread(g, ids) * conjugate(bind(SegmentOthers(self.batch_dims), data, ids)), None


def _unsorted(
    op_class: type[_Combined], data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike
) -> Tensor:
    name = op_class.name
    x, ids = lift(data), index_tensor(name, segment_ids, "segment_ids")
    count, given = requested_size(name, num_segments, "num_segments")
    return bind(op_class(count), x, ids, *given)


@blaming
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The largest of the slices of `data` that share a segment id, element by element; arguments as for `unsorted_segment_sum`.

    A segment without members, or of -inf alone, has the lowest finite number of the dtype, so that x - y is never inf - inf.
    Ties share the gradient.

    Args:
      data: Real tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    """
    y = _unsorted(UnsortedSegmentMax, data, segment_ids, num_segments)
    return maximum(y, scalar_like(y.dtype.min, y)) if y.dtype.is_floating else y


@blaming
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The smallest of the slices of `data` that share a segment id, element by element; arguments as for `unsorted_segment_sum`.

    A segment without members, or of inf alone, has the largest finite number of the dtype, so that x - y is never inf - inf.
    Ties share the gradient.

    Args:
      data: Real tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    """
    y = _unsorted(UnsortedSegmentMin, data, segment_ids, num_segments)
    return minimum(y, scalar_like(y.dtype.max, y)) if y.dtype.is_floating else y


@blaming
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """The products of the slices of `data` that share a segment id; arguments as for `unsorted_segment_sum`, 1 for segments
    without members.

    If a segment has one zero, only that element has a nonzero gradient; if it has two zeros, its gradient is 0, and with three
    its second derivative is 0 too.

    Args:
      data: Numeric tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    """
    return _unsorted(UnsortedSegmentProd, data, segment_ids, num_segments)


def _extreme(op_class: type[_Combined], caller: str, data: TensorLike, segment_ids: TensorLike) -> Tensor:
    """The extremes of sorted segments, 0 where one has no members."""
    ids, count = sorted_segments(caller, segment_ids)
    y = _unsorted(op_class, data, ids, count)
    known = static_array(ids)
    if known is not None and known.size and not known[0] and (np.diff(known) <= 1).all():
        return y  # each has members
    return where(members_of(y, ids, count) > 0, y, zeros_like(y))


@blaming
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The largest of the slices of `data` that share an id, element by element, 0 for segments without members; arguments and
    shapes as for `segment_sum`. Ties share the gradient.

    Args:
      data: Real tensor [n, ...] of any dtype.
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the ids are not sorted, negative, or not n.
    """
    return _extreme(UnsortedSegmentMax, "segment_max", data, segment_ids)


@blaming
def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The smallest of the slices of `data` that share an id, element by element, 0 for segments without members; arguments and
    shapes as for `segment_sum`. Ties share the gradient.

    Args:
      data: Real tensor [n, ...] of any dtype.
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the ids are not sorted, negative, or not n.
    """
    return _extreme(UnsortedSegmentMin, "segment_min", data, segment_ids)


@blaming
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """The products of the slices of `data` that share an id, 1 for segments without members; arguments and shapes as for
    `segment_sum`, the gradient as for `unsorted_segment_prod`.

    Args:
      data: Numeric tensor [n, ...] of any dtype.
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the ids are not sorted, negative, or not n.
    """
    return _unsorted(UnsortedSegmentProd, data, *sorted_segments("segment_prod", segment_ids))
