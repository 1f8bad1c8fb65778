"""Static values and shapes, and broadcast shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import NestLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_own
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import members
from graphad.core.shapes import TensorShape, as_dims, broadcast_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.create import ones
from graphad.ops.array.join import concat
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.sizes import known_value
from graphad.ops.array.support import index_tensor
from graphad.ops.math.compare import equal, logical_or
from graphad.ops.math.reduce import reduce_all
from graphad.ops.math.select import SELECT, maximum
from graphad.ops.state.effects import require


def is_tensor(x: TensorLike) -> bool:
    """Whether `x` is a tensor, a variable, sparse slices of one or a SparseTensor; arrays and numbers are not.

    Args:
      x: Anything, of any shape and dtype.
    Returns: True or False.
    Raises: Nothing.
    Example:
      >>> is_tensor(constant(1.0)), is_tensor(1.0)
      (True, False)
    """
    return isinstance(x, Tensor | Handle | Sparse)


def is_symbolic_tensor(tensor: TensorLike) -> bool:
    """Whether `tensor` is a symbolic tensor of a function being traced, which has no value.

    Args:
      tensor: A tensor of any shape and dtype, or anything else.
    Returns: True or False.
    Raises: Nothing.
    """
    return isinstance(tensor, Tensor) and not tensor.has_value


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """The value of a tensor as far as it is known now, without running anything.

    Args:
      tensor: A tensor of any dtype; what is none comes back as it is.
      partial: For a vector of sizes, give those that are known, and None for the others.
    Returns: A NumPy array or scalar, None where the value is only known at run time, as a variable's.
    Raises: Nothing.
    """
    if isinstance(tensor, Handle):
        return None
    if not isinstance(tensor, Tensor):
        return tensor
    value = known_value(tensor)
    return np.array(value)[()] if value is not None else None


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """A list of tensors with the values of a list of tensors; each has a gradient of its own.

    Args:
      input: A list of tensors of any shapes and dtypes.
    Returns: A list of as many tensors.
    Raises: ArgumentTypeError (a TypeError): it is not a list, or an element cannot be converted to a tensor.
    """
    return [bind(IDENTITY, lift(x)) for x in members("identity_n", "input", input, "give a list of tensors")]


def tuple_of(tensors: NestLike, control_inputs: NestLike = None, name: str | None = None) -> list[Any]:
    """The list `tensors` as it is after all of them, and `control_inputs`, were computed.

    Args:
      tensors: A list of tensors, variables or None.
      control_inputs: Tensors and variables to wait for as well.
    Returns: A list as long as `tensors`.
    Raises: ArgumentTypeError, InvalidArgumentError: it is not a list, or holds None alone.
    """
    if not isinstance(tensors, list | tuple):
        raise ArgumentTypeError(f"tuple: tensors is {tensors!r}; give a list of tensors.")
    if all(x is None for x in tensors):
        raise InvalidArgumentError(f"tuple: tensors is {tensors!r}; it must have at least one tensor.")
    return [None if x is None else bind(IDENTITY, lift(x)) for x in tensors]


def type_spec_from_value(value: Any) -> Any:
    """What describes a value: the TensorSpec of a tensor, a variable, an array or a number; of an extension type its `Spec`.

    Args:
      value: A tensor of any shape and dtype, a variable, array, number, or an object of an extension type.
    Returns: A TensorSpec, or the `Spec` of an extension type.
    Raises: ArgumentTypeError (a TypeError): it is none of these.
    Example:
      >>> type_spec_from_value([1.0, 2.0])
      TensorSpec(shape=(2,), dtype=tf.float32, name=None)
    """
    if hasattr(type(value), "__graphad_spec__"):
        return value.__graphad_spec__()
    return TensorSpec.from_tensor(lift_own(value))


def broadcast_static_shape(shape_x: TensorLike, shape_y: TensorLike) -> TensorShape:
    """The shape of what tensors of two shapes broadcast to, as far as it is known.

    Args:
      shape_x, shape_y: TensorShapes of tensors of any dtype.
    Returns: A TensorShape.
    Raises: InvalidArgumentError (a ValueError): two sizes differ and neither is 1.
    Example:
      >>> broadcast_static_shape(TensorShape([2, 1]), TensorShape([None, 1, 3]))
      TensorShape([None, 2, 3])
    """
    return TensorShape(broadcast_dims("broadcast_static_shape", as_dims(shape_x), as_dims(shape_y)))


@blaming
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """The shape of what tensors of two shapes broadcast to, computed at run time.

    Args:
      shape_x, shape_y: Vectors of dtype int32 or int64, as `shape` gives them.
    Returns: Integer vector.
    Raises: InvalidArgumentError (a ValueError): two sizes differ and neither is 1.
    """
    x = _shape_vector(shape_x, "shape_x")
    y = _shape_vector(shape_y, "shape_y")
    first, second = _sizes(x), _sizes(y)
    if first is not None and second is not None:
        joint = broadcast_dims("broadcast_dynamic_shape", tuple(first), tuple(second))
        return lift(np.array(joint, x.dtype.numpy))
    n = maximum(shape_of(x)[0], shape_of(y)[0])
    x, y = (concat([ones([n - shape_of(z)[0]], z.dtype), z], 0) for z in (x, y))
    of_x, of_y = equal(x, 1), equal(y, 1)
    require(
        reduce_all(logical_or(logical_or(of_x, of_y), equal(x, y))),
        "broadcast_dynamic_shape: Incompatible shapes: \x00 and \x00 do not broadcast together.",
        [x, y],
    )
    return bind(SELECT, of_x, y, x)


def _shape_vector(shape: TensorLike, word: str) -> Tensor:
    """A shape as an integer vector; the empty list, of no dtype, is the shape of a scalar."""
    given = lift(shape, dtypes.int32) if isinstance(shape, list | tuple) and not shape else shape
    return index_tensor("broadcast_dynamic_shape", given, word)


def _sizes(x: Tensor) -> Sequence[int] | None:
    value = known_value(x)
    if value is not None and np.ndim(value) != 1:
        raise InvalidArgumentError(
            f"broadcast_dynamic_shape: a shape has shape {np.shape(value)}; a vector of sizes is needed."
        )
    return None if value is None else tuple([int(size) for size in value])
