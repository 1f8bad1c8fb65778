"""Shapes as data, and the ops that change a shape without moving elements: reshape, broadcast, expand, squeeze.

A shape is an attribute; sizes that are unknown while tracing refer to inputs (`core/references.py`), which `shape` computes.
Both fold when the graph is specialised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays, dtypes
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    DTypeLike,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    ShapeLike,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size, divide_exactly, is_one, product
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define, no_gradient
from graphad.core.references import entries_of, is_reference
from graphad.core.schema import Axes, Given, Offset
from graphad.core.shapes import (
    format_dims,
    is_definite,
    normalize_axes,
    normalize_axis,
)
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.accumulate import summed
from graphad.ops.array.sizes import (
    known_value,  # noqa: F401  used from here
    requested,
    require_sizes,
    shape_was_claimed,
    static_sizes,
)
from graphad.ops.short import short_way


@define
class Shape(Op):
    """The sizes of x, a vector of `dtype`."""

    name = "shape"
    gives_sizes = True
    by_value = ()
    keeps = (False, False)
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((None if x.dims is None else len(x.dims),), self.dtype)

    def eval(self, x: Array) -> Array:
        return np.array(x.shape, self.dtype.numpy)

    vjp = no_gradient("a shape is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(np.array(x.dims[1:], self.dtype.numpy)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.sizes(x.dims, self.dtype)


@define
class SizeVector(Op):
    """The integers `dims`, a vector of `dtype`, or a scalar if `scalar` (of one number then). What is computed from sizes may be
    negative.
    """

    name = "sizes"
    by_value = ()
    dims: tuple[Offset, ...]
    dtype: DType
    scalar: bool = False

    def infer(self) -> TensorSpec:
        if self.scalar and len(self.dims) != 1:
            raise InvalidArgumentError(f"sizes: a scalar of {len(self.dims)} sizes; it has one.")
        return TensorSpec.of(() if self.scalar else (len(self.dims),), self.dtype)

    @property
    def as_size(self) -> Size | None:
        return self.dims[0] if self.scalar else None

    def eval(self) -> Array:
        values = np.array(self.dims, self.dtype.numpy)
        return values[0] if self.scalar else values

    vjp = no_gradient("a size is not a function of values")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def batch(self, ctx: BatchContext) -> Tensor:
        return ctx.unstacked(bind(self))


def shape(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The shape of a tensor as a tensor, a constant where it is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
      out_type: int32 or int64.
    Returns: Integer tensor [rank].
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> shape([[1, 2, 3], [4, 5, 6]]).numpy()
      array([2, 3], dtype=int32)
    """
    dtype, sizes = dtypes.as_dtype(out_type), input.sizes if isinstance(input, Sparse) else None
    return sizes_of(lift(input), dtype) if sizes is None else sizes.astype(dtype)


def sizes_of(x: Any, dtype: DType = dtypes.int32) -> Tensor:
    """`shape` of a tensor, or of the placeholder of a dropped value in a derivative rule."""
    if x.dims is not None and all(type(size) is int for size in x.dims):
        return lift(np.array(x.dims, dtype.numpy))
    return bind(Shape(dtype), x)


@define
class Reshape(Op):
    """The elements of x in row-major order, in `shape`, of which one size may be -1 for what the number of elements leaves."""

    name = "reshape"
    spreads = takes_spread = True
    moves = True
    keeps = (False, False)
    aliases = {0: 0}
    shape: Given[tuple[Size | Literal[-1], ...]]
    formerly = {"reshape_to": shape_was_claimed}

    def result(self, dims: Sequence[Dim | int]) -> tuple[Any | int, ...]:
        """The shape of the result for x of the definite shape `dims`."""
        want = self.shape
        return resolve_reshape(dims, list(want)) if any(is_rest(size) for size in want) else want

    def infer(self, x: TensorSpec) -> TensorSpec:
        if is_definite(x.dims) and is_definite(self.shape) and product(x.dims) != product(self.shape):
            raise _wrong_size(x.dims, self.shape)
        return TensorSpec.of(self.shape, x.dtype)

    def eval(self, x: Array) -> Array:
        want = self.shape
        if -1 in want:
            want = self.result(np.shape(x))
        if type(x) is not np.ndarray and np.shape(x) == want:
            return x  # a ragged stack keeps its slices
        return np.reshape(x, want)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if type(data) is not np.ndarray:
            return None
        y = data.reshape(self.shape)  # -1 for no element has no meaning to NumPy: the usual way takes it
        return y if y.ndim else y[()]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (reshape_like(g, ctx, 0),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        # Without elements the size -1 is ambiguous; the rows determine it.
        if given and type(ctx.size) is int and ctx.size == 0:
            return ctx.rowwise(self, x, *given)
        shape = self.shape if given else self.result(x.dims[1:])
        return bind(Reshape((x.dims[0], *shape)), x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        (axis,), dims = axes, specs[0].dims
        if axis is None:
            return None
        if dims is None or None in dims[: axis + 1]:
            return MIXED
        before, done = product(dims[:axis]), 1
        for k, size in enumerate(self.shape):
            if is_reference(size) or is_rest(size):
                break
            if done == before and size == dims[axis]:
                return k
            done = done * size
        return MIXED

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return bind(Reshape(resolve_reshape(x.dims, list(self.shape))), x)

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", self.shape)


def is_rest(size: Dim | int) -> bool:
    """Whether a size is -1, which the other sizes determine."""
    return type(size) is int and size == -1


def _wrong_size(have: tuple[Size, ...], want: tuple[Size, ...]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"reshape: x with shape {format_dims(have)} has {product(have)} elements, the requested shape "
        f"{format_dims(want)} has {product(want)}; the numbers of elements must be equal."
    )


def _without_empty(sizes: Sequence[Any]) -> Any:
    return product([size for size in sizes if isinstance(size, Dim) or size != 0])


def resolve_reshape(have: Sequence[Any], want: Sequence[Any]) -> tuple[Any, ...]:
    """The shape that a request with at most one -1 means for an array of shape `have`."""
    holes = [i for i, size in enumerate(want) if not isinstance(size, Dim) and size == -1]
    if len(holes) > 1:
        raise InvalidArgumentError(f"reshape: the requested shape {tuple(want)} has more than one -1.")
    if any(not isinstance(size, Dim) and size < -1 for size in want):
        raise InvalidArgumentError(
            f"reshape: the requested shape {tuple(want)} has a negative size; only -1 is allowed."
        )
    want = [size if isinstance(size, Dim) else int(size) for size in want]
    if not holes:
        if product(have) != product(want):
            raise _wrong_size(tuple(have), tuple(want))
        return tuple(want)
    rest = product(size for i, size in enumerate(want) if i != holes[0])
    total = product(have)
    if not isinstance(rest, Dim) and rest == 0:
        if total != 0:
            raise _wrong_size(tuple(have), tuple(want))
        # Without elements any size is right: take the one without the empty axes.
        want[holes[0]] = _without_empty(have) // _without_empty(
            [size for i, size in enumerate(want) if i != holes[0]]
        )
        return tuple(want)
    quotient = (
        total // rest if isinstance(total, Dim) or isinstance(rest, Dim) else divide_exactly(total, rest)
    )
    if quotient is None:
        raise InvalidArgumentError(
            f"reshape: x with shape {format_dims(tuple(have))} has {total} elements, which {rest} does not divide: "
            f"the -1 of the requested shape {tuple(want)} has no size."
        )
    want[holes[0]] = quotient
    return tuple(want)


def _reshaped(x: EagerTensor, shape: ShapeLike) -> Tensor | None:
    """The same of an eager tensor, for sizes that are numbers. -1 has no meaning to NumPy if there are no elements."""
    sizes = static_sizes("reshape", shape)
    if sizes is None or type(x.data) is not np.ndarray or min(sizes, default=0) < -1:
        return None
    y = x.data.reshape(sizes)
    return EagerTensor(y if y.ndim else y[()])


@short_way(_reshaped)
def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The elements of `x` in row-major order with another shape.

    Args:
      tensor: Tensor of any shape.
      shape: Sizes; one may be -1 and is computed. A list, a shape, or an integer tensor.
    Returns: Tensor with the dtype of `tensor`.
    Raises: InvalidArgumentError: the numbers of elements differ.
    Example:
      >>> reshape([1, 2, 3, 4], [2, -1]).numpy()
      array([[1, 2],
             [3, 4]], dtype=int32)
    """
    x = lift(tensor)
    known = static_sizes("reshape", shape)
    if known is not None:
        dims = x.dims
        sizes = resolve_reshape(dims, known) if is_definite(dims) else tuple(known)
        return bind(Reshape(sizes), x)
    sizes, given = requested("reshape", shape)
    return bind(Reshape(sizes), x, *given)


def shape_of(ctx: VjpContext, i: int) -> tuple[Any, tuple[Any, ...]]:
    """The shape of input i as an attribute, and the inputs that it refers to."""
    dims = ctx.shape(i)
    return (dims, ()) if is_definite(dims) else (entries_of(dims), (sizes_of(ctx.inputs[i]),))


def reshape_like(g: Tensor, ctx: VjpContext, i: int) -> Tensor:
    """`g` in the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(Reshape(want), g, *given)


_FEW_TIMES, _FEWER_TIMES = 64, 8


@define
class BroadcastTo(Op):
    """x broadcast to `shape`."""

    name = "broadcast_to"
    copies = total = spreads = takes_spread = True
    keeps = (False, False)
    shape: Given[tuple[Size, ...]]
    formerly = {"broadcast_to_shape": shape_was_claimed}

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None and self.shape is not None:
            _check_broadcast(x.dims, self.shape)
        return TensorSpec.of(self.shape, x.dtype)

    def eval(self, x: Array) -> Array:
        if type(x) is np.ndarray and 0 < x.ndim == len(self.shape) and 1 < self.shape[-1] <= _FEW_TIMES:
            if x.shape == (*self.shape[:-1], 1):  # not by a loop of its own for each element
                if self.shape[-1] > _FEWER_TIMES:
                    return np.repeat(x, self.shape[-1], -1)
                wide = np.empty(self.shape, x.dtype)
                for k in range(self.shape[-1]):
                    wide[..., k] = x[..., 0]
                return wide
        out = arrays.empty(self.shape, x.dtype, x)
        out[...] = x
        return out

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.shape:
            return None
        out = np.empty(self.shape, data.dtype)
        out.fill(data)
        return out if self.shape else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (sum_to_input(ctx, 0, g),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        missing = len(self.shape) - (len(x.dims) - 1)
        wide = bind(ExpandDims(tuple(range(1, 1 + missing))), x) if missing > 0 else x
        return bind(BroadcastTo((x.dims[0], *self.shape)), wide, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        (axis,), dims = axes, specs[0].dims
        if axis is None or dims is None:
            return None if axis is None else MIXED
        place = axis + len(self.shape) - len(dims)
        kept = self.shape[place] == dims[axis] or (
            is_reference(self.shape[place]) and not _is_one(dims[axis])
        )
        return place if kept else MIXED

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return x if x.dims == self.shape else None

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("broadcast", self.shape)


def _check_broadcast(have: Sequence[int | None], want: Sequence[Dim | int | None]) -> None:
    fits = len(have) <= len(want)
    for mine, theirs in zip(reversed(have), reversed(want), strict=False):
        fits = fits and (mine is None or theirs is None or mine == theirs or is_one(mine))
    if not fits:
        raise InvalidArgumentError(
            f"broadcast_to: Incompatible shapes: x with shape {format_dims(tuple(have))} does not broadcast to "
            f"{format_dims(tuple(want))}."
        )


def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input` broadcast to `shape` by NumPy's rules.

    Args:
      input: Tensor of any dtype.
      shape: Sizes: a list, a shape, or an integer tensor.
    Returns: Tensor of that shape and the dtype of `input`.
    Raises: InvalidArgumentError: it does not broadcast.
    Example:
      >>> broadcast_to([1.0, 2.0], [3, 2]).shape
      TensorShape([3, 2])
    """
    return broadcast_for("broadcast_to", lift(input), shape)


def broadcast_for(op: str, x: Tensor, shape: Any) -> Tensor:
    """`broadcast_to` with the caller's name in messages."""
    sizes, given = requested(op, shape)
    require_sizes(op, sizes)
    return bind(BroadcastTo(sizes), x, *given)


@define
class SumTo(Op):
    """The transpose of broadcasting `shape` to that of x: x summed over the axes along which it was repeated."""

    name = "sum_to"
    total = True
    keeps = (False, False)
    shape: Given[tuple[Size, ...]]
    formerly = {"sum_to_shape": shape_was_claimed}

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None and self.shape is not None:
            _check_broadcast(self.shape, x.dims)
        return TensorSpec.of(self.shape, x.dtype)

    def eval(self, x: Array) -> Array:
        want = self.shape
        return summed(x, summed_axes(x.shape, want)).reshape(want)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.ndim and data.shape[1:] == self.shape and data.dtype.char in "fd":
            return summed(data, (0,))
        return None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (broadcast_like(g, ctx, 0),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        missing = len(x.dims) - 1 - len(self.shape)
        y = bind(SumTo((x.dims[0], *(1,) * missing, *self.shape)), x, *given)
        return bind(Reshape((x.dims[0], *self.shape)), y, *given) if missing else y

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis, dims = axes[0], specs[0].dims
        if axis is None:
            return None
        at = axis - (len(dims) - len(self.shape))  # type: ignore[arg-type]
        return at if at >= 0 and self.shape[at] == dims[axis] else MIXED  # type: ignore[index]

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return x if x.dims == self.shape else None

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        axes = summed_axes(x.dims, self.shape)  # type: ignore[arg-type]
        return kernels.forms.Reduce(kernels.forms.identity_map(x.dtype), "add", axes, False)


def summed_axes(have: Sequence[int], want: Sequence[int]) -> tuple[int, ...]:
    """The axes of an array of shape `have` to sum so that `want` is left (but for axes of size 1)."""
    extra = len(have) - len(want)
    kept = [extra + i for i, size in enumerate(want) if _is_one(size) and not _is_one(have[extra + i])]
    return (*range(extra), *kept)


def _is_one(size: int) -> bool:
    """Whether a size is the number 1; broadcasting has decided this before."""
    return type(size) is int and size == 1


def sum_to_input(ctx: VjpContext, i: int, g: Tensor) -> Tensor:
    """`g` summed to the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(SumTo(want), g, *given)


def broadcast_like(g: Tensor, ctx: VjpContext, i: int) -> Tensor:
    """`g` broadcast to the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(BroadcastTo(want), g, *given)


@define
class ExpandDims(Op):
    """x with axes of size 1 put in at `axes`, which count in the result."""

    name = "expand_dims"
    takes_spread = True
    moves = True
    keeps = (False, False)
    aliases = {0: 0}
    axes: Axes

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        rank = len(x.dims) + len(self.axes)
        places = {normalize_axis("expand_dims", axis, rank, "the result") for axis in self.axes}
        if len(places) < len(self.axes):
            raise InvalidArgumentError(
                f"expand_dims: axes {self.axes} name one of the {rank} axes of the result twice; name each once."
            )
        sizes = iter(x.dims)
        return TensorSpec.of(tuple(1 if i in places else next(sizes) for i in range(rank)), x.dtype)

    def eval(self, x: Array) -> Array:
        return np.expand_dims(x, self.axes)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if type(data) is not np.ndarray or len(self.axes) != 1:
            return None
        axis = self.axes[0]
        dims, rank = data.shape, data.ndim
        axis += rank + 1 if axis < 0 else 0
        return data.reshape((*dims[:axis], 1, *dims[axis:])) if 0 <= axis <= rank else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Squeeze(self.axes), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims) - 1 + len(self.axes)
        return bind(ExpandDims(tuple(axis % rank + 1 for axis in self.axes)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ()) + len(self.axes)
        places = {axis % rank for axis in self.axes}
        return [i for i in range(rank) if i not in places][axes[0]]

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", self.infer(x).dims)


@define
class Squeeze(Op):
    """x without the axes of size 1 named by `axes`, for an empty tuple all of them."""

    name = "squeeze"
    takes_spread = True
    moves = True
    keeps = (False, False)
    aliases = {0: 0}
    axes: Axes

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        gone = {normalize_axis("squeeze", axis, len(x.dims), "x", x.dims) for axis in self.axes}
        for axis in gone:
            if x.dims[axis] is not None and not is_one(x.dims[axis]):
                raise InvalidArgumentError(
                    f"squeeze: axis {axis} of x with shape {format_dims(x.dims)} has size {x.dims[axis]}; "
                    "only axes of size 1 can go."
                )
        return TensorSpec.of(tuple(size for i, size in enumerate(x.dims) if i not in gone), x.dtype)

    def eval(self, x: Array) -> Array:
        return np.squeeze(x, self.axes)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if type(data) is not np.ndarray:
            return None
        y = data.squeeze(self.axes)
        return y if y.ndim else y[()]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(ExpandDims(self.axes), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims) - 1
        return bind(Squeeze(tuple(axis % rank + 1 for axis in self.axes)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ())
        gone = {axis % rank for axis in self.axes}
        return MIXED if axes[0] in gone else [i for i in range(rank) if i not in gone].index(axes[0])

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", self.infer(x).dims)


def expand_dims(input: TensorLike, axis: AxisLike = 0, name: str | None = None) -> Tensor:
    """`input` with an axis of size 1 put in before `axis`, which counts in the result (-1 is the last).

    Args:
      input: Tensor [...] of any dtype.
      axis: Where the new axis is in the result, -rank - 1 <= axis <= rank.
    Returns: Tensor of the same dtype, with one axis more.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> expand_dims([1, 2], 0).shape
      TensorShape([1, 2])
    """
    x = lift(input)
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    rank = x.ndim
    if rank is not None and not (type(axis) is int and 0 <= axis <= rank):
        axes = normalize_axes("expand_dims", axes, rank + len(axes), "the result") or ()
    return bind(ExpandDims(tuple(int(a) for a in axes)), x)
