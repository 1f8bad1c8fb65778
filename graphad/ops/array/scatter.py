"""Writing at positions given as data: scatter and segment sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    ShapeLike,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like
from graphad.core.dims import Size
from graphad.core.dtypes import as_dtype, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_same_dtype
from graphad.core.op import MIXED, Op, define, else_eval, no_form
from graphad.core.references import AT
from graphad.core.row_access import PUTS, RowAccess
from graphad.core.schema import Count, Given, IndexSpec, IntegerSpec
from graphad.core.shapes import are_compatible, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import added_at
from graphad.ops.array.bad_indices import are_ignored, moved_inside, only_inside
from graphad.ops.array.create import zeros_like
from graphad.ops.array.gather import (
    GatherNd,
    ScatterNd,
    check_nd,
    check_range,
    depth_of_one,
    nd_index,
    place_of_one,
)
from graphad.ops.array.positions import READS_ANYWHERE, WRITES_ANYWHERE, by_coordinates, combined
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as sequence
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.shape import size
from graphad.ops.array.sizes import num_was_input, requested, require_sizes
from graphad.ops.array.support import all_stacked, index_tensor, requested_size, same_row
from graphad.ops.choice import chosen
from graphad.ops.directly import directly
from graphad.ops.math.compare import EQUAL
from graphad.ops.math.select import where

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def scatter_nd(
    indices: TensorLike,
    updates: TensorLike,
    shape: ShapeLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """Zeros of a shape into which `updates` are added at `indices`; repeats add up.

    Args:
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes.
      updates: Tensor [*indices.shape[:-1], *shape[depth:]] of any numeric dtype.
      shape: The shape of the result: sizes or an integer tensor.
      bad_indices_policy: "IGNORE" to leave out updates whose index is out of range; "", "DEFAULT" or "ERROR" to refuse them.
    Returns: Tensor of that shape and the dtype of `updates`.
    Raises: InvalidArgumentError: an index is out of range, the shapes do not fit, or there is no such policy.
    Example:
      >>> scatter_nd([[1], [3], [1]], [1.0, 2.0, 3.0], [4]).numpy()
      array([0., 4., 0., 2.], dtype=float32)
    """
    i, u = index_tensor("scatter_nd", indices, "indices"), lift(updates)
    sizes, given = requested("scatter_nd", shape)
    require_sizes("scatter_nd", sizes)
    if are_ignored("scatter_nd", bad_indices_policy):
        i, inside = moved_inside("scatter_nd", i, lift(shape, int64))
        u = only_inside("scatter_nd", u, inside)
    return bind(ScatterNd(sizes), i, u, *given)


@define
class TensorScatterUpdate(Op):
    """x with the slices at `indices`, as gather_nd reads them, replaced by `updates`; of repeated indices the last counts."""

    name = "tensor_scatter_nd_update"
    takes_symbols = (0, 2)
    keeps = ((1,), False)
    batch_dims: Count = 0

    def row_access(self, rank: int) -> RowAccess | None:
        return None if self.batch_dims else RowAccess(PUTS, 0, 2, coordinates=True)

    def infer(self, x: TensorSpec, indices: IndexSpec, updates: TensorSpec) -> TensorSpec:
        require_same_dtype(self.caller, updates, x, ("updates", "tensor"))
        want = check_nd(self.caller, x.dims, indices.dims, self.batch_dims)
        if not are_compatible(want, updates.dims):
            raise unfit(self.caller, x, indices, updates, want)
        return x

    def eval(self, x: Array, indices: Array, updates: Array) -> Array:
        if np.shape(updates) != (*indices.shape[:-1], *x.shape[self.batch_dims + indices.shape[-1] :]):
            # Sizes that were not known while tracing, which NumPy might broadcast.
            self.infer(*[TensorSpec.of(np.shape(v), as_dtype(v.dtype)) for v in (x, indices, updates)])
        out = arrays.copy(x)
        if np.size(updates):
            out[nd_index(self.caller, indices, x.shape, self.batch_dims)] = updates
        return out

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        evaluate, (x, indices, updates) = self.eval, specs
        depth = depth_of_one(indices.dims, self.batch_dims)
        if not depth or ranked(updates.dims)[1:] != ranked(x.dims)[depth:]:
            return None
        limits: Any = ranked(x.dims)[:depth]

        def put(x: Array, indices: Array, updates: Array) -> Any:
            place = place_of_one(indices, updates, limits) if type(x) is np.ndarray else None
            if place is None:
                return evaluate(x, indices, updates)
            out = x.copy()
            out[place] = updates[0]
            return out

        return put

    @else_eval(WRITES_ANYWHERE)
    def lower(self, x: TensorSpec, indices: TensorSpec, updates: TensorSpec) -> kernels.forms.Form | None:
        return by_coordinates("put", self.batch_dims, indices, (0, 1, 2))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        indices = ctx.inputs[1]
        part = bind(GatherNd(self.batch_dims), g, indices)
        return (
            bind(self, g, indices, zeros_like(part)) if ctx.needs(0) else None,
            None,
            self._of_the_last(indices, g, part) if ctx.needs(2) else None,
        )

    def _kept(self, indices: Array, part: Array, dims: tuple[int, ...]) -> Array | None:
        """The same for positions along one or more first axes; `part` itself where no two are equal."""
        depth, lead = indices.shape[-1], indices.shape[:-1]
        if self.batch_dims or not depth or type(part) is not np.ndarray:
            return None
        key = nd_index(self.caller, indices, dims, 0)
        is_written = np.zeros(dims[:depth], bool)
        is_written[key] = True
        if np.count_nonzero(is_written) == math.prod(lead):
            return part[...]
        numbers = np.arange(math.prod(lead)).reshape(lead)
        winners = np.empty(dims[:depth], numbers.dtype)
        winners[key] = numbers
        is_last = winners[key] == numbers
        return np.where(is_last.reshape(lead + (1,) * (part.ndim - len(lead))), part, part.dtype.type(0))

    def _of_the_last(self, indices: Tensor, g: Tensor, part: Tensor) -> Tensor:
        """`part`, with 0 where a later update has the same position. Scattering the update numbers in the same way shows which
        one is last."""
        if indices.dims is not None and not self.batch_dims and all(n == 1 for n in indices.dims[:-1]):
            return part  # a single update
        found = directly(self._kept, indices, part, dims=g.dims)
        if found is not None:
            return found
        numbers = reshape(sequence(size(part, int64)), shape_of(part))
        winners = bind(self, zeros_like(g, int64), indices, numbers)
        is_last = bind(EQUAL, numbers, bind(GatherNd(self.batch_dims), winners, indices))
        return where(is_last, part, zeros_like(part))

    def batch(self, ctx: BatchContext, x: Ranked, indices: Ranked, updates: Ranked) -> Tensor:
        return bind(TensorScatterUpdate(self.batch_dims + 1), *all_stacked(ctx, (x, indices, updates)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        x, i, u = axes
        lead = same_row(axes)
        if lead is None or (lead != MIXED and lead < self.batch_dims and i in (None, lead)):
            return lead
        if i is not None:
            return MIXED
        rank, depth = len(specs[1].dims or ()), (specs[1].dims or (0,))[-1]
        if u is None:
            return x
        if u < rank - 1 or type(depth) is not int:
            return MIXED
        at = u - (rank - 1) + self.batch_dims + depth
        return at if x in (None, at) else MIXED


def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """`tensor` with the slices at `indices` replaced.

    Args:
      tensor: Tensor of any dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes; of repeats the last update counts, in value
        and derivative.
      updates: Tensor [*indices.shape[:-1], *tensor.shape[depth:]].
    Returns: Tensor of the shape and dtype of `tensor`.
    Raises: InvalidArgumentError (a ValueError): an index is out of range, or the shapes do not fit; DTypeError (a TypeError):
      dtypes that differ.
    Example:
      >>> tensor_scatter_nd_update([1, 1, 1], [[0], [2]], [5, 6]).numpy()
      array([5, 1, 6], dtype=int32)
    """
    x = lift(tensor)
    u = lift_like("tensor_scatter_nd_update", updates, x.dtype)
    return bind(TensorScatterUpdate(), x, index_tensor("tensor_scatter_nd_update", indices, "indices"), u)


def unfit(
    op: str,
    x: TensorSpec | Tensor,
    indices: TensorSpec | Tensor,
    updates: TensorSpec | Tensor,
    want: tuple[int, ...],
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{op}: updates has shape {format_dims(updates.dims)}; for tensor with shape {format_dims(x.dims)} and "
        f"indices with shape {format_dims(indices.dims)} it must be {format_dims(want)}."
    )


# -- segments --------------------------------------------------------------------------------------------------------------


class Segments(Op):
    """Base of ops that combine the slices of data with the same id: y[b, s, k] from all data[b, i, k] with ids[b, i] = s."""

    lower = no_form(WRITES_ANYWHERE)
    words = {"num": "num_segments", "ids": "segment_ids"}
    num: Given[Size]
    batch_dims: Count = 0

    def infer(self, data: TensorSpec, ids: IntegerSpec) -> TensorSpec:
        if not _first_part(self.name, data.dims, ids.dims):
            return data.with_dims(None)
        lead = ranked(ids.dims)
        return data.with_dims((*lead[: self.batch_dims], self.num, *ranked(data.dims)[len(lead) :]))

    def batch(self, ctx: BatchContext, data: Ranked, ids: Ranked, *given: Ranked) -> Tensor:
        return bind(self.changed(batch_dims=self.batch_dims + 1), *all_stacked(ctx, (data, ids)), *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        d, i = axes
        if d is None:
            return None if i is None else MIXED
        if d < self.batch_dims and i in (None, d):
            return d
        width = len(specs[1].dims or ())
        return d - width + self.batch_dims + 1 if i is None and d >= width else MIXED


@define
class UnsortedSegmentSum(Segments):
    """y[b, s, k] is the sum of data[b, i, k] over all i with ids[b, i] = s, for s from 0 to num - 1; negative ids are left out. b
    stands for `batch_dims` axes; ids have the first axes of data, all of which behind b count as i.
    """

    name = "unsorted_segment_sum"
    keeps = ((1,), False)
    num: Given[Size]
    batch_dims: Count = 0
    formerly = {"unsorted_segment_sum_to": num_was_input}

    def eval(self, data: Array, ids: Array) -> Array:
        shape = (*ids.shape[: self.batch_dims], self.num, *data.shape[ids.ndim :])
        found = combined("add", data, ids, shape, self.batch_dims, self.batch_dims, negative="none")
        if found is not None:
            return found
        lead, tail, at, values = members(self.name, data, ids, self.num, self.batch_dims)
        return added_at((math.prod(lead) * self.num, *tail), at, values).reshape((*lead, self.num, *tail))

    @else_eval(WRITES_ANYWHERE)
    def lower(self, data: TensorSpec, ids: TensorSpec, *given: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Indexed("add", self.batch_dims, self.batch_dims, negative="none")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(SegmentGather(self.batch_dims), g, ctx.inputs[1]), None)


def _first_part(op: str, data: tuple[Size | None, ...] | None, ids: tuple[Size | None, ...] | None) -> bool:
    """Whether both ranks are known. Raises: InvalidArgumentError: the shape of data does not begin with that of ids."""
    if data is None or ids is None:
        return False
    if not are_compatible(data[: len(ids)], ids):
        raise InvalidArgumentError(
            f"{op}: data has shape {format_dims(data)}, segment_ids {format_dims(ids)}; the shape of "
            "segment_ids must be the first part of the shape of data."
        )
    return True


def members(
    op: str, data: DeviceArray | Array, ids: DeviceArray | Array, num: int, batch_dims: int
) -> tuple[Any, Any, Any, Any]:
    """The sizes of the axes before and behind those of the ids, the number of its segment among those of all rows for each slice
    that has one, and those slices.
    """
    _first_part(op, np.shape(data), np.shape(ids))
    lead, tail = np.shape(ids)[:batch_dims], np.shape(data)[np.ndim(ids) :]
    are_inside = arrays.are_below(ids, num)
    if not are_inside and np.max(ids) >= num:
        raise InvalidArgumentError(
            f"{op}: segment_ids holds {np.max(ids)}, num_segments is {num}; ids must be below it."
        )
    flat = np.reshape(ids, (math.prod(lead), math.prod(np.shape(ids)[batch_dims:])))
    at = flat.astype(np.int64, copy=False) if not lead else np.arange(len(flat))[:, None] * num + flat
    at = at.reshape(-1)
    values = np.reshape(data, (len(at), *tail))
    if not are_inside:  # some are negative
        keep = np.reshape(flat >= 0, -1)
        return lead, tail, at[keep], values[keep]
    return lead, tail, at, values


@define
class SegmentGather(Op):
    """y[b, i, k] = x[b, ids[b, i], k], 0 where the id is negative: the transpose of unsorted_segment_sum. b stands for
    `batch_dims` axes.
    """

    name = "segment_gather"
    keeps = ((1,), False)
    batch_dims: Count = 0

    def infer(self, x: TensorSpec, ids: IntegerSpec) -> TensorSpec:
        if x.dims is None or ids.dims is None:
            return x.with_dims(None)
        lead = self.batch_dims
        if len(x.dims) <= lead or not are_compatible(x.dims[:lead], ids.dims[:lead]):
            raise InvalidArgumentError(
                f"{self.name}: x has shape {format_dims(x.dims)}, ids {format_dims(ids.dims)}; the first {lead} sizes must be "
                "equal, and x has one more axis."
            )
        return x.with_dims((*ids.dims, *x.dims[lead + 1 :]))

    def eval(self, x: Array, ids: Array) -> Array:
        lead = self.batch_dims
        rows = int(np.prod(np.shape(ids)[:lead]))
        num, tail = x.shape[lead], x.shape[lead + 1 :]
        shape = (*np.shape(ids), *tail)
        check_range(self.name, ids, num, "ids", None)
        if not num:
            return arrays.zeros(shape, x.dtype, x)
        if not lead and isinstance(ids, np.ndarray) and isinstance(x, np.ndarray) and ids.size:
            if ids.min() >= 0:  # the usual case, in which nothing is put in the place of anything
                return np.take(x, ids, 0, mode="clip")
        flat = arrays.as_array(ids).reshape(rows, -1) if rows else arrays.zeros((0, 0), np.int64, ids)
        found = np.reshape(x, (rows, num, *tail))[np.arange(rows)[:, None], np.maximum(flat, 0)]
        keep = (flat >= 0).reshape(flat.shape + (1,) * len(tail))
        return chosen(keep, found, x.dtype.type(0)).reshape(shape)

    @else_eval(READS_ANYWHERE)
    def lower(self, x: TensorSpec, ids: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Indexed("take", self.batch_dims, self.batch_dims, negative="none")

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        dims, ids = ctx.shape(0), ctx.inputs[1]
        num = None if dims is None else dims[self.batch_dims]
        given = () if num is not None else (shape_of(ctx.inputs[0])[self.batch_dims],)
        return (bind(UnsortedSegmentSum((AT, 1) if given else num, self.batch_dims), g, ids, *given), None)

    def batch(self, ctx: BatchContext, x: Ranked, ids: Ranked) -> Tensor:
        return bind(SegmentGather(self.batch_dims + 1), *all_stacked(ctx, (x, ids)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        p, i = axes
        if p is None and i is None:
            return None
        if p is None:
            return i
        if p < self.batch_dims and i in (None, p):
            return p
        return (
            p - self.batch_dims - 1 + len(specs[1].dims or ()) if i is None and p > self.batch_dims else MIXED
        )


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Sums of the slices of `data` that share a segment id.

    Args:
      data: Tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order, below `num_segments`; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]], zero for segments without members.
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    Example:
      >>> math.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 2).numpy()
      array([2, 4], dtype=int32)
    """
    x, ids = lift(data), index_tensor("unsorted_segment_sum", segment_ids, "segment_ids")
    count, given = requested_size("unsorted_segment_sum", num_segments, "num_segments")
    return bind(UnsortedSegmentSum(count), x, ids, *given)
