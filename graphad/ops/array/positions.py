"""What ops whose indices are data have in common: their form, and why no loop carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import Array
from graphad.core.spec import TensorSpec
from graphad.ops.native_steps import are_few, by_step

# Why no loop carries them. It walks its operands by strides that are known before it runs, and cannot raise.
READS_ANYWHERE = "where it reads is in its indices, and one that is outside is an error"
WRITES_ANYWHERE = "where it writes is in its indices, which may name a place twice"

MOST_COORDINATES = 8  # of which native code has sizes


def by_coordinates(
    way: str, batch_dims: int, indices: TensorSpec, given: tuple[int, ...] = (0, 1)
) -> kernels.forms.Form | None:
    """The form of an op whose indices have coordinates, if it is known how many, and not too many."""
    depth = (indices.dims or (None,))[-1]
    if type(depth) is not int or not 1 <= depth <= MOST_COORDINATES:
        return None
    return kernels.forms.Indexed(way, batch_dims, batch_dims, True, given=given)


def combined(
    way: str,
    values: Array,
    indices: Array,
    shape: Sequence[int],
    lead: int,
    axis: int,
    has_coordinates: bool = False,
    negative: str = "error",
) -> Array | None:
    """The slices of many values combined at the indices of an array of a shape, by the step of compiled code; None where the
    usual way must be taken, which has the words for an index outside.

    The arguments but the first ones are those of `forms.Indexed`. Where a slice is one number, NumPy's loops are quicker.
    """
    if are_few(values.size):
        return None
    depth = indices.shape[-1] if has_coordinates else 1
    places = indices.shape[lead : indices.ndim - has_coordinates]
    # A step would write past its place.
    fits = values.shape == (*shape[:axis], *places, *shape[axis + depth :])
    if not fits or indices.shape[:lead] != tuple(shape[:lead]):
        return None
    if depth > MOST_COORDINATES or math.prod(shape[axis + depth :]) < 2:
        return None
    form = kernels.forms.Indexed(way, lead, axis, has_coordinates, negative)
    return by_step(form, (values, indices), shape, values.dtype, values.size)  # type: ignore[no-any-return]


def blocks(params: Array, indices: Array, axis: int, batch_dims: int) -> tuple[Any, Any]:
    """Parameters as [batch, before, n, after] and indices as [batch, m]."""
    dims = np.shape(params)
    lead, before, after = map(math.prod, (dims[:batch_dims], dims[batch_dims:axis], dims[axis + 1 :]))
    many = -1 if lead else math.prod(np.shape(indices)[batch_dims:])
    return np.reshape(params, (lead, before, dims[axis], after)), np.reshape(indices, (lead, many))
