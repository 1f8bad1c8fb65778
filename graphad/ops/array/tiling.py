"""Tensors repeated: as a whole, or slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size
from graphad.core.dtypes import int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.references import ALL, AT, entries_of, is_reference
from graphad.core.registry import lookup
from graphad.core.run_sizes import Sized
from graphad.core.schema import Axis, Given, IntegerSpec
from graphad.core.shapes import format_dims, is_definite, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import added_at
from graphad.ops.array.broadcast import BroadcastTo, SumTo
from graphad.ops.array.create import ones_like
from graphad.ops.array.gather import Gather, GatherGrad
from graphad.ops.array.join import Stack
from graphad.ops.array.reshape import ExpandDims, Reshape, reshape
from graphad.ops.array.shape import shape, sizes_of
from graphad.ops.array.sizes import requested
from graphad.ops.array.slice import GetItem
from graphad.ops.array.support import (
    INTEGERS,
    batch_along,
    index_tensor,
    row_beside,
    static_array,
    static_integers,
)

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def multiples_were_input(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `multiples` are the last input, a vector of integers."""
    return {"multiples": ((ALL, 1),)}


@define
class Tile(Op):
    """x repeated multiples[i] times along axis i, whole copies one after another."""

    name = "tile"
    takes_spread = carries_masks = True
    copies = True
    total = True
    keeps = (False, False)
    multiples: Given[tuple[Size, ...]]
    formerly = {"tile_to": multiples_were_input}

    def infer(self, x: TensorSpec) -> TensorSpec:
        if self.multiples is None or x.dims is None:
            known = x.dims if self.multiples is None else self.multiples
            return x.with_dims(None if known is None else (None,) * len(known))
        if len(x.dims) != len(self.multiples):
            raise _not_for_each_axis(self.multiples, x.dims)
        return x.with_dims(
            tuple([None if None in (n, m) else n * m for n, m in zip(x.dims, self.multiples, strict=True)])
        )

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part]:
        x = sites[0]
        shape: list[Any] = []
        strides: list[Any] = []
        for size, step, count in zip(x.shape, x.strides, self.multiples, strict=True):
            shape += [count, size]
            strides += [0, step]
        target = kernels.sites.Site(whole.root, tuple(shape), kernels.sites.row_strides(shape))
        return [
            kernels.sites.Part(kernels.sites.Site(x.root, tuple(shape), tuple(strides), x.offset), target)
        ]

    def eval(self, x: Array) -> Array:
        return np.tile(x, self.multiples)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        counts, given, dims = self.multiples, ctx.inputs[1:], ctx.shape(0)
        if any(is_reference(count) and count[0] == ALL for count in counts):
            if dims is None:
                return (_untiled(g, given[0], sizes_of(ctx.inputs[0], given[0].dtype)),)
            counts = tuple([(AT, 1, i) for i in range(len(dims))])
        further = () if is_definite(dims) else (sizes_of(ctx.inputs[0]),)
        k = len(given) + 1
        sizes = entries_of((None,) * len(counts) if dims is None else dims, k)
        pairs = tuple(n for pair in zip(counts, sizes, strict=True) for n in pair)
        apart = bind(Reshape(pairs), g, *given, *further)
        sizes = entries_of((None,) * len(counts) if dims is None else dims)
        ones = tuple(n for size in sizes for n in (1, size))
        return (bind(Reshape(sizes), bind(SumTo(ones), apart, *further), *further),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        return bind(Tile((1, *self.multiples)), x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        many = self.multiples[axes[0]]
        return axes[0] if type(many) is int and many == 1 else MIXED

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        if x.dtype.is_integer and ctx.known(x) is not None:
            return None
        pairs = tuple(n for pair in zip(self.multiples, x.dims, strict=True) for n in pair)
        apart = bind(Reshape(tuple(n for size in x.dims for n in (1, size))), x)
        return bind(Reshape(ranked(self.infer(x.spec).dims)), bind(BroadcastTo(pairs), apart))


def _not_for_each_axis(multiples: Sequence[Any], dims: tuple[Any, ...]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"tile: multiples {tuple(multiples)} has {len(multiples)} entries, input has shape {format_dims(dims)}; "
        "give one for each axis."
    )


def _untiled(g: Tensor, multiples: Tensor, sizes: Tensor) -> Tensor:
    """The sum over the copies, with all sizes known at run time."""
    rank = multiples.dims[0] if multiples.dims is not None else None
    pairs = reshape(bind(Stack(1), multiples, sizes), [-1])
    ones = reshape(
        bind(Stack(1), lift(np.ones(rank, np.int32)) if rank is not None else ones_like(multiples), sizes),
        [-1],
    )
    if rank == 0:
        return g
    twice = entries_of(None if rank is None else (None,) * (2 * rank))
    summed = bind(SumTo(twice), bind(Reshape(twice), g, pairs), ones)
    return bind(Reshape(entries_of(None if rank is None else (None,) * rank)), summed, sizes)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """`input` repeated along each axis.

    Args:
      input: Tensor [...] of any dtype.
      multiples: How many copies along each axis; may be a tensor.
    Returns: Tensor of the same dtype, each axis as often as that.
    Raises: InvalidArgumentError (a ValueError): another number of `multiples` than axes, or a negative one.
    Example:
      >>> tile([1, 2], [2]).numpy()
      array([1, 2, 1, 2], dtype=int32)
    """
    x = lift(input)
    if type(multiples) is list and INTEGERS.issuperset(map(type, multiples)):
        _require_multiples(multiples)
        return bind(Tile(tuple(multiples)), x)
    values = static_integers(multiples)
    if values is None:
        wanted, given = requested("tile", multiples)
        return bind(Tile(wanted), x, *given)
    if values.dtype.kind not in "iu" and values.size:
        raise ArgumentTypeError(
            f"tile: multiples must be integers, got {values.dtype.name} of shape {values.shape}."
        )
    counts = tuple(int(m) for m in np.ravel(values))
    _require_multiples(counts)
    return bind(Tile(counts), x)


def _require_multiples(counts: Sequence[int]) -> None:
    if any(m < 0 for m in counts):
        raise InvalidArgumentError(f"tile: Expected multiples to be 0 or more, but got {tuple(counts)}.")


@define
class Repeat(Op):
    """Slice i of x along `axis` repeats[i] times in a row; `repeats` is a vector of integers from 0."""

    name = "repeat"
    takes_symbols = (0,)
    keeps = ((1,), False)
    axis: Axis

    def infer(self, x: TensorSpec, repeats: IntegerSpec) -> TensorSpec:
        _require_vector(self.name, repeats)
        if x.dims is None:
            return x
        axis = normalize_axis("repeat", self.axis, len(x.dims), "input", x.dims)
        if repeats.dims and None not in (repeats.dims[0], x.dims[axis]) and repeats.dims[0] != x.dims[axis]:
            raise InvalidArgumentError(
                f"repeat: repeats has {repeats.dims[0]} entries, input with shape {format_dims(x.dims)} has size {x.dims[axis]} "
                f"at axis {axis}; they must be equal."
            )
        return x.with_dims((*x.dims[:axis], None, *x.dims[axis + 1 :]))

    def eval(self, x: Array, repeats: Array) -> Array:
        _require_repeats(repeats)
        return np.repeat(x, repeats, self.axis)

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """As a lookup of what each slice of the result is a copy of."""
        x, repeats = inputs
        if not repeats.dims or not repeats.dims[0]:
            return None
        sums, least = lookup("reduce_sum")((0,), False), lookup("reduce_min")((0,), False)
        counts = bind(lookup("cast")(int64), repeats)
        total = sized(bind(sums, counts))
        if total is None or sized(bind(least, counts)) is None:  # none may be negative
            return None
        places = bind(lookup("steps")(0, total if isinstance(total, Dim) else int(total), 1, int64))
        return Gather(self.axis % len(x.dims or ())), (x, _copied(counts, places))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(RepeatGrad(self.axis), g, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, x: Ranked, repeats: Ranked) -> Tensor:
        return batch_along(ctx, self, self.axis, x, repeats)

    def fold(self, ctx: FoldContext, x: Ranked, repeats: Ranked) -> Tensor | None:
        known = ctx.known(repeats)
        if known is None or min(known, default=0) < 0:
            return None
        copies = np.repeat(np.arange(len(known), dtype=np.int32), known)
        return bind(Gather(self.axis % len(x.dims)), x, lift(copies))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], self.axis) if axes[1] is None else MIXED


def _require_vector(op: str, repeats: TensorSpec, least: int = 0) -> None:
    if repeats.dims is not None and not least <= len(repeats.dims) <= 1:
        needed = "a vector" if least else "a number or a vector"
        raise InvalidArgumentError(
            f"{op}: repeats has shape {format_dims(repeats.dims)}; {needed} is needed."
        )


def _require_repeats(repeats: DeviceArray | Array) -> None:
    flat = np.ravel(repeats)
    if flat.dtype.kind not in "iub" and flat.size:
        raise ArgumentTypeError(
            f"repeat: repeats must be integers, got {flat.dtype.name} of shape {np.shape(repeats)}."
        )
    if (flat < 0).any():
        raise InvalidArgumentError(f"repeat: repeats holds {flat.min()}; each must be 0 or more.")


def _copied(repeats: Tensor, places: Tensor) -> Tensor:
    """Of which slices those at these places are copies."""
    ends = bind(lookup("cumsum")(0), repeats)
    return bind(lookup("searchsorted")(True, int64), ends, places)  # type: ignore[no-any-return]


@define
class RepeatGrad(Op):
    """The transpose of repeat: the sum over the copies of each slice."""

    name = "repeat_grad"
    keeps = ((1,), False)
    axis: Axis

    def infer(self, g: TensorSpec, repeats: IntegerSpec) -> TensorSpec:
        _require_vector(self.name, repeats, 1)
        if g.dims is None:
            return g
        axis = normalize_axis(self.name, self.axis, len(g.dims), "g", g.dims)
        return g.with_dims((*g.dims[:axis], repeats.dims[0] if repeats.dims else None, *g.dims[axis + 1 :]))

    def eval(self, g: Array, repeats: Array) -> Array:
        axis = self.axis % g.ndim
        _require_repeats(repeats)
        copies = np.repeat(arrays.arange(0, np.size(repeats), np.int64, repeats), repeats)
        if len(copies) != g.shape[axis]:
            raise InvalidArgumentError(
                f"{self.name}: g has shape {g.shape}; the repeats make {len(copies)} slices at axis {axis}."
            )
        return added_at((*g.shape[:axis], len(repeats), *g.shape[axis + 1 :]), copies, g, axis)

    def expand(self, g: Ranked, repeats: Ranked) -> Tensor | None:
        axis, (count,) = self.axis % len(g.dims), repeats.dims
        places = bind(lookup("steps")(0, g.dims[axis], 1, int64))
        dims = *g.dims[:axis], count, *g.dims[axis + 1 :]
        return bind(GatherGrad(axis, 0, dims), g, _copied(bind(lookup("cast")(int64), repeats), places))

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(Repeat(self.axis), h, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, g: Ranked, repeats: Ranked) -> Tensor:
        return batch_along(ctx, self, self.axis, g, repeats)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], self.axis) if axes[1] is None else MIXED


def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Each element of `input` along an axis repeated.

    Args:
      input: Tensor [..., n, ...] of any dtype.
      repeats: How often: one integer, or one for each element along the axis, none negative.
      axis: The axis; None repeats the elements of the flattened tensor.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the number of `repeats` does not fit.
    Example:
      >>> repeat([1, 2], [2, 3]).numpy()
      array([1, 1, 2, 2, 2], dtype=int32)
    """
    x = lift(input)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    axis = normalize_axis("repeat", axis, x.ndim, "input", x.dims)
    values = static_array(repeats)
    if values is not None:
        _require_repeats(values)
    if values is not None and values.size == 1 and is_definite(x.dims):
        many = int(values.reshape(()))
        wide = bind(ExpandDims((axis + 1,)), x)
        wide = bind(BroadcastTo((*x.dims[: axis + 1], many, *x.dims[axis + 1 :])), wide)
        return bind(Reshape((*x.dims[:axis], x.dims[axis] * many, *x.dims[axis + 1 :])), wide)
    counts = index_tensor("repeat", repeats, "repeats")
    if (counts.ndim == 0 or counts.dims == (1,)) and x.dims is not None:
        return _all_repeated(x, axis, reshape(counts, []))
    if counts.ndim == 0 or counts.dims == (1,):
        size = reshape(bind(GetItem((axis,)), shape(x, counts.dtype)), [1])
        counts = bind(Tile(((AT, 1, 0),)), reshape(counts, [1]), size)
    elif counts.dims is None or counts.dims == (None,):  # there may be one for all elements
        size = reshape(bind(GetItem((axis,)), shape(x, counts.dtype)), [1])
        counts = bind(BroadcastTo(((AT, 1, 0),)), counts, size)
    y = bind(Repeat(axis), x, counts)
    if values is None or x.dims is None or y.dims is None or y.dims[axis] is not None:
        return y
    times = x.dims[axis] if values.size == 1 else 1
    if times is None:
        return y
    sizes = shape(x)
    dims = [bind(GetItem((k,)), sizes) if size is None else size for k, size in enumerate(x.dims)]
    dims[axis] = times * int(values.sum())
    return reshape(y, dims)


def _all_repeated(x: Any, axis: int, count: Tensor) -> Tensor:
    """Each slice along an axis as often as one number says, that of no slices too: a view of x, copied."""
    sizes = [n if n is not None else bind(GetItem((k,)), shape(x, count.dtype)) for k, n in enumerate(x.dims)]
    ones = (1,) * (axis + 1), (1,) * (len(sizes) - axis - 1)
    wide = bind(Tile((*ones[0], (AT, 1), *ones[1])), bind(ExpandDims((axis + 1,)), x), count)
    others = [n for k, n in enumerate(x.dims) if k != axis]
    many = sizes[axis] * count if 0 in others or None in others else -1
    return reshape(wide, [*sizes[:axis], many, *sizes[axis + 1 :]])
