"""Functions of NumPy's that CuPy lacks or means otherwise, made of CuPy's own.

Of integers, what CuPy leaves to C++ (a division by 0, of the lowest number by -1, shifts by the width and more) is NumPy's here.
CuPy's remainders of floats come from a rounded division, which for large quotients has no digits of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphad.devices.library import cupyx, library

if TYPE_CHECKING:
    from graphad.devices.interface import Function, Held, Operand

T = TypeVar("T")


def dtype_of(x: Operand) -> np.dtype:
    """The dtype of an array of any library."""
    found: np.dtype = np.dtype(x.dtype)
    return found


def replaced(name: str, inputs: Sequence[Operand]) -> Function | None:
    """The function that computes a ufunc of these operands if CuPy's result would differ from NumPy's."""
    dtypes = {dtype_of(x) for x in inputs if hasattr(x, "dtype")}
    kinds = {dtype.kind for dtype in dtypes}
    if kinds == {"f"}:
        return FLOATING.get(name)
    is_one = len(dtypes) == 1 and kinds <= {"i", "u"} and all(hasattr(x, "dtype") for x in inputs)
    return INTEGER.get(name) if is_one else None


def _quotient(a: Operand, b: Operand) -> Held:
    lib, number = library(), dtype_of(b).type
    a, b = lib.asarray(a), lib.asarray(b)
    is_none = lib.equal(b, number(0))
    if dtype_of(b).kind == "u":
        return lib.where(is_none, number(0), lib.floor_divide(a, lib.where(is_none, number(1), b)))
    is_turned = lib.equal(b, number(-1))
    y = lib.floor_divide(a, lib.where(lib.logical_or(is_none, is_turned), number(1), b))
    return lib.where(is_none, number(0), lib.where(is_turned, lib.negative(a), y))


def _remainder(a: Operand, b: Operand) -> Held:
    lib = library()
    a, b = lib.asarray(a), lib.asarray(b)
    rest = lib.subtract(a, lib.multiply(_quotient(a, b), b))
    return lib.where(lib.equal(b, dtype_of(b).type(0)), dtype_of(b).type(0), rest)


def _truncated(a: Operand, b: Operand) -> Held:
    """The remainder with the sign of the dividend."""
    lib, zero = library(), dtype_of(b).type(0)
    a, b = lib.asarray(a), lib.asarray(b)
    rest = _remainder(a, b)
    is_other = lib.logical_and(lib.not_equal(rest, zero), lib.not_equal(lib.less(a, zero), lib.less(b, zero)))
    return lib.where(is_other, lib.subtract(rest, b), rest)


def _power(a: Operand, b: Operand) -> Held:
    """Raises: ValueError: an exponent is negative, of which CuPy makes 0."""
    lib = library()
    a, b = lib.asarray(a), lib.asarray(b)
    if dtype_of(b).kind == "i" and b.size and lib.asnumpy(b.min()) < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return lib.power(a, b)


def _shifted(name: str, a: Operand, by: Operand) -> Held:
    lib, number = library(), dtype_of(by).type
    shift: Function = getattr(lib, name)
    if isinstance(by, np.generic) and 0 <= int(by) < 8 * by.itemsize:
        return shift(a, by)
    a, by = lib.asarray(a), lib.asarray(by)
    most = number(8 * a.dtype.itemsize - 1)
    is_far = lib.logical_or(lib.less(by, number(0)), lib.greater(by, most))
    near = shift(a, lib.where(is_far, number(0), by))
    beyond: Operand = number(0)
    if name == "right_shift" and dtype_of(a).kind == "i":
        beyond = lib.where(lib.less(a, number(0)), number(-1), number(0))
    return lib.where(is_far, beyond, near)


INTEGER: dict[str, Function] = {
    "floor_divide": _quotient,
    "remainder": _remainder,
    "fmod": _truncated,
    "power": _power,
    "left_shift": functools.partial(_shifted, "left_shift"),
    "right_shift": functools.partial(_shifted, "right_shift"),
}


def _float_parts(a: Operand, b: Operand) -> tuple[Operand, Operand, Held, Held]:
    """The operands as numbers of one dtype, their remainder with the sign of a, and where it has not the sign of b."""
    lib, dtype = library(), next(dtype_of(x) for x in (a, b) if hasattr(x, "dtype"))
    a, b = (x if hasattr(x, "dtype") else dtype.type(x) for x in (a, b))
    rest = lib.fmod(a, b)
    return (
        a,
        b,
        rest,
        lib.logical_and(lib.not_equal(rest, 0), lib.not_equal(lib.less(rest, 0), lib.less(b, 0))),
    )


def _float_remainder(a: Operand, b: Operand) -> Held:
    """The exact remainder, with the sign of the divisor."""
    lib = library()
    a, b, rest, is_other = _float_parts(a, b)
    none = lib.copysign(dtype_of(b).type(0), b)
    return lib.where(lib.equal(rest, 0), none, lib.where(is_other, lib.add(rest, b), rest))


def _float_quotient(a: Operand, b: Operand) -> Held:
    """The whole quotient to the remainder: that of a rounded division may be one more."""
    lib = library()
    a, b, rest, is_other = _float_parts(a, b)
    plain, y = lib.divide(a, b), lib.divide(lib.subtract(a, rest), b)
    y = lib.where(is_other, lib.subtract(y, dtype_of(y).type(1)), y)
    below = lib.floor(y)
    near = lib.where(lib.greater(lib.subtract(y, below), 0.5), lib.add(below, dtype_of(y).type(1)), below)
    y = lib.where(lib.equal(y, 0), lib.copysign(dtype_of(y).type(0), plain), near)
    return lib.where(lib.equal(b, 0), plain, y)


# Of floats.
FLOATING: dict[str, Function] = {"remainder": _float_remainder, "floor_divide": _float_quotient}


_FAR, _TERMS = 50.0, 12


def _scaled(name: str, order: int, sign: float, x: Operand) -> Held:
    """A modified Bessel function without its exponential; CuPy multiplies 0 by infinity there where the exponential overflows.

    For large numbers this is the asymptotic series, of which so many terms suffice from `_FAR` on.
    """
    lib, size = library(), library().absolute(x)
    is_far = lib.greater(size, _FAR) if sign < 0 else lib.greater(x, _FAR)
    near = getattr(cupyx().scipy.special, name)(lib.where(is_far, x.dtype.type(1), x))
    over = lib.divide(x.dtype.type(1), lib.where(is_far, size, x.dtype.type(_FAR)))
    factors, term = [], 1.0
    for k in range(_TERMS):
        factors.append(term)
        term *= sign * (4.0 * order * order - (2 * k + 1) ** 2) / (8.0 * (k + 1))
    total = lib.full_like(over, factors[-1])
    for factor in factors[-2::-1]:
        total = lib.add(lib.multiply(total, over), x.dtype.type(factor))
    root = lib.sqrt(lib.multiply(over, x.dtype.type(0.5 / math.pi if sign < 0 else 0.5 * math.pi)))
    far = lib.multiply(total, root)
    return lib.where(is_far, lib.copysign(far, x) if order and sign < 0 else far, near)


# Functions of SciPy's.
SCALED: dict[str, Function] = {
    "i0e": functools.partial(_scaled, "i0e", 0, -1.0),
    "i1e": functools.partial(_scaled, "i1e", 1, -1.0),
    "k0e": functools.partial(_scaled, "k0e", 0, 1.0),
    "k1e": functools.partial(_scaled, "k1e", 1, 1.0),
}


def _det(a: Operand) -> Operand:
    """NumPy's det: CuPy's is made of the logarithm, which float32 has not digits enough for."""
    sign, size = library().linalg.slogdet(a if a.dtype.itemsize > 4 else a.astype(np.float64))
    return library().multiply(sign, library().exp(size)).astype(a.dtype)


# Functions of NumPy's `linalg` that CuPy lacks or means otherwise.
VALUES: dict[str, Callable[..., Operand]] = {
    "det": _det,
    "svdvals": lambda a: library().linalg.svd(a, compute_uv=False),
}


def checked(function: Callable[..., T]) -> Callable[..., T]:
    """A factorisation that raises what NumPy's does: CuPy looks at cuSOLVER's answers where it is told to."""

    def run(*args: Any, **kwargs: Any) -> T:
        with cupyx().errstate(linalg="raise"):
            return function(*args, **kwargs)

    return run


def solve(a: Operand, b: Operand) -> Held:
    """NumPy's solve: CuPy's takes stacks of one shape alone."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    both = [library().broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b)]
    return library().linalg.solve(*both)
