"""Elements by their place in row-major or column-major order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import members, refuse
from graphad.core.tensor import Tensor
from graphad.ops import math
from graphad.ops.directly import is_eager
from graphad.ops.numpy.choosing import brought_in, index_of
from graphad.ops.numpy.promotion import cast_to, tensor_of


def _sizes(op: str, name: str, given: Sequence[int]) -> list[int]:
    """Sizes as Python integers. Raises: ArgumentTypeError, InvalidArgumentError: one is not an integer."""
    needed = "a list of integers is needed, the sizes"
    listed = members(op, name, given, needed)
    try:
        return [int(size) for size in listed]
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(cause, op, name, given, needed)


@blaming
def unravel_index(indices: TensorLike, shape: Sequence[int], order: str = "C") -> tuple[Tensor, ...]:
    """The index along each axis of elements given by flat row-major indices.

    Args:
      indices: Integers of any shape.
      shape: The sizes.
      order: "C", or "F" for column-major indices.
    Returns: A tuple of int64 tensors of the shape of `indices`, one for each axis.
    Raises: InvalidArgumentError (a ValueError): `order` is unknown, or an index is out of range, which a traced function does
      not notice; ArgumentTypeError (a TypeError): indices of another dtype.
    Example:
      >>> [k.numpy().tolist() for k in numpy.unravel_index([5, 2], [2, 3])]
      [[1, 0], [2, 2]]
    """
    rest = cast_to(index_of("unravel_index", indices), dtypes.int64)
    found = []
    sizes = _sizes("unravel_index", "shape", shape)
    is_row_major = _is_row_major("unravel_index", order)
    total = _total("unravel_index", "shape", sizes)
    if not sizes and rest.ndim != 0:
        raise InvalidArgumentError(
            f"unravel_index: indices of shape {rest.shape} for the shape (); its one element has a scalar index."
        )
    _require_in("unravel_index", rest, total)
    for size in (max(size, 1) for size in (reversed(sizes) if is_row_major else sizes)):
        found.append(math.mod(rest, cast_to(size, rest.dtype)))
        rest = math.floordiv(rest, cast_to(size, rest.dtype))
    return tuple(reversed(found)) if is_row_major else tuple(found)


def ravel_multi_index(
    multi_index: Iterable[TensorLike],
    dims: Sequence[int],
    mode: str | Sequence[str] = "raise",
    order: str = "C",
) -> Tensor:
    """The flat row-major indices of elements whose indices are given for each axis.

    Args:
      multi_index: For each axis integers of one shape.
      dims: The sizes.
      mode: "raise", or "wrap" or "clip" for indices that are out of range; one for all axes, or one for each.
      order: "C", or "F" for column-major indices.
    Returns: int64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): the numbers of indices and sizes differ, `mode` or `order` is unknown, or an
      index is out of range, which a traced function does not notice; ArgumentTypeError (a TypeError):
      indices of another dtype, or sizes that are not integers.
    Example:
      >>> numpy.ravel_multi_index([[1, 0], [2, 2]], [2, 3]).numpy()
      array([5, 2])
    """
    total = tensor_of(0)
    indices = members("ravel_multi_index", "multi_index", multi_index, "give a list of integer tensors")
    sizes = _sizes("ravel_multi_index", "dims", dims)
    if len(indices) != len(sizes):
        raise InvalidArgumentError(
            f"ravel_multi_index: multi_index holds indices for {len(indices)} axes, dims {len(sizes)} sizes; the "
            "numbers must be equal."
        )
    _total("ravel_multi_index", "dims", sizes)
    modes = [mode] * len(sizes) if isinstance(mode, str) else list(mode)
    if len(modes) != len(sizes):
        raise InvalidArgumentError(f"ravel_multi_index: there are {len(modes)} modes for {len(sizes)} axes.")
    parts = list(zip(indices, sizes, modes, strict=True))
    for given, size, each in parts if _is_row_major("ravel_multi_index", order) else reversed(parts):
        index = math.cast(index_of("ravel_multi_index", given), total.dtype)
        if each == "raise" or not size:
            _require_in("ravel_multi_index", index, size)
        total = total * cast_to(size, total.dtype) + brought_in(
            "ravel_multi_index", index, max(size, 1), each
        )
    return total


def _total(op: str, name: str, sizes: list[int]) -> int:
    """How many elements there are. Raises: InvalidArgumentError: a size is negative, or int64 does not count them."""
    if any(size < 0 for size in sizes) or prod(sizes) >= 2**63:
        raise InvalidArgumentError(
            f"{op}: {name} is {tuple(sizes)}; its sizes are 0 or more, and together less than 2**63 elements."
        )
    return prod(sizes)


def _is_row_major(name: str, order: str) -> bool:
    if order not in ("C", "F"):
        raise InvalidArgumentError(f"{name}: order {order!r} is unknown; it is 'C' or 'F'.")
    return order == "C"


def _require_in(name: str, index: Any, size: int) -> None:
    """Raises: InvalidArgumentError: an index is negative or not below a size, as far as they are known."""
    if is_eager(index) and index.data.size and not (np.min(index.data) >= 0 and np.max(index.data) < size):
        raise InvalidArgumentError(
            f"{name}: indices from {np.min(index.data)} to {np.max(index.data)} are not all from 0 to {size - 1}."
        )
