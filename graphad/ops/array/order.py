"""Stable orders of NumPy arrays along their last axis, NaN last.

NumPy's stable sorts are slow. Integers of a small range are sorted digit by digit, floats by quicksort, after which the few
ties are put in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


_DIGITS = 1 << 16
_LARGE = 256  # elements; for fewer the stable sort is as fast


def stable_order(x: DeviceArray | Array) -> Any:
    """The indices that sort x, from the smallest on; of equal elements the first comes first."""
    if not isinstance(x, np.ndarray) or x.size < _LARGE:
        return np.argsort(x, -1, kind="stable")
    if x.dtype.kind in "iu" and x.dtype.itemsize > 2:
        least = x.min()
        if int(x.max()) - int(least) < _DIGITS:
            x = (x - least).astype(np.uint16)
    elif x.dtype.kind == "f" and x.dtype.itemsize > 2:
        return _quick_order(x)
    return np.argsort(x, -1, kind="stable")


def descending_order(x: DeviceArray | Array) -> Any:
    """The indices that sort x, from the largest on; of equal elements the first comes first."""
    return x.shape[-1] - 1 - stable_order(np.flip(x, -1))[..., ::-1]


def _quick_order(x: Array) -> Any:
    order = np.argsort(x, -1)
    ranked = np.take_along_axis(x, order, -1)
    is_tie = ranked[..., 1:] == ranked[..., :-1]
    if np.isnan(ranked[..., -1]).any():
        is_tie |= np.isnan(ranked[..., :-1])  # the elements after a NaN are NaN too
    ties = np.count_nonzero(is_tie)
    if not ties:
        return order
    if 4 * ties > x.size:
        return np.argsort(x, -1, kind="stable")
    size = x.shape[-1]
    goes_on = np.zeros(x.shape, bool)  # equal to the previous element
    goes_on[..., 1:] = is_tie
    member = goes_on.copy()
    member[..., :-1] |= is_tie
    places = np.flatnonzero(member)
    group = np.cumsum(~goes_on.reshape(-1)[places])
    flat = order.reshape(-1)
    flat[places] = np.sort(group * size + flat[places]) - group * size
    return flat.reshape(x.shape)


def sorted_values(x: Any, axis: int) -> Any:
    """x sorted along an axis, without computing the order.

    None if there is a -0.0, which NumPy's quicksort may exchange with 0.0.
    """
    if x.dtype.kind not in "iuf" or x.dtype.itemsize == 2:
        return None
    if x.dtype.kind == "f" and np.signbit(x[x == 0]).any():
        return None
    return np.sort(x, axis)
