"""What CuPy does otherwise than NumPy, for the fake device: each function does what CuPy's does, or what C++ allows it to do.

Where CuPy leaves a result to the order of threads, it is here not that of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special


def positions(key: Any, shape: tuple[int, ...]) -> Any:
    """A key whose arrays of positions are taken modulo the sizes of their axes: nothing is out of range."""
    parts = list(key) if type(key) is tuple else [key]
    used = sum(_axes(part) for part in parts)
    axis = 0
    for place, part in enumerate(parts):
        if part is Ellipsis:
            axis += len(shape) - used
            continue
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu" and axis < len(shape) and shape[axis]:
            parts[place] = part.astype(np.int64) % shape[axis]
        axis += _axes(part)
    return tuple(parts) if type(key) is tuple else parts[0]


def _axes(part: Any) -> int:
    """How many axes a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1


def get(x: np.ndarray, key: Any) -> Any:
    return x[positions(key, x.shape)]


def put(x: np.ndarray, key: Any, value: Any) -> None:
    """`x[key] = value`, where the first of several values for one place counts."""
    key = positions(key, x.shape)
    parts = key if type(key) is tuple else (key,)
    if not any(isinstance(part, np.ndarray) for part in parts):
        x[key] = value
        return
    place = np.arange(x.size).reshape(x.shape)[key]
    every = np.broadcast_to(value, place.shape).reshape(-1)[::-1]
    x[np.unravel_index(place.reshape(-1)[::-1], x.shape)] = every


def _take(x: np.ndarray, indices: Any, axis: Any = None) -> Any:
    return np.take(x, indices, axis, mode="wrap")


def _take_along_axis(x: np.ndarray, indices: np.ndarray, axis: int) -> Any:
    return np.take_along_axis(x, indices.astype(np.int64) % x.shape[axis], axis)


def _floor_divide(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "f":
        return np.floor(np.divide(a, b))
    return np.floor_divide(a, b)


def _remainder(a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "f":
        return a - np.floor(np.divide(a, b)) * b
    return np.remainder(a, b)


def _power(a: Any, b: Any) -> Any:
    """Of integers with negative exponents, 0 and not an error."""
    if np.result_type(a, b).kind not in "iu":
        return np.power(a, b)
    least = np.asarray(b) < 0
    return np.where(least, np.asarray(0, np.result_type(a, b)), np.power(a, np.where(least, 0, b)))


def _shift(plain: np.ufunc) -> Callable[[Any, Any], Any]:
    """A shift by a number modulo the width, as processors do it: C++ says nothing."""
    return lambda a, by: plain(a, by % np.asarray(by).dtype.type(8 * np.asarray(a).dtype.itemsize))


def _position(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Where an extreme number is, which is NaN if there is one: of several, the last."""

    def run(x: np.ndarray, axis: Any = None, **options: Any) -> Any:
        found = plain(x, axis, **options)
        if axis is None or x.dtype.kind != "f":
            return found
        is_nan = np.isnan(x)
        last = x.shape[axis] - 1 - np.argmax(np.flip(is_nan, axis), axis, **options)
        return np.where(is_nan.any(axis, **options), last, found)

    return run


def _logical(plain: np.ufunc) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        if any(np.asarray(x).dtype.kind == "c" for x in given):
            raise TypeError("Wrong type")
        return plain(*given)

    return run


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "take": _take,
    "take_along_axis": _take_along_axis,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "power": _power,
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
    "argmax": _position(np.argmax),
    "argmin": _position(np.argmin),
    **{
        name: _logical(getattr(np, name))
        for name in ("logical_and", "logical_or", "logical_xor", "logical_not")
    },
}


def _scaled(name: str, sign: float) -> Callable[[Any], Any]:
    """The product of two numbers, one of which may be infinite where the other is 0."""
    plain = getattr(scipy.special, name)
    return lambda x: (np.exp(sign * (np.abs(x) if sign < 0 else x)) * plain(x)).astype(x.dtype)


def _expi(x: Any) -> Any:
    return np.where(np.isposinf(x), x.dtype.type(np.nan), scipy.special.expi(x))


SPECIAL: dict[str, Callable[..., Any]] = {
    "i0e": _scaled("i0", -1.0),
    "i1e": _scaled("i1", -1.0),
    "k0e": _scaled("k0", 1.0),
    "k1e": _scaled("k1", 1.0),
    "expi": _expi,
}


def refused(name: str, answer: int) -> np.linalg.LinAlgError:
    """What CuPy raises for cuSOLVER's answer that a matrix has no factors."""
    return np.linalg.LinAlgError(
        f"Error reported by d{name} in cuSOLVER. devInfo = [{answer}]. Please refer to the cuSOLVER documentation."
    )
