"""Whether a block of a tensor, given by starts, strides and sizes, lies inside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import are_numbers, format_dims


def require_inside(
    op: str,
    starts: tuple[Any, ...],
    strides: tuple[int, ...],
    sizes: tuple[Any, ...] | None,
    dims: tuple[Any, ...] | None,
) -> None:
    """Raise unless a block whose sizes are numbers lies inside of `dims`: kernels trust it."""
    if dims is None or sizes is None:
        return
    if not _may_be_inside(starts, strides, sizes, dims):
        raise outside(op, starts, strides, sizes, dims)


def _may_be_inside(
    starts: Sequence[Any], strides: Sequence[int], sizes: Sequence[Any], dims: Sequence[Any]
) -> bool:
    """Whether such a block lies inside as far as the sizes are numbers."""
    fits = len(starts) == len(strides) == len(sizes) == len(dims)
    for start, stride, size, whole in zip(starts, strides, sizes, dims, strict=False):
        if type(start) is type(stride) is type(size) is type(whole) is int and size:
            last = start + stride * (size - 1)
            fits = fits and stride != 0 and 0 <= start < whole and 0 <= last < whole
    return fits


def is_inside(starts: Any, strides: Any, sizes: Any, dims: Any) -> bool:
    """Whether all of these are numbers, and the block lies inside."""
    return are_numbers((*starts, *sizes, *dims)) and _may_be_inside(starts, strides, sizes, dims)


def outside(
    op: str, starts: object, strides: object, sizes: tuple[Any, ...] | None, dims: tuple[Any, ...] | None
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{op}: starts {starts}, strides {strides} and sizes {format_dims(sizes)} do not lie inside of {format_dims(dims)}."
    )
