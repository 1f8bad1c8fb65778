"""Joining and splitting along an axis: concat, stack, split, unstack, meshgrid.

Joining and splitting are each other's transpose, so the rules of one are applications of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    Rows,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.composed import Composed
from graphad.core.convert import lift, lift_like, stands_for_tensor
from graphad.core.dims import Dim
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.kinds import require_same_dtype
from graphad.core.op import MIXED, Op, TupleOp, define
from graphad.core.references import AT, entries_of
from graphad.core.refusal import members, refuse
from graphad.core.registry import lookup
from graphad.core.schema import Axis, Count, Given, Pieces, Positive
from graphad.core.shapes import MOST_AXES, format_dims, is_definite, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.ensure import EnsureShape
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.shape import shape, sizes_of
from graphad.ops.array.support import (
    all_stacked,
    merge_dims,
    over_open_axes,
    row_beside,
    same_row,
    shifted,
    static_array,
    static_int,
)


def _same_dtype(op: str, specs: Sequence[TensorSpec]) -> None:
    if not specs:  # in a file
        raise InvalidArgumentError(f"{op}: there are no tensors; give one at least.")
    for k, spec in enumerate(specs):
        require_same_dtype(op, specs[0], spec, ("tensor 0", f"tensor {k}"))


_NUMBERS = (bool, int, float, complex, np.generic)


@define
class Concat(Op):
    """Tensors joined along an existing axis; their other sizes are equal."""

    name = "concat"
    takes_spread = carries_masks = eval_checks = True
    moves = True
    keeps = (False, False)
    axis: Axis

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        _same_dtype("concat", xs)
        known = [x.dims for x in xs if x.dims is not None]
        if not known:
            return xs[0]
        rank = len(known[0])
        place = normalize_axis("concat", self.axis, rank, "tensors", known[0])
        rest = merge_dims("concat", known, place)
        sizes = [dims[place] for dims in known]
        total = (
            None if any(size is None for size in sizes) or len(known) < len(xs) else sum(ranked(tuple(sizes)))
        )
        return TensorSpec.of((*rest[:place], total, *rest[place + 1 :]), xs[0].dtype)

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part]:
        axis, start, parts = self.axis % len(whole.shape), 0, []
        for site in sites:
            parts.append(kernels.sites.Part(site, whole.piece(axis, start, site.shape)))
            start = start + site.shape[axis]
        return parts

    def eval(self, *xs: Array) -> Array:
        return np.concatenate(xs, self.axis)

    def quick(self, *xs: Tensor) -> Array | None:
        dtype, parts = None, []
        for x in xs:
            data = x.data
            if dtype is not None and data.dtype is not dtype:
                return None
            dtype = data.dtype
            parts.append(data)
        return np.concatenate(parts, self.axis)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        if len(ctx.inputs) == 1:
            return (g,)
        sizes: list[Any] = []
        given: list[Any] = []
        for i, x in enumerate(ctx.inputs):
            dims = ctx.shape(i)
            size: Any = None if dims is None else dims[self.axis]
            if size is None:
                given.append(sizes_of(x)[self.axis])
                size = (AT, len(given))
            sizes.append(size)
        return bind(Split(tuple(sizes), self.axis), g, *given)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        values = all_stacked(ctx, xs)
        return bind(Concat(shifted(self.axis, len(values[0].dims) - 1)), *values)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)


def concat(values: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Tensors joined along an existing axis.

    Args:
      values: A list of tensors of one dtype whose shapes agree but for `axis`.
      axis: The axis, an int; -1 is the last.
    Returns: Tensor of the same dtype, whose size along `axis` is the sum of theirs.
    Raises: InvalidArgumentError: ranks or other sizes differ.
    Example:
      >>> concat([[1, 2], [3]], 0).numpy()
      array([1, 2, 3], dtype=int32)
    """
    items = list(values) if isinstance(values, list | tuple) else [values]
    if not items:
        raise InvalidArgumentError("concat: there are no tensors; give one at least.")
    tensors: list[Any] = items if all(type(x) is EagerTensor for x in items) else lift_all("concat", items)
    place = static_int("concat", axis, "axis")
    if place is None:
        some = next((x for x in tensors if x.ndim is not None), tensors[0])
        return over_open_axes("concat", axis, some, lambda axis: concat(tensors, axis), False)
    rank = next((x.ndim for x in tensors if x.ndim is not None), None)
    if rank == 0:
        raise InvalidArgumentError(
            "concat: tensor 0 is a scalar, which has no axis to join along; use stack."
        )
    dims = next((x.dims for x in tensors if x.dims is not None), None)
    return bind(Concat(normalize_axis("concat", place, rank, "tensors", dims)), *tensors)


def lift_all(op: str, items: Sequence[Any]) -> list[Any]:
    """Several operands as tensors; other values adopt the dtype of the first tensor."""
    if all(isinstance(x, Tensor) for x in items):
        return list(items)
    dtype = next((x.dtype for x in items if stands_for_tensor(x)), None)
    if dtype is None:
        dtype = lift(items[0]).dtype
    return [lift_like(op, x, dtype) for x in items]


_FEW_NUMBERS = 16  # which are put in one by one as quickly as NumPy makes arrays of them and joins these


@define
class Stack(Op):
    """Tensors of one shape joined along a new axis, which counts in the result."""

    name = "stack"
    takes_spread = carries_masks = eval_checks = True
    moves = True
    keeps = (False, False)
    axis: Axis

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        _same_dtype("stack", xs)
        dims = merge_dims("stack", [x.dims for x in xs])
        if dims is None:
            return xs[0]
        place = normalize_axis("stack", self.axis, len(dims) + 1)
        return TensorSpec.of((*dims[:place], len(xs), *dims[place:]), xs[0].dtype)

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part]:
        axis = self.axis % len(whole.shape)
        return [kernels.sites.Part(site, whole.without(axis, k, site.shape)) for k, site in enumerate(sites)]

    def eval(self, *xs: Array) -> Array:
        return np.stack(xs, self.axis)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        first, count, evaluate = specs[0], len(specs), self.eval
        dtype = first.dtype.numpy
        number = dtype.type
        if len(specs) > _FEW_NUMBERS or dtype.kind not in "fiub":
            return None
        dims = ranked(first.dims)
        axis = self.axis % (len(dims) + 1)
        shape, before = (*dims[:axis], count, *dims[axis:]), (slice(None),) * axis
        keys: list[Any] = [(*before, k) for k in range(count)]

        def of_arrays(*xs: Array) -> Any:
            out = np.empty(shape, dtype)
            for key, x in zip(keys, xs, strict=True):
                if type(x) is not np.ndarray:
                    return evaluate(*xs)
                out[key] = x
            return out

        if dims:
            return of_arrays if all(spec.dims == dims for spec in specs) else None

        def of_numbers(*xs: Array) -> Any:
            out = np.empty(count, dtype)
            for k, x in enumerate(xs):
                if type(x) is not number:
                    return evaluate(*xs)
                out[k] = x
            return out

        return of_numbers

    def quick(self, *xs: Tensor) -> Array | None:
        first = xs[0].data
        rank = first.ndim + 1
        if rank > MOST_AXES or not -rank <= self.axis < rank:
            return None
        axis = self.axis % rank
        key, parts = (*(slice(None),) * axis, None), []
        for x in xs:
            data = x.data
            if data.shape != first.shape or data.dtype is not first.dtype:
                return None
            parts.append(data[key])
        return np.concatenate(parts, axis)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return bind(Unstack(len(ctx.inputs), self.axis), g)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        values = all_stacked(ctx, xs)
        return bind(Stack(self.axis % len(values[0].dims) + 1), *values)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        row = same_row(axes)
        if not isinstance(row, int):
            return row
        return row + int(self.axis % (len(specs[0].dims or ()) + 1) <= row)


def stack(values: TensorLike | Iterable[TensorLike], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Args:
      values: A list of tensors of one shape and dtype; an empty one gives float32 [0].
      axis: Where the new axis goes in the result.
    Returns: Tensor of the same dtype with one axis more, of size n.
    Raises: InvalidArgumentError: the shapes differ, or there are none for another axis than the first.
    Example:
      >>> stack([[1, 2], [3, 4]], axis=1).numpy()
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    try:
        leads = bool(axis == 0)
    except ValueError as cause:
        refuse(cause, "stack", "axis", axis, "an integer is needed")
    if leads and stands_for_tensor(values):
        return lift(values)  # its rows stand along that axis already
    if not isinstance(values, Iterable):
        raise ArgumentTypeError(f"stack: values is a {type(values).__name__}; a list of tensors is needed.")
    items: list[Any] = members("stack", "values", values, "give a list of tensors")
    if not items and not leads:
        raise InvalidArgumentError(f"stack: there are no tensors for axis {axis!r}; give one at least.")
    if (
        leads
        and isinstance(items[0] if items else 0, _NUMBERS)
        and all(isinstance(x, _NUMBERS) for x in items)
    ):
        # Integers beside floats become floats, as in `constant`; NumPy's int64 become int32.
        return lift(items)
    tensors = lift_all("stack", items)
    rank = next((x.ndim for x in tensors if x.ndim is not None), None)
    place = normalize_axis("stack", axis, None if rank is None else rank + 1)
    return bind(Stack(place), *tensors)


def parallel_stack(values: Iterable[TensorLike], name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new first axis; `stack` under a name of old programs.

    Args:
      values: A list of tensors of one shape and dtype.
    Returns: Tensor [n, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes differ.
    """
    return stack(values)


@define
class Unstack(TupleOp):
    """The `num` slices of x along an axis, without that axis."""

    name = "unstack"
    moves = True
    keeps = (False, False)
    num: Count
    axis: Axis

    def output_count(self) -> int:
        return self.num

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        if x.dims is None:
            return (x,) * self.num
        place = normalize_axis("unstack", self.axis, len(x.dims), "x", x.dims)
        if x.dims[place] is not None and x.dims[place] != self.num:
            raise InvalidArgumentError(
                f"unstack: x with shape {format_dims(x.dims)} has size {x.dims[place]} at axis {self.axis}, num is {self.num}; "
                "they must be equal."
            )
        return (x.with_dims((*x.dims[:place], *x.dims[place + 1 :])),) * self.num

    def views(
        self, sites: Sequence[kernels.sites.Site], specs: Sequence[TensorSpec]
    ) -> list[kernels.sites.Site]:
        axis = self.axis % len(sites[0].shape)
        return [sites[0].without(axis, k, spec.dims or ()) for k, spec in enumerate(specs)]

    def eval(self, x: Array) -> tuple[Array, ...]:
        if x.shape[self.axis] != self.num:
            raise InvalidArgumentError(
                f"unstack: x with shape {x.shape} has no {self.num} slices along axis {self.axis}."
            )
        axis = self.axis % x.ndim
        if axis and type(x) is np.ndarray:
            x = x.transpose(axis, *range(axis), *range(axis + 1, x.ndim))  # half of the time of `moveaxis`
        elif axis:
            x = np.moveaxis(x, axis, 0)
        return tuple(x)

    def vjp(self, ctx: VjpContext, *gs: Tensor | None) -> Cotangents:
        return (bind(Stack(self.axis), *[ctx.zeros(k) if g is None else g for k, g in enumerate(gs)]),)

    def batch(self, ctx: BatchContext, x: Ranked) -> tuple[Tensor, ...]:
        return bind(Unstack(self.num, shifted(self.axis, len(x.dims) - 1)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        if axes[0] is None:
            return None
        place = self.axis % len(specs[0].dims or (0,))
        return MIXED if axes[0] == place else axes[0] - (place < axes[0])


@blaming
def unstack(
    value: TensorLike, num: float | None = None, axis: int = 0, name: str | None = None
) -> list[Tensor]:
    """The slices of `value` along an axis, as a list of tensors without that axis.

    Args:
      value: Tensor [..., n, ...] of any dtype.
      num: The size of the axis, needed only where it is not known.
      axis: The axis.
    Returns: A list of n tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or its size is unknown or not `num`.
    Example:
      >>> [row.numpy() for row in unstack([[1, 2], [3, 4]])]
      [array([1, 2], dtype=int32), array([3, 4], dtype=int32)]
    """
    x = lift(value)
    place = normalize_axis("unstack", axis, x.ndim, "value", x.dims)
    size: Any = int(num) if isinstance(num, float) and num.is_integer() else num
    if size is None:
        size = None if x.dims is None else x.dims[place]
        if size is None:
            raise InvalidArgumentError(
                f"unstack: the size of axis {axis} is not known while tracing; give num."
            )
    return list(bind(Unstack(size, place), x)) if size else []


def _split_was_by_input(attributes: dict[str, Any], inputs: int, outputs: int) -> Composed:
    """It takes x apart into `n` pieces along `axis`: equal ones, or of the sizes in the vector that is its second input."""
    n, axis = attributes["n"], attributes["axis"]
    if type(n) is not int or n != outputs:
        raise InvalidArgumentError(f"split_at: n is {n}, and there are {outputs} outputs.")
    if inputs == 1:
        return Composed([(Split(n, axis), (0,))])
    return Composed([(EnsureShape((n,)), (1,)), (Split(entries_of((None,) * n), axis), (0, 2))])


def _part_of_split(attributes: dict[str, Any], inputs: int, outputs: int) -> Composed:
    """It is piece `k` of x, its first input, taken apart along `axis`; each further input is the shape of a piece."""
    axis, n = attributes["axis"], inputs - 1
    # By name, since what indexes is put together from ops of this module.
    size_of: list[Any] = [(lookup("getitem")((axis,)), (1 + k,)) for k in range(n)]
    sizes = tuple([(AT, 1 + k) for k in range(n)])
    split = Split(sizes, axis), (0, *range(inputs, inputs + n))
    return Composed([*size_of, split], (attributes["k"],))


@define
class Split(TupleOp):
    """As many outputs as there are `sizes`: consecutive pieces of x of these sizes along `axis`, which they add up to. One size
    may be -1 for the rest; a number n in place of the sizes stands for n equal pieces.
    """

    name = "split"
    moves = True
    keeps = (False, False)
    sizes: Given[Positive | Pieces]
    axis: Axis
    composed_formerly = {"split_at": _split_was_by_input, "concat_part": _part_of_split}

    def output_count(self) -> int | None:
        return self.sizes if type(self.sizes) is int else None

    def infer(self, x: TensorSpec) -> tuple[TensorSpec, ...]:
        sizes: Any = self.sizes
        if sizes is None:
            raise InvalidArgumentError("split: the number of pieces is not known; give one size for each.")
        if x.dims is None:
            return (x,) * (sizes if type(sizes) is int else len(sizes))
        place = normalize_axis("split", self.axis, len(x.dims), "value", x.dims)
        whole = x.dims[place]
        if type(sizes) is int:
            sizes = (None,) * sizes if whole is None else split_sizes(sizes, x.dims, place)
        known = [size for size in sizes if size is not None]
        total: Any = sum(known)
        if whole is not None and (total != whole if len(known) == len(sizes) else _exceeds(total, whole)):
            raise InvalidArgumentError(
                f"split: the sizes {self.sizes} add up to {total}, value with shape {format_dims(x.dims)} has size "
                f"{whole} at axis {self.axis}; they must be equal."
            )
        return tuple([x.with_dims((*x.dims[:place], size, *x.dims[place + 1 :])) for size in sizes])

    def views(
        self, sites: Sequence[kernels.sites.Site], specs: Sequence[TensorSpec]
    ) -> list[kernels.sites.Site]:
        axis, start, found = self.axis % len(sites[0].shape), 0, []
        for spec in specs:
            dims = ranked(spec.dims)
            found.append(sites[0].piece(axis, start, dims))
            start = start + dims[axis]
        return found

    def eval(self, x: Array) -> tuple[Array, ...]:
        out, start = [], 0
        key = [slice(None)] * x.ndim
        sizes: Any = self.sizes
        if type(sizes) is int or -1 in sizes:
            sizes = split_sizes(sizes, x.shape, self.axis)
        for size in sizes:
            key[self.axis] = slice(start, start + size)
            out.append(x[tuple(key)])
            start += size
        if start != x.shape[self.axis]:
            raise InvalidArgumentError(
                f"split: the sizes {self.sizes} do not add up to axis {self.axis} of shape {x.shape}."
            )
        return tuple(out)

    def vjp(self, ctx: VjpContext, *gs: Tensor | None) -> Cotangents:
        return (bind(Concat(self.axis), *[ctx.zeros(k) if g is None else g for k, g in enumerate(gs)]),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> tuple[Tensor, ...]:
        return bind(Split(self.sizes, shifted(self.axis, len(x.dims) - 1)), x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        return row_beside(axes[0], specs[0], self.axis)

    def settled(self, ctx: FoldContext, x: Ranked) -> tuple[Tensor, ...]:
        return bind(Split(split_sizes(self.sizes, x.dims, self.axis), self.axis), x)


def _exceeds(size: int, whole: Dim | int) -> bool:
    return type(size) is int and type(whole) is int and size > whole


def split_sizes(wanted: Any, dims: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """The sizes of the pieces: `wanted` equal ones, or a list in which one -1 stands for the rest."""
    total = dims[axis]
    if type(wanted) is int:
        if not isinstance(total, Dim) and total % wanted:
            raise InvalidArgumentError(
                f"split: value with shape {format_dims(tuple(dims))} has size {total} at axis {axis}, "
                f"which {wanted} does not divide."
            )
        return (total // wanted,) * wanted
    holes = [k for k, size in enumerate(wanted) if not isinstance(size, Dim) and size == -1]
    if len(holes) > 1:
        raise InvalidArgumentError(f"split: the sizes {tuple(wanted)} hold more than one -1.")
    if not holes:
        return tuple(wanted)
    rest = total - sum(size for k, size in enumerate(wanted) if k != holes[0])
    if rest < 0:
        raise InvalidArgumentError(
            f"split: the sizes {tuple(wanted)} add up to more than {total}, the size of axis {axis}."
        )
    return tuple(rest if k == holes[0] else size for k, size in enumerate(wanted))


def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: int = 0,
    num: int | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """`value` taken apart along an axis.

    Args:
      value: Tensor [..., n, ...] of any dtype.
      num_or_size_splits: How many equal pieces, or the size of each piece (one may be -1: the rest).
      axis: The axis.
      num: The number of pieces where the sizes are a tensor of unknown length.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError: the sizes do not add up.
    Example:
      >>> [part.numpy() for part in split([1, 2, 3, 4, 5], [2, 3])]
      [array([1, 2], dtype=int32), array([3, 4, 5], dtype=int32)]
    """
    x = lift(value)
    place = normalize_axis("split", axis, x.ndim, "value", x.dims)
    total = None if x.dims is None else x.dims[place]
    wanted = static_array(num_or_size_splits)
    if wanted is None:
        vector = lift(num_or_size_splits)
        count = num if num is not None else (ranked(vector.dims)[0] if vector.ndim == 1 else None)
        if count is None:
            raise InvalidArgumentError("split: the number of pieces is not known while tracing; give num.")
        if vector.dims != (count,):
            vector = bind(EnsureShape((count,)), vector)
        return list(bind(Split(entries_of((None,) * count), place), x, vector))
    if wanted.ndim > 1 or wanted.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"split: num_or_size_splits must be an integer or a vector of them, got {wanted.dtype.name} of shape {wanted.shape}."
        )
    if wanted.ndim and num is not None and num != len(wanted):
        raise InvalidArgumentError(
            f"split: num is {num}, num_or_size_splits has {len(wanted)} sizes; the two must be equal. Omit num."
        )
    pieces: Any = int(wanted) if wanted.ndim == 0 else tuple([int(size) for size in wanted])
    if isinstance(pieces, int) and pieces < 1:
        raise InvalidArgumentError(f"split: the number of pieces is {pieces}; it must be 1 or more.")
    sizes = pieces if total is None else split_sizes(pieces, ranked(x.dims), place)
    return list(bind(Split(sizes, place), x))


@blaming
def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Coordinate grids of n vectors: n tensors of rank n, each holding one vector along its own axis.

    Args:
      args: n tensors of any dtype, each taken as a vector.
      indexing: "xy" puts the second vector first in the shape, "ij" keeps the order.
    Returns: A list of n tensors.
    Raises: InvalidArgumentError (a ValueError): no such `indexing`.
    Example:
      >>> [grid.shape for grid in meshgrid([1, 2, 3], [4, 5])]
      [TensorShape([2, 3]), TensorShape([2, 3])]
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"meshgrid: indexing {indexing!r} is unknown; it is 'xy' or 'ij'.")
    vectors = [reshape(x, [-1]) for x in args]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    lead = [vectors[i] for i in order]
    sizes: Any
    if all(is_definite(x.dims) for x in lead):
        sizes = [ranked(x.dims)[0] for x in lead]
    else:
        sizes = bind(Concat(0), *[shape(x) for x in lead])
    grids = []
    for i, x in enumerate(vectors):
        after = len(vectors) - 1 - order.index(i)
        column = expand_dims(x, list(range(1, after + 1))) if after else x
        grids.append(broadcast_to(column, sizes))
    return grids
