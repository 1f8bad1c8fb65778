"""Lookups: gather, gather_nd, take along an axis, and their transposes, which add into a tensor of zeros.

The first `batch_dims` axes of parameters and indices correspond. The gradient of a plain lookup along axis 0, by `gather` or by
`gather_nd` with a column of indices, is IndexedSlices, so that no zeros are made for a large table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size, product
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.op import MIXED, Op, define, else_eval
from graphad.core.row_access import SPREADS, TAKES, RowAccess
from graphad.core.schema import Axis, Count, Given, IndexSpec
from graphad.core.shapes import (
    MOST_AXES,
    Dims,
    are_compatible,
    are_numbers,
    format_dims,
    is_definite,
    normalize_axis,
    ranked,
    require_axes,
)
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import add_at, added_at, as_dtype_of, summed, wide
from graphad.ops.array.bad_indices import are_ignored, moved_inside, only_inside
from graphad.ops.array.positions import READS_ANYWHERE, WRITES_ANYWHERE, blocks, by_coordinates, combined
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.shape import shape, shape_of, sizes_of
from graphad.ops.array.sizes import joined, shape_was_claimed
from graphad.ops.array.support import all_stacked, index_tensor, over_open_axes, put_back, static_int
from graphad.ops.array.transpose import move_axis

_MANY = 1024  # elements; fewer are taken as quickly by NumPy's own function


def check_range(op: str, indices: Array, size: int, name: str = "indices", least: int | None = 0) -> None:
    """Raises: OutOfRangeError: an index lies outside `least` to size - 1, None for any below; names the first."""
    if not indices.size or (least == 0 and arrays.are_below(indices, size)):
        return
    flat = np.ravel(indices)
    lowest = flat.min() if least is None else least
    if flat.min() < lowest or flat.max() >= size:
        bad = (flat < lowest) | (flat >= size)
        first = int(np.argmax(bad))
        place = [int(i) for i in np.unravel_index(first, np.shape(indices))] if np.ndim(indices) else []
        at = f"[{','.join(map(str, place))}]" if place else ""
        allowed = f"in [{least}, {size})" if least is not None else f"below {size}"
        raise OutOfRangeError(f"{op}: {name}{at} = {flat[first]} is not {allowed}.")


@define
class Gather(Op):
    """y[b, i, j, k] = params[b, i, indices[b, j], k], where each letter stands for any number of axes: b for `batch_dims`, i for
    those before `axis`, j for the rest of the indices. Indices are int32 or int64, from 0 to the size of the axis - 1. `sparse`
    says how a gradient is kept and changes no value.
    """

    name = "gather"
    takes_symbols = (0,)
    keeps = ((1,), False)
    axis: Axis
    batch_dims: Count = 0
    sparse: bool = True

    def row_access(self, rank: int) -> RowAccess | None:
        return None if self.batch_dims else RowAccess(TAKES, self.axis % rank)

    def infer(self, params: TensorSpec, indices: IndexSpec) -> TensorSpec:
        if params.dims is None or indices.dims is None:
            return params.with_dims(None)
        axis = normalize_axis("gather", self.axis, len(params.dims), "params", params.dims)
        lead = self.batch_dims
        if lead > axis or lead > len(indices.dims):
            raise InvalidArgumentError(
                f"gather: batch_dims is {lead}; it must be at most axis = {axis} and the rank of indices = {len(indices.dims)}."
            )
        for k, (a, b) in enumerate(zip(params.dims[:lead], indices.dims[:lead], strict=True)):
            if a is not None and b is not None and a != b:
                raise InvalidArgumentError(
                    f"gather: params with shape {format_dims(params.dims)} and indices with shape {format_dims(indices.dims)} "
                    f"differ at batch axis {k}: {a} and {b}."
                )
        batch = [b if a is None else a for a, b in zip(params.dims[:lead], indices.dims[:lead], strict=True)]
        inner = indices.dims[lead:]
        return params.with_dims((*batch, *params.dims[lead:axis], *inner, *params.dims[axis + 1 :]))

    def eval(self, params: Array, indices: Array) -> Array:
        axis = self.axis % np.ndim(params)
        check_range("gather", indices, params.shape[axis])
        if not self.batch_dims:
            require_axes("gather", np.ndim(params) - 1 + np.ndim(indices))  # NumPy would end the process
        if not (params.size and indices.size):  # NumPy would walk what comes before the axis of size 0
            shape = (*params.shape[:axis], *indices.shape[self.batch_dims :], *params.shape[axis + 1 :])
            return arrays.empty(shape, params.dtype, params)
        if not self.batch_dims:
            return np.take(params, indices, axis)
        p, i = blocks(params, indices, axis, self.batch_dims)
        y = np.moveaxis(p, 2, 1)[np.arange(p.shape[0])[:, None], i]
        tail = np.shape(indices)[self.batch_dims :]
        return np.moveaxis(y, 1, 2).reshape((*params.shape[:axis], *tail, *params.shape[axis + 1 :]))  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (params, indices), evaluate = specs, self.eval
        dims, places = ranked(params.dims), ranked(indices.dims)
        if self.batch_dims or not product(dims) or not product(places) or len(dims) + len(places) > MOST_AXES:
            return None
        axis = self.axis % len(dims)
        size = dims[axis]

        def one(params: Array, index: Any) -> Any:
            if type(params) is np.ndarray and 0 <= index < size:
                return params.take(index, axis)
            return evaluate(params, index)

        def several(params: Array, indices: Array) -> Any:
            if type(params) is type(indices) is np.ndarray and arrays.are_below(indices, size):
                return params.take(indices, axis)
            return evaluate(params, indices)

        return several if places else one

    @else_eval(READS_ANYWHERE)
    def lower(self, params: TensorSpec, indices: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Indexed("take", self.batch_dims, self.axis)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        indices, dims = ctx.inputs[1], ctx.shape(0)
        ranked = g.dims is not None and dims is not None and indices.dims is not None
        if self.sparse and self.batch_dims == 0 and self.axis == 0 and ranked:
            return (_slices(g, indices, dims, ctx), None)
        sizes, given = shape_of(ctx, 0)
        return (bind(GatherGrad(self.axis, self.batch_dims, sizes), g, indices, *given), None)

    def batch(self, ctx: BatchContext, params: Ranked, indices: Ranked) -> Tensor:
        axis, lead = self.axis % (len(params.dims) - ctx.stacked(0)), self.batch_dims
        if not ctx.stacked(1) and not lead:
            return bind(Gather(axis + 1, 0, self.sparse), params, indices)
        if not ctx.stacked(0) and not lead:
            return move_axis(bind(Gather(axis, 0, self.sparse), params, indices), axis, 0)
        params, indices = all_stacked(ctx, (params, indices))
        return bind(Gather(axis + 1, lead + 1, False), params, indices)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        p, i = axes
        axis, lead = self.axis % len(specs[0].dims or (0,)), self.batch_dims
        if p is not None and i is not None:
            return p if p == i and p < lead else MIXED
        if i is not None:
            return MIXED if i < lead else axis + i - lead
        if p is None:
            return None
        if p == axis or p < lead:
            return MIXED if p == axis else p
        return p if p < axis else p + len(specs[1].dims or ()) - lead - 1


def _slices(g: Tensor, indices: Any, dims: Any, ctx: VjpContext) -> IndexedSlices:
    """The cotangent of a lookup along axis 0 as slices."""
    flat = indices if indices.ndim == 1 else _flattened(indices, indices.ndim)
    values = g if indices.ndim == 1 else _flattened(g, indices.ndim)
    numbers = are_numbers(dims)
    return IndexedSlices(
        values, flat, lift(np.array(dims, np.int32)) if numbers else sizes_of(ctx.inputs[0]), dims
    )


def _flattened(x: Any, n: int) -> Tensor:
    """x with its first n axes made one."""
    rest = x.dims[n:]
    lead = x.dims[:n]
    if is_definite(lead) and is_definite(rest):
        total: Any = 1
        for size in lead:
            total = total * size
        return bind(Reshape((total, *rest)), x)
    sizes, given = ((), ()) if not rest else joined((rest, shape(x)[n:]))
    return bind(Reshape((-1, *sizes)), x, *given)


def _put_back_rows(axis: int, lead: int, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
    """The row axis of a value that is put back along `axis`; the first `lead` axes belong to the indices too."""
    p, i = axes[:2]
    if p is None and i is None:
        return None
    if p is not None and (i == p or i is None) and p < lead:
        return p
    if i is not None or p is None:
        return MIXED
    width = len(specs[1].dims or ()) - lead
    return p if p < axis else MIXED if p < axis + width else p - width + 1


@define
class GatherGrad(Op):
    """The transpose of gather: g added into zeros of `shape`, at the places it was taken from."""

    name = "gather_grad"
    takes_symbols = False
    keeps = ((1,), False)
    axis: Axis
    batch_dims: Count
    shape: Given[tuple[Size, ...]]
    formerly = {"gather_grad_to": shape_was_claimed}

    def row_access(self, rank: int) -> RowAccess | None:
        return None if self.batch_dims else RowAccess(SPREADS, self.axis % rank, 0)

    def infer(self, g: TensorSpec, indices: IndexSpec) -> TensorSpec:
        return put_back(self, Gather(self.axis, self.batch_dims, False), g, self.shape, indices)

    def eval(self, g: Array, indices: Array) -> Array:
        axis = self.axis % len(self.shape)
        found = combined("add", g, indices, self.shape, self.batch_dims, axis)
        if found is not None:
            return found
        out = arrays.zeros(self.shape, wide(g.dtype), g)
        check_range("gather", indices, self.shape[axis])
        if not out.size or not np.size(g):
            return as_dtype_of(out, g)
        p, i = blocks(out, indices, axis, self.batch_dims)
        rows = np.reshape(g, (p.shape[0], p.shape[1], i.shape[1], p.shape[3]))
        if p.shape[0] == 1 and p.shape[1] == 1:
            add_at(p[0, 0], i[0], rows[0, 0])
        elif p.shape[0] == 1 and type(g) is np.ndarray:
            # Whole slices across the axis, which stands first meanwhile.
            turned = np.zeros((p.shape[2], p.shape[1] * p.shape[3]), out.dtype)
            added = np.moveaxis(rows[0], 1, 0).astype(out.dtype, copy=False)
            add_at(turned, i[0], added.reshape(len(i[0]), -1))
            p[0] = np.moveaxis(turned.reshape(p.shape[2], p.shape[1], p.shape[3]), 0, 1)
        else:
            np.add.at(np.moveaxis(p, 2, 1), (np.arange(p.shape[0])[:, None], i), np.moveaxis(rows, 2, 1))
        return as_dtype_of(out, g)

    @else_eval(WRITES_ANYWHERE)
    def lower(self, g: TensorSpec, indices: TensorSpec, *given: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Indexed("add", self.batch_dims, self.axis)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(Gather(self.axis, self.batch_dims, False), h, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, g: Ranked, indices: Ranked, *given: Ranked) -> Tensor:
        axis, shape = self.axis % len(self.shape), (ctx.size, *self.shape)
        if not ctx.stacked(1) and not self.batch_dims:
            return bind(GatherGrad(axis + 1, 0, shape), g, indices, *given)
        g, indices = all_stacked(ctx, (g, indices))
        return bind(GatherGrad(axis + 1, self.batch_dims + 1, shape), g, indices, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return _put_back_rows(self.axis % len(self.shape), self.batch_dims, specs, axes)


def added_up(slices: IndexedSlices) -> Tensor:
    """Slices as one tensor: those of one row are summed, rows without a slice are 0."""
    sizes, given = joined((slices.dims, slices.dense_shape))
    return bind(GatherGrad(0, 0, sizes), slices.values, slices.indices, *map(lift, given))


def _batch_axes(op: str, batch_dims: TensorLike) -> int:
    """`batch_dims` as a number; a tensor is accepted if its value is known."""
    lead: int | None = static_int(op, batch_dims, "batch_dims")
    if lead is None:
        raise ArgumentTypeError(f"{op}: batch_dims must be known while tracing; give an int.")
    return lead


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: AxisLike = None,
    batch_dims: TensorLike | None = 0,
    name: str | None = None,
) -> Tensor:
    """Slices of `params` at `indices` along one axis.

    Args:
      params: Tensor of any dtype.
      indices: Integer tensor of any shape, each from 0 to the size of the axis - 1.
      axis: The axis, `batch_dims` by default; a negative one counts from the end of `params`.
      batch_dims: Leading axes that `params` and `indices` have in common; negative counts from the end of `indices`,
        and None is 0.
      validate_indices: Accepted for compatibility; indices are checked.
    Returns: Tensor [*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1:]]. For axis 0, unless it
      is given as a negative number, the gradient with respect to `params` is IndexedSlices.
    Raises: InvalidArgumentError: an index is out of range.
    Example:
      >>> gather([10, 20, 30], [2, 0]).numpy()
      array([30, 10], dtype=int32)
    """
    x, i = lift(params), index_tensor("gather", indices, "indices")
    lead = 0 if batch_dims is None else _batch_axes("gather", batch_dims)
    place = lead if axis is None else static_int("gather", axis, "axis")
    if lead < 0:
        if i.ndim is None:
            raise InvalidArgumentError("gather: a negative batch_dims needs indices of known rank.")
        lead += i.ndim
        if lead < 0:
            raise InvalidArgumentError(
                f"gather: batch_dims is {lead - i.ndim}, indices has rank {i.ndim} only."
            )
    if place is None:
        along = lambda axis: gather(x, i, axis=axis, batch_dims=lead)  # noqa: E731
        return over_open_axes("gather", axis, x, along, False)
    if x.dims is not None and not x.dims:
        raise InvalidArgumentError("gather: params is a scalar; it must have rank 1 or more.")
    along_axis = normalize_axis("gather", place, x.ndim, "params", x.dims)
    # An axis counted from the end has a dense gradient, as in TensorFlow, though it may be the first.
    return bind(Gather(along_axis, lead, place >= 0 or along_axis != 0), x, i)


# -- gather_nd and scatter_nd, each other's transpose ----------------------------------------------------------------------


def check_coordinates(op: str, indices: Array, dims: Sequence[int], batch_dims: int = 0) -> None:
    """Raises: InvalidArgumentError: a coordinate lies outside its axis; names the first."""
    for k in range(indices.shape[-1]):
        check_range(op, indices[..., k], dims[batch_dims + k])


def nd_index(op: str, indices: Array, dims: Sequence[int], batch_dims: int) -> tuple[Any, ...]:
    """Index arrays for NumPy, the batch axes first. Raises: InvalidArgumentError: one is out of range."""
    check_coordinates(op, indices, dims, batch_dims)
    depth = indices.shape[-1]
    lead = np.ix_(*[np.arange(n) for n in indices.shape[:batch_dims]]) if batch_dims else ()
    extra = indices.ndim - 1 - batch_dims
    if type(indices) is np.ndarray:
        indices = indices.astype(np.intp, copy=False)  # NumPy converts narrower ones piece by piece
    return (*[a.reshape(a.shape + (1,) * extra) for a in lead], *[indices[..., k] for k in range(depth)])


def check_nd(
    op: str, params: tuple[Any, ...] | None, indices: tuple[Any, ...] | None, batch_dims: int
) -> Any:
    """The shape of gather_nd's result, as far as it is known. Raises: InvalidArgumentError: the shapes do not fit."""
    if params is None or indices is None:
        return None
    if not indices:
        raise InvalidArgumentError(f"{op}: indices is a scalar; its last axis must hold the coordinates.")
    if batch_dims and (
        batch_dims >= len(indices) or not are_compatible(params[:batch_dims], indices[:batch_dims])
    ):
        raise InvalidArgumentError(
            f"{op}: params has shape {format_dims(params)}, indices {format_dims(indices)}; with batch_dims {batch_dims} the "
            f"first {batch_dims} sizes must be equal, and indices has one more axis at least."
        )
    depth = indices[-1]
    if depth is None:
        return None
    if batch_dims + depth > len(params):
        raise InvalidArgumentError(
            f"{op}: indices with shape {format_dims(indices)} hold {depth} coordinates, params with shape {format_dims(params)} "
            f"has {len(params) - batch_dims} axes for them."
        )
    return (*indices[:-1], *params[batch_dims + depth :])


_MANY = 4096  # coordinates, from which one number for each place pays


def _numbered(params: np.ndarray, key: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    """An array in C order with one axis for those that have coordinates, and the places along it."""
    depth, places = len(key), key[0]
    for size, more in zip(params.shape[1:depth], key[1:], strict=True):
        places = places * size
        places += more
    return params.reshape(-1, *params.shape[depth:]), places


def depth_of_one(dims: Dims, batch_dims: int) -> int:
    """How many coordinates indices [1, depth] hold, which name one place; 0 for others."""
    dims = ranked(dims)
    return dims[1] if len(dims) == 2 and dims[0] == 1 and not batch_dims else 0  # type: ignore[return-value]


def place_of_one(indices: Any, values: Any, limits: Sequence[int]) -> tuple[int, ...] | None:
    """The place that such indices name, None where it is outside or these are not NumPy's arrays."""
    if not type(indices) is type(values) is np.ndarray:
        return None
    place = tuple(indices.tolist()[0])
    for k, limit in zip(place, limits, strict=True):
        if not 0 <= k < limit:
            return None
    return place


@define
class GatherNd(Op):
    """y[b, j, k] = params[b, *indices[b, j, :], k], where b stands for `batch_dims` axes and j, k for any number. Indices lie
    inside their axes.
    """

    name = "gather_nd"
    takes_symbols = (0,)
    keeps = ((1,), False)
    batch_dims: Count = 0

    def row_access(self, rank: int) -> RowAccess | None:
        return None if self.batch_dims else RowAccess(TAKES, 0, coordinates=True)

    def infer(self, params: TensorSpec, indices: IndexSpec) -> TensorSpec:
        return params.with_dims(check_nd("gather_nd", params.dims, indices.dims, self.batch_dims))

    def eval(self, params: Array, indices: Array) -> Array:
        if not indices.shape[-1]:
            extra = np.shape(indices)[self.batch_dims : -1]
            lead = np.shape(params)[: self.batch_dims]
            x = np.reshape(params, (*lead, *(1,) * len(extra), *np.shape(params)[self.batch_dims :]))
            return np.array(np.broadcast_to(x, (*lead, *extra, *np.shape(params)[self.batch_dims :])))
        key = nd_index("gather_nd", indices, params.shape, self.batch_dims)
        if len(key) == 1 and type(params) is np.ndarray:
            return np.take(params, key[0], 0)  # type: ignore[no-any-return]  # the same elements, sooner
        if type(params) is np.ndarray and not self.batch_dims and indices.size >= _MANY:
            if params.flags.c_contiguous and params.size:
                return np.take(*_numbered(params, key), 0)
        return params[key]  # type: ignore[no-any-return]

    @else_eval(READS_ANYWHERE)
    def lower(self, params: TensorSpec, indices: TensorSpec) -> kernels.forms.Form | None:
        return by_coordinates("take", self.batch_dims, indices)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        indices, dims = ctx.inputs[1], ctx.shape(0)
        if not self.batch_dims and dims is not None and indices.dims is not None and indices.dims[1:] == (1,):
            return (_slices(g, _flattened(indices, 2), dims, ctx), None)  # a plain lookup
        sizes, given = shape_of(ctx, 0)
        return (bind(ScatterNd(sizes, self.batch_dims), indices, g, *given), None)

    def batch(self, ctx: BatchContext, params: Ranked, indices: Ranked) -> Tensor:
        if not ctx.stacked(0) and not self.batch_dims:
            return bind(self, params, indices)
        return bind(GatherNd(self.batch_dims + 1), *all_stacked(ctx, (params, indices)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        (p, i), rank = axes, len(specs[1].dims or ())
        if p is None:
            return i if i is None or self.batch_dims <= i < rank - 1 else MIXED
        if p < self.batch_dims and i in (None, p):
            return p
        depth = (specs[1].dims or (None,))[-1]
        if depth is None:
            return MIXED
        return p - self.batch_dims - depth + rank - 1 if i is None and p >= self.batch_dims + depth else MIXED


@define
class ScatterNd(Op):
    """Zeros of `shape` into which `updates` are added at `indices`, as gather_nd reads there: its transpose. Repeated indices add
    up.
    """

    name = "scatter_nd"
    takes_symbols = (1,)
    keeps = ((0,), False)
    shape: Given[tuple[Size, ...]]
    batch_dims: Count = 0
    formerly = {"scatter_nd_to": shape_was_claimed}

    def infer(self, indices: IndexSpec, updates: TensorSpec) -> TensorSpec:
        want = check_nd("scatter_nd", self.shape, indices.dims, self.batch_dims)
        if is_definite(want) and is_definite(updates.dims) and want != updates.dims:
            raise InvalidArgumentError(
                f"scatter_nd: updates has shape {format_dims(updates.dims)}; for indices with shape {format_dims(indices.dims)} "
                f"and shape {format_dims(self.shape)} it must be {format_dims(want)}."
            )
        return updates.with_dims(self.shape)

    def eval(self, indices: Array, updates: Array) -> Array:
        if not np.size(updates):
            return arrays.zeros(self.shape, updates.dtype, updates)
        if not indices.shape[-1]:
            return summed(updates, tuple(range(self.batch_dims, indices.ndim - 1)))
        found = combined("add", updates, indices, self.shape, self.batch_dims, self.batch_dims, True)
        if found is not None:
            return found
        return added_at(self.shape, nd_index("scatter_nd", indices, self.shape, self.batch_dims), updates)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        shape, dtype, evaluate = self.shape, specs[1].dtype.numpy, self.eval
        depth = depth_of_one(specs[0].dims, self.batch_dims)
        if not depth or not are_numbers(shape) or dtype.kind not in "iufc":
            return None
        limits = shape[:depth]

        def added(indices: Array, updates: Array) -> Any:
            place = place_of_one(indices, updates, limits)
            if place is None:
                return evaluate(indices, updates)
            out = np.zeros(shape, dtype)
            out[place] += updates[0]
            return out

        return added

    @else_eval(WRITES_ANYWHERE)
    def lower(
        self, indices: TensorSpec, updates: TensorSpec, *given: TensorSpec
    ) -> kernels.forms.Form | None:
        return by_coordinates("add", self.batch_dims, indices, (1, 0))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (None, bind(GatherNd(self.batch_dims), g, ctx.inputs[0]))

    def batch(self, ctx: BatchContext, indices: Ranked, updates: Ranked, *given: Ranked) -> Tensor:
        op = ScatterNd((ctx.size, *self.shape), self.batch_dims + 1)
        return bind(op, *all_stacked(ctx, (indices, updates)), *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        i, u = axes
        if u is None:
            return None if i is None else MIXED
        if u < self.batch_dims and i in (None, u):
            return u
        rank, depth = len(specs[0].dims or ()), (specs[0].dims or (None,))[-1]
        if depth is None:
            return MIXED
        return u - (rank - 1) + self.batch_dims + depth if i is None and u >= rank - 1 else MIXED


def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    batch_dims: TensorLike = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Tensor:
    """Slices of `params` at coordinates: y[j] = params[tuple(indices[j])].

    Args:
      params: Tensor of any dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes behind the batch axes.
      batch_dims: Leading axes that `params` and `indices` have in common.
      bad_indices_policy: "IGNORE" to read 0 where an index is out of range; "", "DEFAULT" or "ERROR" to refuse it.
    Returns: Tensor [*indices.shape[:-1], *params.shape[batch_dims + depth:]].
    Raises: InvalidArgumentError (a ValueError): an index is out of range, the shapes do not fit, or there is no such policy.
    Example:
      >>> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
      array([2, 3], dtype=int32)
    """
    lead = _batch_axes("gather_nd", batch_dims)
    x, i = lift(params), index_tensor("gather_nd", indices, "indices")
    if not are_ignored("gather_nd", bad_indices_policy):
        return bind(GatherNd(lead), x, i)
    check_nd("gather_nd", x.dims, i.dims, lead)
    i, inside = moved_inside("gather_nd", i, shape(x), lead)
    return only_inside("gather_nd", bind(GatherNd(lead), x, i), inside)
