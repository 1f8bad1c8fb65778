"""Functions of many numbers by the compiler's loops in float64, which round float32 once, at the end: the result has the bits of
any other way to some sixteen digits, in a fraction of the time; see decisions 81 and 120.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.errors import UnavailableError
from graphad.ops import native_steps

Array = Any
MANY = 4096  # elements from which a native loop pays for its call


@functools.cache
def _loops() -> Any:
    return importlib.import_module("graphad.compiler.cpu.runtime.mapping")


def by_native_loop(name: str, *xs: Array) -> Array | None:
    """The function of many numbers of arrays in float32 or float64; None without llvmlite and code in the cache."""
    try:
        return _loops().mapped(name, *xs)
    except (UnavailableError, ImportError):
        return None


def many(name: str, *xs: Array, is_light: bool = False) -> Array | None:
    """A function of `recipes.EAGER` of arrays in float32, if there are many numbers; None without such a loop.

    Args:
      is_light: Whether NumPy's function takes some nanoseconds for a number, so that loading the loops pays for millions alone.
    """
    size = 0
    for x in xs:
        if type(x) is np.ndarray:
            size = max(size, x.size)
            if x.dtype.char != "f" or not x.dtype.isnative:
                return None
        elif type(x) is not np.float32:
            return None
    if size < MANY or (is_light and not native_steps.pays(size)):
        return None
    return by_native_loop(name, *xs)


def natively(
    formula: Callable[..., Any],
    name: str,
    where: Callable[..., Array] | None = None,
    is_light: bool = False,
    operands: int = 1,
) -> Callable[..., Any]:
    """A formula, whose many numbers in float32 are computed by the loop of `recipes.EAGER` of this name.

    Args:
      where: Gives for which arguments the loop is good, if not for all; the formula computes the others.
      is_light: As in `many`.
      operands: One or two.
    """

    def of_many(*xs: Array) -> Array:
        found = many(name, *xs, is_light=is_light)
        if found is None:
            return formula(*xs)
        if where is not None:
            good = where(*xs)
            if not good.all():
                others = np.flatnonzero(~np.broadcast_to(good, found.shape))
                rest = [np.broadcast_to(x, found.shape).reshape(-1)[others] for x in xs]
                found.reshape(-1)[others] = formula(*rest)
        return found

    def of_one(x: Array) -> Array:
        return of_many(x) if x.size >= MANY else formula(x)

    def of_two(x: Array, y: Array) -> Array:
        return of_many(x, y) if x.size >= MANY or y.size >= MANY else formula(x, y)

    function: Any = of_two if operands == 2 else of_one
    vars(function).update(getattr(formula, "__dict__", {}))
    # Ufuncs of NumPy before 2.2 have none.
    if (getattr(formula, "__module__", None) or "").startswith("graphad."):
        function.__module__ = formula.__module__
    wrapped: Callable[..., Any] = function
    return wrapped


def is_positive(x: Array) -> Array:
    return x > 0
