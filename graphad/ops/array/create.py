"""Tensors made from numbers: constants, fills, ranges, identity matrices, one-hot rows; and the two ops that pass a tensor on.

What depends on Python numbers alone is a constant; what depends on a size that is only known at run time is an op, which
folds into a constant or into an op on symbols when the graph is specialised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_own, stands_for_tensor, to_numpy
from graphad.core.dims import Dim, Size, product
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.kinds import require_same_dtype
from graphad.core.levels import busy
from graphad.core.op import MIXED, Op, define, no_gradient
from graphad.core.references import AT
from graphad.core.registry import lookup
from graphad.core.schema import Axis, Given
from graphad.core.shapes import TensorShape, format_dims, is_definite, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.kernels import forms
from graphad.kernels.sites import Part, Site, same_size
from graphad.ops.array.shape import BroadcastTo, broadcast_for
from graphad.ops.array.sizes import require_count, require_sizes, static_sizes
from graphad.ops.array.support import (
    WithoutInputs,
    in_memory,
    requested_size,
    require_index,
    shifted,
    static_int,
)
from graphad.ops.control.stacks import full_like, known_dims


def constant(
    value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """A tensor with a fixed value.

    Args:
      value: A number, array or nested list; a tensor is passed on.
      dtype: Its dtype; by default float32 for Python floats, int32 for ints (int64 where they do not fit), an array's own.
      shape: Its shape: a scalar fills it, other values must have as many elements.
    Raises:
      ArgumentTypeError (a TypeError): the number of elements does not fit `shape`.
      DTypeError (a TypeError): a float was given for an integer dtype.
    Example:
      >>> constant(2, shape=(2, 2)).numpy()
      array([[2, 2],
             [2, 2]], dtype=int32)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if stands_for_tensor(value):
        return lift(lift_own(value), wanted)
    if shape is None:
        return lift(value, wanted)
    sizes = static_sizes("constant", shape)
    if sizes is None:
        raise ArgumentTypeError(
            "constant: shape must be known; use fill(shape, value) for a shape that is a tensor."
        )
    require_sizes("constant", sizes)
    data = np.asarray(to_numpy(value, wanted))
    if data.ndim == 0 or (data.size == 1 and product(sizes) != 1):
        return lift(in_memory("constant", np.full, sizes, data.reshape(())))
    if data.size != product(sizes):
        raise ArgumentTypeError(
            "Eager execution of tf.constant with unsupported shape. "
            f"constant: value has {data.size} elements, shape is {tuple(sizes)} with {product(sizes)} elements."
        )
    return lift(data.reshape(sizes))


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`value` as a tensor: a tensor as it is, a variable read, numbers, arrays and nested lists converted.

    Args:
      value: What to convert.
      dtype: The dtype wanted; a tensor of another dtype is refused.
      dtype_hint: A dtype to use if `value` can have it.
    Raises: DTypeError (a ValueError and TypeError): the dtypes do not fit.
    """
    if isinstance(value, Handle):
        value = lift_own(value)
    if dtype is None and dtype_hint is not None:
        try:
            return lift(value, as_dtype(dtype_hint))
        except (DTypeError, InvalidArgumentError):
            return lift(value)
    return lift(value, None if dtype is None else as_dtype(dtype))


def fill(dims: ShapeLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with every element `value`.

    Args:
      dims: Sizes: a list, a shape, or an integer tensor.
      value: A scalar, number or tensor; its gradient is the sum.
    """
    value = lift(value)
    if value.dims is not None and len(value.dims) != 0:
        raise InvalidArgumentError(f"fill: value has shape {format_dims(value.dims)}; a scalar is needed.")
    return broadcast_for("fill", value, dims)


def zeros(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False for bool). `shape`: sizes, a shape, or an integer tensor."""
    return _filled("zeros", shape, as_dtype(dtype), 0)


def ones(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True for bool). `shape`: sizes, a shape, or an integer tensor."""
    return _filled("ones", shape, as_dtype(dtype), 1)


def _filled(op: str, shape: Any, dtype: DType, value: int) -> Tensor:
    sizes = static_sizes(op, shape)
    if sizes is not None:
        require_sizes(op, sizes)
    if sizes and busy() is None:
        return EagerTensor(in_memory(op, np.zeros if value == 0 else np.ones, sizes, dtype.numpy))
    scalar = lift(dtype.numpy.type(value))
    return scalar if sizes == [] else broadcast_for(op, scalar, shape if sizes is None else sizes)


class _Like(Op):
    """A tensor with the shape of x and every element the same number."""

    keeps = (False, False)
    by_value = ()
    value = 0
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of(x.dims, self.dtype)

    def eval(self, x: Any) -> Any:
        return full_like(x, self.value, self.dtype.numpy)

    vjp = no_gradient("it does not depend on the values of its input")

    def batch(self, ctx: Any, x: Any) -> Any:
        return ctx.unstacked(_filled(self.name, x.dims[1:], self.dtype, self.value))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None

    def fold(self, ctx: Any, x: Any) -> Any:
        return _filled(self.name, x.dims, self.dtype, self.value)


@define
class ZerosLike(_Like):
    """Zeros of `dtype` with the shape of x."""

    name = "zeros_like"
    dtype: DType


@define
class OnesLike(_Like):
    """Ones of `dtype` with the shape of x."""

    name = "ones_like"
    value = 1
    dtype: DType


def zeros_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Zeros with the shape of `input` and, unless another is given, its dtype. The gradient is None."""
    return _like(ZerosLike, input, dtype)


def ones_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Ones with the shape of `input` and, unless another is given, its dtype. The gradient is None."""
    return _like(OnesLike, input, dtype)


def _like(kind: Any, x: Any, dtype: Any) -> Tensor:
    if not isinstance(x, Tensor):
        x = lift(x)
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    if is_definite(known_dims(x)):
        return _filled(kind.name, x.dims, wanted, kind.value)
    return bind(kind(wanted), x)  # type: ignore[no-any-return]


@define
class Identity(Op):
    """x."""

    name = "identity"
    returns_input = True
    moves = True
    keeps = (False, False)
    aliases = {0: 0}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Any) -> Any:
        return x

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (g,)

    def batch(self, ctx: Any, x: Any) -> Any:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return axes[0]

    def lower(self, x: TensorSpec) -> Any:
        return forms.View("reshape", x.dims)


@define
class StopGradient(Op):
    """x; its derivative is none."""

    name = "stop_gradient"
    total = True
    keeps = (False, False)
    aliases = {0: 0}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Any) -> Any:
        return x

    vjp = no_gradient("stop_gradient cuts the path")

    def batch(self, ctx: Any, x: Any) -> Any:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return axes[0]

    def lower(self, x: TensorSpec) -> Any:
        return forms.View("reshape", x.dims)


IDENTITY, STOP_GRADIENT = Identity(), StopGradient()


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A tensor with the value of `input` that is another tensor to tapes: each has a gradient of its own."""
    return bind(IDENTITY, lift(input))


def told_apart(xs: Sequence[Any]) -> list[Any]:
    """Arguments of a function, each with an identity of its own: the same tensor given twice is two to a tape inside."""
    found: list[Any] = []
    seen: set[int] = set()
    for x in xs:
        if isinstance(x, Tensor):
            if id(x) in seen:
                x = bind(IDENTITY, x)
            seen.add(id(x))
        found.append(x)
    return found


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """`input`, a tensor or variable of any dtype, as a constant for derivatives: no gradient flows back through it."""
    return bind(STOP_GRADIENT, lift(input))


@define
class ElementCount(Op):
    """The number of elements of x, a scalar of `dtype`."""

    name = "size"
    by_value = ()
    keeps = (False, False)
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((), self.dtype)

    def eval(self, x: Any) -> Any:
        return self.dtype.numpy.type(np.size(x))

    vjp = no_gradient("a size is piecewise constant")

    def batch(self, ctx: Any, x: Any) -> Any:
        return ctx.unstacked(lift(self.dtype.numpy.type(product(x.dims[1:]))))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None

    def fold(self, ctx: Any, x: Any) -> Any:
        return ctx.size(product(x.dims), self.dtype)


@define
class Rank(Op):
    """The number of axes of x, an int32 scalar."""

    name = "rank"
    by_value = ()
    keeps = (False, False)

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((), dtypes.int32)

    def eval(self, x: Any) -> Any:
        return np.int32(np.ndim(x))

    vjp = no_gradient("a rank is no function of values")

    def batch(self, ctx: Any, x: Any) -> Any:
        return ctx.unstacked(lift(np.int32(len(x.dims) - 1)))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None

    def fold(self, ctx: Any, x: Any) -> Any:
        return ctx.size(len(x.dims), dtypes.int32)


def size(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements of `input` as an integer scalar; a constant where the shape is known."""
    x, dtype = lift(input), as_dtype(out_type)
    if x.dims is not None and all(type(n) is int for n in x.dims):
        return lift(dtype.numpy.type(product(x.dims)))
    return bind(ElementCount(dtype), x)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes of `input` as an int32 scalar; a constant where it is known."""
    x = lift(input)
    return bind(Rank(), x) if x.dims is None else lift(np.int32(len(x.dims)))


@define
class Eye(WithoutInputs):
    """A matrix of `rows_` rows and `columns` columns with ones on its diagonal and zeros elsewhere."""

    name, version = "eye", 2
    words = {"rows_": "num_rows", "columns": "num_columns"}
    rows_: Given[Size]
    columns: Given[Size]
    dtype: DType

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"rows_": (AT, 1), "columns": (AT, 2), **attributes}  # both were inputs

    @staticmethod
    def _sizes_were_numbers(attributes: dict[str, Any]) -> dict[str, Any]:
        """Its sizes are always numbers."""
        return attributes

    formerly = {"eye_of": _sizes_were_numbers}

    def infer(self) -> TensorSpec:
        return TensorSpec.of((self.rows_, self.columns), self.dtype)

    def parts_of(self, whole: Site, sites: Sequence[Site], number: Callable[[int], Any]) -> list[Part] | None:
        if not same_size(*whole.shape):
            return None
        return [Part(0, whole), Part(1, Site(whole.root, whole.shape[:1], (whole.shape[0] + 1,)))]

    def eval(self) -> Any:
        return np.eye(self.rows_, self.columns, dtype=self.dtype.numpy)


def _require_matrix(high: Any, wide: Any) -> None:
    require_count("eye", high, "num_rows")
    require_count("eye", wide, "num_columns")


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: Sequence[Any] | TensorShape | Tensor | np.ndarray | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a stack of them.

    Args:
      num_rows: An int, or an integer scalar tensor.
      num_columns: Likewise; `num_rows` by default.
      batch_shape: Leading sizes over which the matrix is repeated.
      dtype: The dtype.
    Returns: Tensor [*batch_shape, num_rows, num_columns].
    """
    dtype = as_dtype(dtype)
    num_columns = num_rows if num_columns is None else num_columns
    high, wide = static_int("eye", num_rows, "num_rows"), static_int("eye", num_columns, "num_columns")
    _require_matrix(high, wide)
    if high is None or wide is None:
        given = [lift(n) for n, known in ((num_rows, high), (num_columns, wide)) if known is None]
        open_ = (AT, 1) if high is None else high
        matrix = bind(Eye(open_, (AT, len(given)) if wide is None else wide, dtype), *given)
    elif isinstance(high, Dim) or isinstance(wide, Dim):
        matrix = bind(Eye(high, wide, dtype))
    else:
        matrix = lift(in_memory("eye", np.eye, high, wide, dtype=dtype.numpy))
    if batch_shape is None:
        return matrix
    lead = static_sizes("eye", batch_shape)
    if lead is None or not is_definite(matrix.dims):
        if isinstance(batch_shape, Tensor):
            if batch_shape.dims is None or None in batch_shape.dims:  # even their number is not known
                ends = lift([num_rows, num_columns], batch_shape.dtype)
                return broadcast_for("eye", matrix, bind(lookup("concat")(0), batch_shape, ends))
            batch_shape = [batch_shape[i] for i in range(len(batch_shape))]
        return broadcast_for("eye", matrix, [*batch_shape, num_rows, num_columns])
    require_sizes("eye", lead, "batch_shape")
    return bind(BroadcastTo((*lead, *ranked(matrix.dims))), matrix)


def depth_was_input(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `depth` is the last input, an integer scalar."""
    return {"depth": (AT, 1), **attributes}


@define
class OneHot(Op):
    """y[..., k, ...] is `on` where k = indices[...] along a new axis of size `depth`, else `off`; an index out of range gives
    `off` only. `axis` counts in the result; `on` and `off` are scalars, the result has their dtype.
    """

    name = "one_hot"
    keeps = (False, False)
    depth: Given[Size]
    axis: Axis
    formerly = {"one_hot_to": depth_was_input}

    def infer(self, indices: TensorSpec, on: TensorSpec, off: TensorSpec) -> TensorSpec:
        require_index("one_hot", indices, "indices")
        require_same_dtype("one_hot", on, off, ("on_value", "off_value"))
        if indices.dims is None:
            return TensorSpec.of(None, on.dtype)
        place = normalize_axis("one_hot", self.axis, len(indices.dims) + 1)
        return TensorSpec.of((*indices.dims[:place], self.depth, *indices.dims[place:]), on.dtype)

    def eval(self, indices: Any, on: Any, off: Any) -> Any:
        return _one_hot(indices, on, off, self.depth, self.axis)

    vjp = no_gradient("an index is an integer")

    def batch(self, ctx: Any, indices: Any, on: Any, off: Any, *given: Any) -> Any:
        if ctx.stacked(1) or ctx.stacked(2):
            return ctx.rowwise(self, indices, on, off, *given)
        return bind(OneHot(self.depth, shifted(self.axis, len(indices.dims))), indices, on, off, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if axes[1] is not None or axes[2] is not None:
            return MIXED
        if axes[0] is None:
            return None
        place = self.axis % (len(specs[0].dims or ()) + 1)
        return axes[0] + (place <= axes[0])


def _one_hot(indices: Any, on: Any, off: Any, depth: int, axis: int) -> Any:
    place = axis % (np.ndim(indices) + 1)
    steps = np.arange(depth).reshape((-1,) + (1,) * (np.ndim(indices) - place))
    return np.where(np.expand_dims(indices, place) == steps, on, off)


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Indices as rows that are `on_value` at the index and `off_value` elsewhere.

    Args:
      indices: Integer tensor; an index outside 0 to depth - 1 gives a row of `off_value`.
      depth: The size of the new axis: an int, or an integer scalar tensor.
      on_value, off_value: Scalars, 1 and 0 by default.
      axis: Where the new axis goes in the result.
      dtype: The dtype of the result; that of the values, or float32.
    """
    indices = lift(indices)
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None:
        given = next((lift(v).dtype for v in (on_value, off_value) if v is not None), None)
        wanted = dtypes.float32 if given is None else given
    on = lift(wanted.numpy.type(1)) if on_value is None else lift(on_value, wanted)
    off = lift(wanted.numpy.type(0)) if off_value is None else lift(off_value, wanted)
    if indices.ndim is not None:
        axis = normalize_axis("one_hot", axis, indices.ndim + 1)
    count, given_depth = requested_size("one_hot", depth, "depth")
    return bind(OneHot(count, axis), indices, on, off, *given_depth)


__all__ = [
    "constant",
    "convert_to_tensor",
    "eye",
    "fill",
    "identity",
    "one_hot",
    "ones",
    "ones_like",
    "rank",
    "size",
    "stop_gradient",
    "zeros",
    "zeros_like",
]
