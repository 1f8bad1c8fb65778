"""Another shape for the same elements, which are not moved: reshape, expand, squeeze.

A shape is an attribute; sizes that are unknown while tracing refer to inputs (`core/references.py`), which `shape` computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
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
from graphad.core.dims import Dim, Size, UndecidedSize, divide_exactly, is_one, product, run_time_symbols
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.references import is_reference
from graphad.core.run_sizes import Sized
from graphad.core.schema import Axes, Given
from graphad.core.shapes import (
    are_numbers,
    format_dims,
    is_definite,
    normalize_axes,
    normalize_axis,
    ranked,
)
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.shape import shape_of
from graphad.ops.array.sizes import (
    requested,
    shape_was_claimed,
    static_sizes,
)
from graphad.ops.short import short_way


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

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        dims = ranked(specs[0].dims)
        want = self.result(dims)
        if not are_numbers(want) or product(dims) != product(want):
            return None
        evaluate = self.eval
        first = (0,) * len(dims)

        def to_array(x: Array) -> Any:
            return x.reshape(want) if type(x) is np.ndarray else evaluate(x)

        def to_scalar(x: Array) -> Any:
            return x[first] if type(x) is np.ndarray else evaluate(x)

        return to_array if want else to_scalar if first else None

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

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """With the number of elements that the other sizes leave for -1, or with as many as x has: the run compares them."""
        (x,) = inputs
        rest = [k for k, size in enumerate(self.shape) if is_rest(size)]
        sizes = [size for size in self.shape if not is_rest(size)]
        if len(rest) > 1 or any(type(size) is int and size < 1 for size in sizes):
            return None
        total, known = product(ranked(x.dims)), product(sizes)
        if not rest:
            is_other = total != known and sized.require_equal(total, known)
            return (Reshape(self.shape), inputs) if is_other else None
        if type(total) is int and total == 0:
            return None  # what is left for -1 depends on which sizes are 0
        share = divide_exactly(total, known)
        if share is None:
            share = sized.share(total, known)
        return None if share is None else (Reshape(_with(self.shape, rest[0], share)), inputs)

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", self.shape)


def _with(shape: Sequence[Any], k: int, size: Any) -> tuple[Any, ...]:
    return (*shape[:k], size, *shape[k + 1 :])


def is_rest(size: Dim | int) -> bool:
    """Whether a size is -1, which the other sizes determine."""
    return type(size) is int and size == -1


def _wrong_size(have: tuple[Size, ...], want: tuple[Size, ...]) -> InvalidArgumentError:
    of_truth = (
        ""
        if want
        else " Where a tensor decides, tf.reduce_all and tf.reduce_any make one truth value of many."
    )
    return InvalidArgumentError(
        f"reshape: x with shape {format_dims(have)} has {product(have)} elements, the requested shape "
        f"{format_dims(want)} has {product(want)}; the numbers of elements must be equal.{of_truth}"
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
    if type(total) is int and total == 0 and run_time_symbols([rest]):
        raise UndecidedSize(rest.symbols)  # it may be 0 too
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


def reshape_like(g: Tensor, ctx: VjpContext, i: int) -> Tensor:
    """`g` in the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(Reshape(want), g, *given)


@define
class ExpandDims(Op):
    """x with axes of size 1 put in at `axes`, which count in the result."""

    name = "expand_dims"
    takes_spread = carries_masks = True
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

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        want, evaluate = self.infer(*specs).dims, self.eval
        return lambda x: x.reshape(want) if type(x) is np.ndarray else evaluate(x)

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
    takes_spread = carries_masks = True
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
        return np.squeeze(x, tuple({axis % x.ndim for axis in self.axes}))

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


def expand_dims(input: TensorLike, axis: AxisLike = 0) -> Tensor:
    """The public function (`expanding.py`), for axes that are known."""
    x = lift(input)
    if isinstance(axis, np.ndarray | EagerTensor) and axis.shape == (1,):
        axis = np.asarray(axis)[0]
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    rank = x.ndim
    if rank is not None and not (type(axis) is int and 0 <= axis <= rank):
        axes = normalize_axes("expand_dims", axes, rank + len(axes), "the result") or ()
    return bind(ExpandDims(tuple(int(a) for a in axes)), x)
