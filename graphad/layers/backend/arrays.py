"""Arrays and their shapes, as `keras.backend` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers.backend.formats import channels_are_first, dtype_of
from graphad.ops import array, image, math
from graphad.ops.control import branch, scan
from graphad.ops.image.resizing import ResizeMethod
from graphad.ops.sparse.elementwise import to_dense as dense_of
from graphad.ops.sparse.places import concat as concat_sparse
from graphad.ops.sparse.tensor import SparseTensor

_Expression = TensorLike | Callable[[], TensorLike]

# -- what is made ------------------------------------------------------------------------------------------------------------


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32"
) -> Tensor:
    """As `graphad.range`, of the dtype of its arguments for "int32"; without stop from 0, and empty for a negative start.

    Args:
      start: The first number, or the end of a range from 0.
      stop: The number that is not reached.
      step: The distance of neighbours.
      dtype: The dtype; `floatx` for None.
    Returns: Tensor [n].
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    if stop is None:
        start, stop = 0, start
        if isinstance(stop, int | float) and stop < 0:
            stop = 0
    numbers = array.range(start, stop, step)
    return numbers if dtype == "int32" else math.cast(numbers, dtype)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """As `graphad.constant`, of dtype `floatx` by default.

    Args:
      value: Anything that converts to a tensor.
      dtype: The dtype; `floatx` for None.
      shape: The shape.
    Returns: Tensor.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.constant(value, dtype_of(dtype), shape, name or "Const")


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """As `graphad.ones_like`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      dtype: The dtype; `floatx` for None.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.ones_like(x, dtype)


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """As `graphad.zeros_like`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      dtype: The dtype; `floatx` for None.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.zeros_like(x, dtype)


def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """As `graphad.one_hot`, along a new last axis.

    Args:
      indices: An integer tensor of any shape.
      num_classes: The size of the new axis.
    Returns: Tensor of a float dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.one_hot(indices, num_classes, axis=-1)


# -- what a tensor is --------------------------------------------------------------------------------------------------------


def count_params(x: TensorLike) -> int:
    """The number of elements.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: An integer.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return int(lift(x).shape.num_elements() or 0)


def dtype(x: TensorLike) -> str:
    """The name of the dtype.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: A string.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return str(lift(x).dtype.name)


def int_shape(x: TensorLike | SparseTensor) -> tuple[int | None, ...] | None:
    """The sizes as a tuple, None where a size is not known; None for an unknown rank.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: As described.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    sizes: Any = x.shape if hasattr(x, "shape") else lift(x).shape
    return None if getattr(sizes, "rank", 0) is None else tuple(sizes)


def ndim(x: TensorLike | SparseTensor) -> int | None:
    """The number of axes, None where it is not known.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: As described.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    sizes = int_shape(x)
    return None if sizes is None else len(sizes)


def shape(x: TensorLike) -> Tensor:
    """As `graphad.shape`.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Integer tensor [rank].
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.shape(x)


def is_sparse(tensor: object) -> bool:
    """Whether it is a `SparseTensor`.

    Args:
      tensor: Anything.
    Returns: A bool.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: TensorLike | SparseTensor) -> TensorLike:
    """A `SparseTensor` as a tensor; all else stays.

    Args:
      tensor: Tensor of any shape and dtype, sparse or not.
    Returns: Tensor of its shape and dtype.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return dense_of(tensor) if isinstance(tensor, SparseTensor) else tensor


# -- other shapes ------------------------------------------------------------------------------------------------------------


def batch_flatten(x: TensorLike) -> Tensor:
    """[batch, ...] as [batch, n].

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    sizes = tuple(x.shape) if x.ndim is not None else (None,)
    if x.ndim and None not in sizes[1:]:
        return array.reshape(x, [-1, int(np.prod(sizes[1:], dtype=np.int64))])
    return array.reshape(x, array.stack([-1, math.reduce_prod(array.shape(x)[1:])]))


def concatenate(tensors: Sequence[TensorLike | SparseTensor], axis: int = -1) -> Tensor | SparseTensor:
    """As `graphad.concat`, along the last axis by default; all of them sparse give a sparse tensor.

    Args:
      tensors: Tensors or sparse tensors, of one dtype, whose shapes are equal but for the size along the axis.
      axis: An axis or several, None for all.
    Returns: A tensor of their dtype, or a sparse one.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    sparse = [x for x in tensors if isinstance(x, SparseTensor)]
    if len(sparse) == len(tensors):
        return concat_sparse(axis, sparse)
    return array.concat([to_dense(x) for x in tensors], axis)


def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """As `graphad.expand_dims`, behind the last axis by default.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.expand_dims(x, axis)


def flatten(x: TensorLike) -> Tensor:
    """All elements along one axis.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.reshape(x, [-1])


def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """As `graphad.gather`, along the first axis.

    Args:
      reference: Tensor of any shape and dtype.
      indices: Integer tensor of any shape.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.gather(reference, indices)


def permute_dimensions(x: TensorLike, pattern: TensorLike) -> Tensor:
    """As `graphad.transpose` with a permutation.

    Args:
      x: Tensor of any shape, a numeric dtype.
      pattern: The permutation of axes.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.transpose(x, pattern)


def repeat(x: TensorLike, n: TensorLike) -> Tensor:
    """[batch, features] as [batch, n, features].

    Args:
      x: Tensor of any shape, a numeric dtype.
      n: How many times.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x = lift(x)
    if x.ndim not in (None, 2):
        raise InvalidArgumentError(f"repeat: x has shape {tuple(x.shape)}; two axes are needed.")
    return array.tile(array.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Tensor:
    """Each element along an axis, rep times.

    Args:
      x: Tensor of any shape, a numeric dtype.
      rep: How many times.
      axis: An axis or several, None for all.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.repeat(x, rep, axis)


def reshape(x: TensorLike, shape: ShapeLike) -> Tensor:
    """As `graphad.reshape`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      shape: The shape.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.reshape(x, shape)


def squeeze(x: TensorLike, axis: int) -> Tensor:
    """As `graphad.squeeze` of one axis.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.squeeze(x, [axis])


def stack(x: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """As `graphad.stack`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      axis: An axis or several, None for all.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.stack(x, axis)


def tile(x: TensorLike, n: TensorLike) -> Tensor:
    """As `graphad.tile`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      n: How many times.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.tile(x, [n] if isinstance(n, int) else n)


def transpose(x: TensorLike) -> Tensor:
    """As `graphad.transpose`, of all axes.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.transpose(x)


# -- images ------------------------------------------------------------------------------------------------------------------


def temporal_padding(x: TensorLike, padding: Sequence[int] = (1, 1)) -> Tensor:
    """Zeros before and behind the middle axis of [batch, time, features].

    Args:
      x: Tensor of any shape, a numeric dtype.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return array.pad(x, [[0, 0], _pair("temporal_padding", padding), [0, 0]])


def spatial_2d_padding(
    x: TensorLike, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Zeros around images.

    Args:
      x: Tensor of any shape, a numeric dtype.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _padded("spatial_2d_padding", x, padding, data_format, 2)


def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Zeros around volumes.

    Args:
      x: Tensor of any shape, a numeric dtype.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _padded("spatial_3d_padding", x, padding, data_format, 3)


def _padded(
    op: str, x: TensorLike, padding: Sequence[Sequence[int]], data_format: str | None, axes: int
) -> Tensor:
    if len(padding) != axes:
        raise InvalidArgumentError(f"{op}: padding is {padding!r}; {axes} pairs of integers are needed.")
    space = [_pair(op, pair) for pair in padding]
    none = [0, 0]
    return array.pad(x, [none, none, *space] if channels_are_first(op, data_format) else [none, *space, none])


def _pair(op: str, padding: Sequence[int]) -> list[int]:
    if len(padding) != 2:
        raise InvalidArgumentError(f"{op}: {padding!r} is given where a pair of integers is needed.")
    return list(padding)


_METHODS = {
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    **{word: word for word in ("area", "bicubic", "bilinear", "gaussian", "lanczos3", "lanczos5")},
    "mitchellcubic": ResizeMethod.MITCHELLCUBIC,
}


def resize_images(
    x: TensorLike, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images whose height and width are these times larger; see `graphad.image.resize`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      height_factor: An integer.
      width_factor: An integer.
      data_format: "channels_last" or "channels_first"; None is the first.
      interpolation: The method of `graphad.image.resize`, in small letters.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    if interpolation not in _METHODS:
        raise InvalidArgumentError(
            f"resize_images: interpolation is {interpolation!r}; it is one of {', '.join(_METHODS)}."
        )
    first = channels_are_first("resize_images", data_format)
    x = lift(x)
    if first:
        x = array.transpose(x, [0, 2, 3, 1])
    sizes = tuple(x.shape)[1:3] if x.ndim is not None else (None, None)
    known = sizes if None not in sizes else array.shape(x)[1:3]
    resized = image.resize(x, [known[0] * height_factor, known[1] * width_factor], _METHODS[interpolation])
    return array.transpose(resized, [0, 3, 1, 2]) if first else resized


def resize_volumes(
    x: TensorLike, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Tensor:
    """Volumes whose elements are repeated these times along each axis of space.

    Args:
      x: Tensor of any shape, a numeric dtype.
      depth_factor: An integer.
      height_factor: An integer.
      width_factor: An integer.
      data_format: "channels_last" or "channels_first"; None is the first.
    Returns: A tensor of the dtype of what is given.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    start = 2 if channels_are_first("resize_volumes", data_format) else 1
    resized = lift(x)
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), start):
        resized = array.repeat(resized, factor, axis)
    return resized


# -- control -----------------------------------------------------------------------------------------------------------------


def foldl(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """As `graphad.foldl`.

    Args:
      fn: A function of one element, with what was accumulated before it where that is kept.
      elems: Tensors that are taken apart along their first axis.
      initializer: What is accumulated at first.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return scan.foldl(fn, elems, initializer)


def foldr(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    """As `graphad.foldr`.

    Args:
      fn: A function of one element, with what was accumulated before it where that is kept.
      elems: Tensors that are taken apart along their first axis.
      initializer: What is accumulated at first.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return scan.foldr(fn, elems, initializer)


def map_fn(
    fn: Callable[..., Any], elems: Any, name: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """As `graphad.map_fn`.

    Args:
      fn: A function of one element, with what was accumulated before it where that is kept.
      elems: Tensors that are taken apart along their first axis.
      dtype: The dtype of the results, as `graphad.map_fn` takes it.
    Returns: What the arguments say.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return scan.map_fn(fn, elems, dtype)


def switch(condition: TensorLike, then_expression: _Expression, else_expression: _Expression) -> Tensor:
    """One of two values: of a scalar condition as `graphad.cond`, else element by element, along the first axes of the values.

    Args:
      condition: Tensor, a scalar or of at most the rank of the values; numbers other than 0 are true.
      then_expression, else_expression: Tensors, or functions of no arguments.
    Returns: A tensor of the shape and dtype of the values.
    Raises: InvalidArgumentError (a ValueError): the condition has more axes than the values.
    """
    condition = lift(condition)
    if condition.dtype.name != "bool":
        condition = math.cast(condition, "bool")
    if condition.ndim == 0:
        return branch.cond(  # type: ignore[no-any-return]
            condition, _function(then_expression), _function(else_expression)
        )
    one, other = (lift(x() if callable(x) else x) for x in (then_expression, else_expression))
    if condition.ndim is not None and one.ndim is not None:
        if condition.ndim > one.ndim:
            raise InvalidArgumentError(
                f"switch: the condition has {condition.ndim} axes, the values {one.ndim}; it has at most as many."
            )
        if 1 < condition.ndim < one.ndim:
            ones = [1] * (one.ndim - condition.ndim)
            condition = array.reshape(condition, array.concat([array.shape(condition), ones], 0))
    return math.where(condition, one, other)


def _function(expression: _Expression) -> Callable[[], Any]:
    return expression if callable(expression) else lambda: expression
