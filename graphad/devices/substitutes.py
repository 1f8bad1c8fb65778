"""Functions of NumPy's that CuPy lacks or means otherwise, made of CuPy's own.

Of integers, what CuPy leaves to C++ (a division by 0, of the lowest number by -1, shifts by the width and more) is NumPy's here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.devices.library import cupyx, library


def dtype_of(x: Any) -> np.dtype:
    """The dtype of an array of any library."""
    found: np.dtype = np.dtype(x.dtype)
    return found


def are_integers(inputs: Sequence[Any]) -> bool:
    """Whether all operands are arrays of one integer dtype."""
    dtypes = {dtype_of(x) for x in inputs if hasattr(x, "dtype")}
    return len(dtypes) == 1 and all(hasattr(x, "dtype") for x in inputs) and next(iter(dtypes)).kind in "iu"


def _quotient(a: Any, b: Any) -> Any:
    lib, number = library(), dtype_of(b).type
    a, b = lib.asarray(a), lib.asarray(b)
    is_none = lib.equal(b, number(0))
    if dtype_of(b).kind == "u":
        return lib.where(is_none, number(0), lib.floor_divide(a, lib.where(is_none, number(1), b)))
    is_turned = lib.equal(b, number(-1))
    y = lib.floor_divide(a, lib.where(lib.logical_or(is_none, is_turned), number(1), b))
    return lib.where(is_none, number(0), lib.where(is_turned, lib.negative(a), y))


def _remainder(a: Any, b: Any) -> Any:
    lib = library()
    a, b = lib.asarray(a), lib.asarray(b)
    rest = lib.subtract(a, lib.multiply(_quotient(a, b), b))
    return lib.where(lib.equal(b, dtype_of(b).type(0)), dtype_of(b).type(0), rest)


def _truncated(a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend."""
    lib, zero = library(), dtype_of(b).type(0)
    a, b = lib.asarray(a), lib.asarray(b)
    rest = _remainder(a, b)
    is_other = lib.logical_and(lib.not_equal(rest, zero), lib.not_equal(lib.less(a, zero), lib.less(b, zero)))
    return lib.where(is_other, lib.subtract(rest, b), rest)


def _power(a: Any, b: Any) -> Any:
    """Raises: ValueError: an exponent is negative, of which CuPy makes 0."""
    lib = library()
    a, b = lib.asarray(a), lib.asarray(b)
    if dtype_of(b).kind == "i" and b.size and lib.asnumpy(b.min()) < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return lib.power(a, b)


def _shifted(name: str, a: Any, by: Any) -> Any:
    lib, number = library(), dtype_of(by).type
    if isinstance(by, np.generic) and 0 <= int(by) < 8 * by.itemsize:
        return getattr(lib, name)(a, by)
    a, by = lib.asarray(a), lib.asarray(by)
    most = number(8 * a.dtype.itemsize - 1)
    is_far = lib.logical_or(lib.less(by, number(0)), lib.greater(by, most))
    near = getattr(lib, name)(a, lib.where(is_far, number(0), by))
    beyond: Any = number(0)
    if name == "right_shift" and dtype_of(a).kind == "i":
        beyond = lib.where(lib.less(a, number(0)), number(-1), number(0))
    return lib.where(is_far, beyond, near)


INTEGER: dict[str, Callable[..., Any]] = {
    "floor_divide": _quotient,
    "remainder": _remainder,
    "fmod": _truncated,
    "power": _power,
    "left_shift": functools.partial(_shifted, "left_shift"),
    "right_shift": functools.partial(_shifted, "right_shift"),
}


def _det(a: Any) -> Any:
    """NumPy's det: CuPy's is made of the logarithm, which float32 has not digits enough for."""
    sign, size = library().linalg.slogdet(a if a.dtype.itemsize > 4 else a.astype(np.float64))
    return library().multiply(sign, library().exp(size)).astype(a.dtype)


# Functions of NumPy's `linalg` that CuPy lacks or means otherwise.
VALUES: dict[str, Callable[..., Any]] = {
    "det": _det,
    "svdvals": lambda a: library().linalg.svd(a, compute_uv=False),
}


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A factorisation that raises what NumPy's does: CuPy looks at cuSOLVER's answers where it is told to."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with cupyx().errstate(linalg="raise"):
            return function(*args, **kwargs)

    return run


def solve(a: Any, b: Any) -> Any:
    """NumPy's solve: CuPy's takes stacks of one shape alone."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = [library().broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b)]
    return library().linalg.solve(*both)
