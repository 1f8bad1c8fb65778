"""Tensors made from numbers: constants, fills, ranges, identity matrices; and the two ops that pass a tensor on.

A result that depends only on Python numbers is a constant; one that depends on a size known at run time is an op, which folds
into a constant or an op on symbols when the graph is specialised.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
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
from graphad.core.bind import bind, constant_here
from graphad.core.convert import lift, lift_own, stands_for_tensor, to_numpy
from graphad.core.dims import Dim, Size, product, run_time_symbols
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.op import Op, define, no_gradient
from graphad.core.references import AT
from graphad.core.registry import lookup
from graphad.core.run_sizes import Sized
from graphad.core.schema import Given
from graphad.core.shapes import TensorShape, are_numbers, format_dims, is_definite, ranked
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.ops.array.broadcast import BroadcastTo, broadcast_for
from graphad.ops.array.shape import packed
from graphad.ops.array.sizes import require_count, require_sizes, static_sizes, whole_or_same
from graphad.ops.array.support import (
    WithoutInputs,
    in_memory,
    static_int,
)
from graphad.ops.control.stacks import full_like, known_dims, known_spec
from graphad.ops.directly import is_free


def constant(
    value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """A tensor with a fixed value.

    Args:
      value: A number, array or nested list; a tensor is passed on.
      dtype: Its dtype; by default float32 for Python floats, int32 for ints (int64 where they do not fit), an array's own.
      shape: Its shape: a scalar fills it, other values must have as many elements.
    Returns: Tensor of that shape and dtype.
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
      value: A tensor, variable, number, array or nested list, of any shape.
      dtype: The dtype wanted; a tensor of another dtype is refused.
      dtype_hint: A dtype to use if `value` can have it.
    Returns: Tensor of the shape of `value`.
    Raises: DTypeError (a ValueError and TypeError): the dtypes do not fit.
    Example:
      >>> convert_to_tensor([[1, 2], [3, 4]]).dtype
      tf.int32
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
      value: A scalar, number or tensor, or a vector of one element; its gradient is the sum.
    Returns: Tensor of that shape and the dtype of `value`.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or `value` has more elements or axes.
    Example:
      >>> fill([2, 2], 7).numpy()
      array([[7, 7],
             [7, 7]], dtype=int32)
    """
    value = lift(value)
    if value.dims == (1,):
        value = value[0]
    if value.dims is not None and len(value.dims) != 0:
        raise InvalidArgumentError(f"fill: value has shape {format_dims(value.dims)}; a scalar is needed.")
    return broadcast_for("fill", value, dims)


def zeros(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False for bool).

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      dtype: The dtype, float32 by default.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> zeros([2, 2], int32).numpy()
      array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _filled("zeros", shape, as_dtype(dtype), 0)


def ones(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True for bool).

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      dtype: The dtype, float32 by default.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> ones([2, 2]).numpy()
      array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return _filled("ones", shape, as_dtype(dtype), 1)


def _filled(op: str, shape: object, dtype: DType, value: int) -> Tensor:
    sizes = static_sizes(op, shape)
    if sizes is not None:
        require_sizes(op, sizes)
    if sizes and is_free():
        return EagerTensor(in_memory(op, np.ones if value else np.zeros, sizes, dtype.numpy))
    scalar = lift(dtype.numpy.type(value))
    if sizes is None and isinstance(shape, Tensor) and shape.dims == ():
        shape = [shape]  # one size, as a number is
    return scalar if sizes == [] else broadcast_for(op, scalar, shape if sizes is None else sizes)


_FEW = 4096  # numbers, for which there is memory without asking


class _Like(Op):
    """A tensor with the shape of x and every element the same number."""

    keeps = (False, False)
    by_value = ()
    value = 0
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of(x.dims, self.dtype)

    def eval(self, x: Array) -> Array:
        return full_like(x, self.value, self.dtype.numpy)  # type: ignore[no-any-return]

    vjp = no_gradient("it does not depend on the values of its input")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(_filled(self.name, x.dims[1:], self.dtype, self.value))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
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
    """Zeros with the shape of `input` and, unless another is given, its dtype. The gradient is None.

    Args:
      input: Tensor of any shape and dtype.
      dtype: The dtype of the result; by default that of `input`.
    Returns: Tensor of the shape of `input`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> zeros_like([[1, 2], [3, 4]]).numpy()
      array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _like(ZerosLike, input, dtype)


def zeros_of(x: Any) -> Tensor:
    """Zeros with the shape and dtype of a tensor or a variable, or of what stands for a value of known shape that was dropped."""
    spec = known_spec(x)
    return zeros(spec.dims, spec.dtype) if is_definite(spec.dims) else zeros_like(x)


def ones_of(x: Any) -> Tensor:
    """The same of ones."""
    spec = known_spec(x)
    return ones(spec.dims, spec.dtype) if is_definite(spec.dims) else ones_like(x)


def ones_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Ones with the shape of `input` and, unless another is given, its dtype. The gradient is None.

    Args:
      input: Tensor of any shape and dtype.
      dtype: The dtype of the result; by default that of `input`.
    Returns: Tensor of the shape of `input`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> ones_like([[1, 2], [3, 4]]).numpy()
      array([[1, 1],
             [1, 1]], dtype=int32)
    """
    return _like(OnesLike, input, dtype)


def _like(kind: Any, x: TensorLike, dtype: DTypeLike | None) -> Tensor:
    if dtype is None and is_free(x):
        data: Any = x.data  # type: ignore[union-attr]
        if type(data) is np.ndarray and data.ndim and 0 < data.size <= _FEW:  # no slices of several shapes
            return EagerTensor((np.ones if kind.value else np.zeros)(data.shape, data.dtype))
    if not isinstance(x, Tensor):
        x = lift(x)
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    if is_definite(known_dims(x)) and not x.away:
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

    def eval(self, x: Array) -> Array:
        return x

    def quick(self, x: Tensor) -> Array | None:
        return x.data  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (g,)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", x.dims)


@define
class StopGradient(Op):
    """x; its derivative is none."""

    name = "stop_gradient"
    total = True
    keeps = (False, False)
    aliases = {0: 0}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Array) -> Array:
        return x

    quick = Identity.quick
    vjp = no_gradient("stop_gradient cuts the path")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", x.dims)


IDENTITY, STOP_GRADIENT = Identity(), StopGradient()


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A tensor with the value of `input` that is another tensor to tapes: each has a gradient of its own.

    Args:
      input: Tensor of any shape and dtype, a variable, which is read, or a SparseTensor or IndexedSlices.
    Returns: Tensor of the same shape and dtype, or a copy of the sparse value with such tensors.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    if isinstance(input, Sparse):
        parts, again = input.apart()
        return again([identity(part) for part in parts])  # type: ignore[no-any-return] # Tensor is the declared one
    return bind(IDENTITY, lift(input))


def told_apart(xs: Sequence[Tensor]) -> list[Tensor]:
    """Arguments of a function as distinct tensor objects, so that a tape inside distinguishes a tensor that is passed twice."""
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
    """`input`, a tensor or variable of any dtype, as a constant for derivatives: no gradient flows back through it.

    Args:
      input: Tensor of any shape and dtype, or a variable.
    Returns: Tensor of the same shape, dtype and value.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> grad(lambda x: x * stop_gradient(x))(3.0).numpy()
      np.float32(3.0)
    """
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

    def eval(self, x: Array) -> Array:
        return packed("size", [np.size(x)], self.dtype)[0]  # type: ignore[no-any-return]

    vjp = no_gradient("a size is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(packed("size", [product(x.dims[1:])], self.dtype)[0]))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.size(product(x.dims), self.dtype)


@define
class Rank(Op):
    """The number of axes of x, an int32 scalar."""

    name = "rank"
    by_value = ()
    keeps = (False, False)

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((), dtypes.int32)

    def eval(self, x: Array) -> Array:
        return np.int32(np.ndim(x))  # type: ignore[return-value]

    vjp = no_gradient("a rank is not a function of values")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(np.int32(len(x.dims) - 1)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.size(len(x.dims), dtypes.int32)


def size(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements of `input` as an integer scalar; a constant where the shape is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
      out_type: int32 or int64.
    Returns: Integer scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> size([[1, 2, 3], [4, 5, 6]]).numpy()
      np.int32(6)
    """
    if isinstance(input, Sparse) and input.sizes is not None:
        return input.sizes.prod().astype(out_type)  # type: ignore[no-any-return]
    x, dtype = lift(input), as_dtype(out_type)
    if x.dims is not None and are_numbers(x.dims):
        return lift(packed("size", [product(x.dims)], dtype)[0])
    return bind(ElementCount(dtype), x)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes of `input` as an int32 scalar; a constant where it is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
    Returns: int32 scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> rank([[1, 2], [3, 4]]).numpy()
      np.int32(2)
    """
    if isinstance(input, Sparse) and input.sizes is not None:
        return size(input.sizes)
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

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        if not kernels.sites.same_size(*whole.shape):
            return None
        return [
            kernels.sites.Part(0, whole),
            kernels.sites.Part(1, kernels.sites.Site(whole.root, whole.shape[:1], (whole.shape[0] + 1,))),
        ]

    def eval(self) -> Array:
        return np.eye(self.rows_, self.columns, dtype=self.dtype.numpy)

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """As a comparison of the numbers of rows and columns, of which the run finds how many there are."""
        if not run_time_symbols([self.rows_, self.columns]):
            return None
        steps, equal = lookup("steps"), lookup("equal")
        rows, columns = (bind(steps(0, size, 1, dtypes.int32)) for size in (self.rows_, self.columns))
        return lookup("cast")(self.dtype), (bind(equal(), bind(lookup("expand_dims")((1,)), rows), columns),)


def _require_matrix(high: int | None, wide: int | None) -> None:
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
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> eye(2).numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    dtype = as_dtype(dtype)
    num_columns = num_rows if num_columns is None else num_columns
    num_rows, num_columns = whole_or_same(num_rows), whole_or_same(num_columns)
    high, wide = static_int("eye", num_rows, "num_rows"), static_int("eye", num_columns, "num_columns")
    _require_matrix(high, wide)
    if high is None or wide is None:
        given = [lift(n) for n, known in ((num_rows, high), (num_columns, wide)) if known is None]
        open_ = (AT, 1) if high is None else high
        matrix = bind(Eye(open_, (AT, len(given)) if wide is None else wide, dtype), *given)
    elif isinstance(high, Dim) or isinstance(wide, Dim):
        matrix = bind(Eye(high, wide, dtype))
    else:
        matrix = constant_here(in_memory("eye", np.eye, high, wide, dtype=dtype.numpy))
    if batch_shape is None:
        return matrix
    lead = static_sizes("eye", batch_shape)
    if lead is None or not is_definite(matrix.dims):
        if isinstance(batch_shape, Tensor):
            if batch_shape.dims is None or None in batch_shape.dims:  # even the number of axes is unknown
                ends = lift([num_rows, num_columns], batch_shape.dtype)
                concat = importlib.import_module("graphad.ops.array.join").concat  # which few programs need
                return broadcast_for("eye", matrix, concat([batch_shape, ends], 0))
            batch_shape = [batch_shape[i] for i in range(len(batch_shape))]
        return broadcast_for("eye", matrix, [*batch_shape, num_rows, num_columns])
    require_sizes("eye", lead, "batch_shape")
    return bind(BroadcastTo((*lead, *ranked(matrix.dims))), matrix)
