"""NumPy's own function in one pass, for tensors that nothing follows.

Some functions of the namespace are put together from several ops, which give them derivatives and compiled code. Where no tape,
no trace and no other recorder is there, NumPy has the same result in one pass. That holds for functions that choose, move,
count or compare elements, or round once: their result is the same bits. Sums of floats keep the order of their ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.bind import EagerLevel
from graphad.core.ieee import SHORT_WAY_ENDS, unreported
from graphad.core.levels import busy
from graphad.core.tensor import EagerTensor, Tensor

# What NumPy raises where it refuses the arguments: the usual way has the words for it.
_REFUSED = (*SHORT_WAY_ENDS, TypeError, IndexError, AttributeError)


def is_free(*xs: Any) -> bool:
    """Whether all are tensors with data of a dtype of NumPy's own, and nothing follows them."""
    if busy() is None:
        for x in xs:
            if type(x) is not EagerTensor or x.data.dtype.kind == "V":
                break
        else:
            return True
    return False


def directly(function: Callable[..., Any], *xs: Any, **options: Any) -> Tensor | None:
    """`function` of the data of tensors, all in place of tensors; None where the usual way must be taken.

    Args:
      function: A function of NumPy's, or of arrays, with results of the same bits as the ops that follow; it gives an array.
      xs: Tensors.
      options: What else it is called with, none of it a tensor.
    """
    if not is_free(*xs):
        return None
    try:
        found = unreported(function, *[x.data for x in xs], **options)
    except _REFUSED:
        return None
    return None if found is None else _tensor(found)


def _tensor(found: Any) -> EagerTensor:
    return EagerTensor(found[()] if type(found) is np.ndarray and not found.ndim else found)


def parts_directly(function: Callable[..., Sequence[Any]], *xs: Any, **options: Any) -> list[Tensor] | None:
    """`directly` for a function that gives several arrays: a list of tensors, or None."""
    if not is_free(*xs):
        return None
    try:
        return [_tensor(found) for found in unreported(function, *[x.data for x in xs], **options)]
    except _REFUSED:
        return None


def alike_directly(function: Callable[..., Any], *xs: Any, **options: Any) -> Tensor | None:
    """`directly` for tensors of one dtype, which `function` takes as a list."""
    if not is_free(*xs) or len({x.data.dtype for x in xs}) != 1:
        return None
    return directly(lambda *values: function(values, **options), *xs)


def is_eager(x: Any) -> bool:
    """Whether a tensor has its data, and ops run at once, whoever records them: what is done may depend on the data."""
    level = busy()
    return type(x) is EagerTensor and (level is None or type(level) is EagerLevel)


def is_finite(x: Any) -> bool:
    """Whether a tensor with data at hand has neither infinities nor NaN; False for others."""
    return is_eager(x) and bool(np.isfinite(x.data).all())


def is_normal(x: Any) -> bool:
    """Whether a tensor with data at hand has real floats that are neither 0 nor so small that digits are lost, and finite."""
    if not is_eager(x) or x.data.dtype.kind != "f":
        return False
    size = np.abs(x.data)
    return bool(((size >= np.finfo(size.dtype).tiny) & np.isfinite(size)).all())


def has_no_nan(x: Any) -> bool:
    """Whether a tensor is known to have elements, and no NaN among them."""
    if not is_eager(x) or x.data.dtype.kind != "f" or not x.data.size:
        return False
    largest = np.maximum.reduce(x.data, None)
    return bool(largest == largest)
