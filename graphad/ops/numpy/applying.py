"""NumPy's functions that apply given functions to whole tensors: piecewise, to coordinates, over one axis after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import check_function, members
from graphad.core.shapes import normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.numpy.grids import indices
from graphad.ops.numpy.promotion import cast_to, rank_of, tensor_of

Result = TypeVar("Result")


def apply_over_axes(func: Callable[[Any, int], Any], a: TensorLike, axes: int | Sequence[int]) -> Tensor:
    """A function of a tensor and an axis, applied over one axis after another.

    Args:
      func: A function of a tensor and an axis, such as a reduction; an axis that it removes is restored with size 1.
      a: Tensor of any shape and dtype.
      axes: The axes.
    Returns: Tensor of the rank of `a`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or the function changes the rank by more than one.
    Example:
      >>> numpy.apply_over_axes(numpy.sum, [[1, 2], [3, 4]], [0, 1]).numpy()
      array([[10]])
    """
    check_function("apply_over_axes", func)
    x = tensor_of(a)
    rank = rank_of("apply_over_axes", x)
    for axis in [axes] if isinstance(axes, int) else axes:
        place = normalize_axis("apply_over_axes", axis, rank)
        found = tensor_of(func(x, place))
        if found.ndim == rank - 1:
            found = array.expand_dims(found, place)
        if found.ndim != rank:
            raise InvalidArgumentError(
                f"apply_over_axes: the function changed the rank from {rank} to {found.ndim}; it must keep it "
                "or reduce the axis."
            )
        x = found
    return x


def piecewise(
    x: TensorLike, condlist: TensorLike | Sequence[TensorLike], funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor:
    """A function defined piecewise by conditions, elementwise; where none holds, it is 0 or the additional last function.

    Args:
      x: Tensor of any shape, a numeric dtype, which is that of the result.
      condlist: Bools, or numbers that are not 0, of the shape of x, or a list of them, or a tensor with one axis more; where
        several hold, the last one wins.
      funclist: Functions of x, or numbers: one for each condition, and optionally one more for the rest.
      args, kw: Further arguments of the functions.
    Returns: Tensor of the shape and dtype of x. Every function is computed for all elements, as `where` does.
    Raises: InvalidArgumentError (a ValueError): the number of functions does not fit the conditions.
    Example:
      >>> numpy.piecewise([-1.0, 2.0], [[True, False]], [0.0, lambda x: x * x]).numpy()
      array([0., 4.])
    """
    x = tensor_of(x)
    if isinstance(condlist, list | tuple) and condlist and (x.ndim == 0 or not np.isscalar(condlist[0])):
        conditions = [tensor_of(c, dtypes.bool_) for c in condlist]
    else:
        given = tensor_of(condlist, dtypes.bool_)
        conditions = array.unstack(given) if rank_of("piecewise", given) > 1 else [given]
    functions = members("piecewise", "funclist", funclist, "give a list of functions and numbers")
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise InvalidArgumentError(
            f"piecewise: {len(functions)} functions for {len(conditions)} conditions; give as many, or one more."
        )

    def value(function: Any) -> Tensor:
        found = tensor_of(function(x, *args, **kw) if callable(function) else function)
        return cast_to(found, x.dtype)

    rest = functions[len(conditions)] if len(functions) > len(conditions) else 0
    y = array.broadcast_to(value(rest), array.shape(x))
    for condition, function in zip(conditions, functions, strict=False):
        y = math.where(condition, value(function), y)
    return y


def fromfunction(
    function: Callable[..., Result], shape: Sequence[int], *, dtype: DTypeLike = float, **kwargs: Any
) -> Result:
    """A function applied to the coordinates of a tensor: one tensor of indices for each axis.

    Args:
      function: A function of as many tensors as there are sizes.
      shape: The sizes.
      dtype: The dtype of the coordinates.
      kwargs: Further arguments of the function.
    Returns: What the function returns.
    Raises: What the function raises.
    Example:
      >>> numpy.fromfunction(lambda row, column: row * 10 + column, (2, 2), dtype=int).numpy()
      array([[ 0,  1],
             [10, 11]])
    """
    check_function("fromfunction", function)
    return function(*array.unstack(indices(shape, dtype=dtype)), **kwargs)
