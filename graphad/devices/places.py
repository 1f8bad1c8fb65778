"""Writing to places of an array that positions name, as NumPy does it: the same bits each time.

The device's library would combine and store in whatever order threads come. Here values are sorted by their places, which keeps
those of one place in their order, and put together in pairs, then pairs of pairs: as many steps as twice goes into the number of
values that one place has. Each place is then written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def combine_at(ufunc: np.ufunc, target: DeviceArray, key: Any, values: Any = None) -> bool:
    """`ufunc.at(target, key, values)` for arrays of positions along the first axes. Returns: False for other keys, where nothing
    is done.
    """
    found = _Places.of(target, key, values)
    if found is None:
        return False
    if found.count:
        rows, step = found.rows, 1
        while step < found.longest:
            takes = (found.segment[step:] == found.segment[:-step]) & (
                found.rank[:-step] & (2 * step - 1) == 0
            )
            before = rows[:-step]
            rows[:-step] = np.where(takes.reshape(-1, 1), ufunc(before, rows[step:]), before)
            step *= 2
        key = found.key(found.starts)
        totals = rows.picked(found.starts).reshape(len(found.starts), *found.row)
        target.put(key, ufunc(target.at(key), totals))
    return True


_MOST_TURNS = 256  # values of one place


def combine_by_turns(ufunc: np.ufunc, target: DeviceArray, key: Any, values: Any = None) -> bool:
    """`combine_at` for what may not be put together in pairs, such as a division: one value of every place at a time. Returns:
    False, where nothing is done, also where a place has too many values.
    """
    found = None if values is None else _Places.of(target, key, values)
    if found is None or (found.count and found.longest > _MOST_TURNS):
        return False
    if found.count:
        at = found.key(found.starts)
        totals: Any = target.at(at).reshape(len(found.starts), math.prod(found.row))
        for turn in range(found.longest):
            now: Any = np.flatnonzero(found.rank == turn)
            place = found.segment.picked(now)
            totals.put(place, ufunc(totals.picked(place), found.rows.picked(now)))
        target.put(at, totals.reshape(len(found.starts), *found.row))
    return True


def running(ufunc: np.ufunc, x: Any, axis: int = 0) -> Any:
    """`ufunc.accumulate(x, axis)` for an associative one: spans of 1, 2, 4, ... elements are put together."""
    y = np.moveaxis(x, axis, 0)
    step = 1
    while step < len(y):
        y = np.concatenate([y[:step], ufunc(y[:-step], y[step:])])
        step *= 2
    return np.moveaxis(y, 0, axis)


def put_at(target: DeviceArray, key: Any, values: Any) -> bool:
    """`target[key] = values` for arrays of positions along the first axes, of which the last one at a place counts, and for a
    mask and one value. Returns: False for other keys, where nothing is done.
    """
    if getattr(key, "dtype", None) == np.bool_ and hasattr(key, "picked"):
        places = tuple(np.nonzero(key)) if key.ndim and key.shape == target.shape[: key.ndim] else ()
        if not places or np.shape(values) not in ((), (len(places[0]), *target.shape[key.ndim :])):
            return False
        target.put(places, values)
        return True
    if type(key) is tuple and len(key) > 1 and key[0] is Ellipsis and hasattr(target, "given"):
        parts = tuple([np.asarray(part) if isinstance(part, list) else part for part in key[1:]])
        return len(parts) <= target.ndim and _put_behind(target, parts, values)
    found = _Places.of(target, key, values)
    if found is None:
        return False
    if found.count:
        last = np.flatnonzero(np.concatenate([found.is_first[1:], found.is_first[:1]]))
        target.put(found.key(last), found.rows.picked(last).reshape(len(last), *found.row))
    return True


def _put_behind(target: Any, parts: tuple[Any, ...], values: Any) -> bool:
    """`target[..., *parts] = values`."""
    if not all(getattr(part, "dtype", _NONE).kind in "iu" for part in parts):
        return False
    lead, count = target.shape[: target.ndim - len(parts)], len(parts)
    try:
        shape = np.broadcast_shapes(*[part.shape for part in parts])
        whole: Any = np.broadcast_to(target.given(values), (*lead, *shape))
    except ValueError:
        return False
    front = tuple(range(count))
    view = np.moveaxis(target, tuple([len(lead) + k for k in front]), front)
    turned = np.moveaxis(whole, tuple(range(len(lead), whole.ndim)), tuple(range(len(shape))))
    return put_at(view, parts, turned)


def reduce_at(ufunc: np.ufunc, x: DeviceArray, starts: DeviceArray) -> Any:
    """`ufunc.reduceat(x, starts)` for starts that increase from 0 on, None for others."""
    low, high = ends(starts)
    if low or high >= len(x) or not bool((starts[1:] > starts[:-1]).all()):
        return None
    marks: Any = x.made("zeros", (len(x),), np.int64)
    marks.put(starts, 1)
    rest: Any = np.flatnonzero(marks == 0)
    y = x.picked(starts)
    number: Any = np.cumsum(marks) - 1
    if rest.size:
        combine_at(ufunc, y, number.picked(rest), x.picked(rest))
    return y


class _Places:
    """Values sorted by the places that they go to.

    To type checkers, NumPy's functions of an array on a device give NumPy's arrays.

    Attributes:
      count: How many there are.
      row: The shape of each of them.
      rows: The values, one a row.
      is_first: Whether a value is the first of its place.
      starts: The numbers of these.
      segment: Which place, counted from 0, a value goes to.
      rank: How many values of its place come before it.
      longest: How many values a place has at most.
    """

    def __init__(self, target: DeviceArray, parts: Sequence[Any], values: Any) -> None:
        lead, self.row = target.shape[: len(parts)], target.shape[len(parts) :]
        shape = np.broadcast_shapes(*[part.shape for part in parts])
        self.count = math.prod(shape)
        if not self.count:
            return
        number: Any = None
        self._parts: list[DeviceArray] = []
        for part, size in zip(parts, lead, strict=True):
            flat: Any = np.broadcast_to(part, shape).reshape(-1).astype(np.int64)
            flat = np.where(flat < 0, flat + size, flat)
            self._parts.append(flat)
            number = flat if number is None else number * size + flat
        self._order: DeviceArray = np.argsort(number, kind="stable")  # type: ignore[assignment]
        number = number.picked(self._order)
        whole: Any = np.broadcast_to(values, (*shape, *self.row)).reshape(self.count, math.prod(self.row))
        self.rows = whole.picked(self._order).astype(target.dtype)
        self.is_first: DeviceArray = np.concatenate(
            [target.made("ones", (1,), np.bool_), number[1:] != number[:-1]]
        )  # type: ignore[assignment]
        self.starts: DeviceArray = np.flatnonzero(self.is_first)  # type: ignore[assignment]
        self.segment: DeviceArray = np.cumsum(self.is_first) - 1  # type: ignore[assignment]
        every: Any = target.made("arange", self.count)
        self.rank: DeviceArray = every - self.starts.picked(self.segment)
        self.longest = int(self.rank.max()) + 1

    @staticmethod
    def of(target: DeviceArray, key: Any, values: Any) -> _Places | None:
        """None for keys and values that are not of this kind, or name no place of the target; then NumPy says so."""
        parts = key if type(key) is tuple else (key,)
        if not hasattr(target, "picked") or not 0 < len(parts) <= target.ndim:
            return None
        if not all(getattr(part, "dtype", _NONE).kind in "iu" for part in parts):
            return None
        parts = tuple([target.given(part) for part in parts])
        for part, size in zip(parts, target.shape, strict=False):
            low, high = ends(part)
            if low < -size or high >= size:
                return None
        try:
            shape = np.broadcast_shapes(*[part.shape for part in parts])
            np.broadcast_to(np.broadcast_to(_BYTE, np.shape(values)), (*shape, *target.shape[len(parts) :]))
        except ValueError:
            return None
        return _Places(target, parts, target.given(values))

    def key(self, of: Any) -> tuple[Any, ...]:
        """The positions of some of the sorted values."""
        return tuple([part.picked(self._order).picked(of) for part in self._parts])


_NONE, _BYTE = np.dtype("V1"), np.zeros((), np.int8)


def ends(positions: DeviceArray | np.ndarray) -> tuple[int, int]:
    """The least and the greatest of positions, 0 and -1 where there are none."""
    return (int(positions.min()), int(positions.max())) if positions.size else (0, -1)
