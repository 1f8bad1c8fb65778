"""The ones with which a gradient begins if the caller gives no upstream gradients, and how results that share their memory are
returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.choice import copied
from graphad.ops.directly import is_free

FEW = 256  # elements; smaller arrays are made as quickly


def ones_for(y: Tensor, in_one_place: bool, made: dict[Any, EagerTensor]) -> Tensor:
    """The cotangent of a target without an upstream gradient. Sums of ones are exact, so that their layout changes no bit.

    Args:
      y: The target.
      in_one_place: Whether the elements of many may all lie in one place.
      made: The ones of earlier targets, by shape and dtype.
    """
    if not is_free(y):
        return ones_like(y)
    data = y.data
    shape, dtype = data.shape, data.dtype
    if not shape:
        return EagerTensor(dtype.type(1))
    if in_one_place and data.size > FEW:
        return EagerTensor(np.ndarray(shape, dtype, np.asarray(dtype.type(1)), 0, (0,) * len(shape)))
    found = made.get((shape, dtype)) if made else None
    if found is None:
        ones = np.empty(shape, dtype)
        ones.fill(1)  # what `np.ones` does, in half the time
        found = made[shape, dtype] = EagerTensor(ones)
    return found


def apart(bar: EagerTensor, copies: dict[int, EagerTensor]) -> EagerTensor:
    """A gradient with memory for each of its elements. An array that several sources share is copied once."""
    if type(bar.data) is np.ndarray and 0 in bar.data.strides:
        found = copies.get(id(bar))
        if found is None:
            found = copies[id(bar)] = EagerTensor(copied(bar.data))
        return found
    return bar
