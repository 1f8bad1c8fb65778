"""Products of tensors summed along pairs of axes: Einstein sums of two operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.shapes import format_dims, is_definite, normalize_axes, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat, stack
from graphad.ops.array.reshape import Reshape, reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.slice import getitem
from graphad.ops.linalg.contraction import LETTERS, summed_product
from graphad.ops.linalg.matmul import MATMUL, MatMul
from graphad.ops.math.reduce import reduce_prod


def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Tensor:
    """The sum over products of `a` and `b` along pairs of axes.

    Args:
      a, b: Tensors of one dtype.
      axes: n, for the last n axes of `a` and the first n of `b`; or two lists of axes, which need known ranks.
    Returns: Tensor with the other axes of `a`, then those of `b`.
    Raises: InvalidArgumentError (a ValueError): the axes or their sizes do not fit; DTypeError (a TypeError): dtypes that
      differ.
    Example:
      >>> tensordot([[1, 2], [3, 4]], [1, 1], 1).numpy()
      array([3, 7], dtype=int32)
    """
    a, b = lift_pair("tensordot", a, b)
    if a.ndim is None or b.ndim is None:
        return _flat_product(a, b, axes)
    pairs: Any = axes
    if hasattr(pairs, "__index__") and not hasattr(pairs, "__len__"):
        n = int(pairs)
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise InvalidArgumentError(f"tensordot: axes is {n}; it must be 0 to {min(a.ndim, b.ndim)}.")
        left, right = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        try:
            left, right = ([int(i) for i in np.ravel(part)] for part in pairs)
        except (TypeError, ValueError, OverflowError) as cause:
            refuse(cause, "tensordot", "axes", axes, "a number of axes or two lists of axes are needed")
        for side, x in ((left, a), (right, b)):
            normalize_axes("tensordot", side, x.ndim, "an operand", x.dims)
        left, right = [i % a.ndim for i in left], [i % b.ndim for i in right]
    if len(left) != len(right):
        raise InvalidArgumentError(
            f"tensordot: axes names {len(left)} axes of a and {len(right)} of b; there must be as many of each."
        )
    if a.ndim == b.ndim == 1 and left and is_definite(a.dims) and a.dims == b.dims:
        # The product of two vectors, whose labels would take longer to look at than it does.
        (size,) = ranked(a.dims)
        row, column = bind(Reshape((1, size)), a), bind(Reshape((size, 1)), b)
        return bind(Reshape(()), bind(MATMUL, row, column))
    letters = LETTERS
    la = list(letters[: a.ndim])
    lb = list(letters[a.ndim : a.ndim + b.ndim])
    for i, j in zip(left, right, strict=True):
        of_a, of_b = ranked(a.dims)[i], ranked(b.dims)[j]
        if isinstance(of_a, int) and isinstance(of_b, int) and of_a != of_b:
            raise InvalidArgumentError(
                f"tensordot: axis {i} of a with shape {format_dims(a.dims)} has size {of_a}, axis {j} of b with shape "
                f"{format_dims(b.dims)} has size {of_b}; axes that are summed together must be of one size."
            )
        lb[j] = la[i]
    result = [label for label in la if label not in lb] + [label for label in lb if label not in la]
    return summed_product([tuple(la), tuple(lb)], tuple(result), [a, b])


def _flat_product(a: Tensor, b: Tensor, axes: object) -> Tensor:
    """`tensordot` while a rank is unknown: both flattened to matrices, sizes as data."""
    if not hasattr(axes, "__index__") or hasattr(axes, "__len__") or int(axes) < 0:
        raise InvalidArgumentError(
            f"tensordot: axes is {axes!r} while the ranks of a and b are unknown; give the number of axes."
        )
    n = int(axes)
    left, right = shape(a), shape(b)
    last = getitem(left, slice(-n, None) if n else slice(0, 0))
    first = getitem(left, slice(None, -n if n else None))
    rest = getitem(right, slice(n, None))
    inner = reduce_prod(last)  # b cannot be reshaped if its own sizes differ
    matrix = reshape(a, stack([reduce_prod(first), inner]))
    other = reshape(b, stack([inner, reduce_prod(rest)]))
    return reshape(bind(MatMul(), matrix, other), concat([first, rest], 0))
