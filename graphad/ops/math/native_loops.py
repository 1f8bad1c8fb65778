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


def many(name: str, *xs: Array) -> Array | None:
    """A function of `recipes.EAGER` of arrays in float32, if there are many numbers; None without such a loop."""
    size = 0
    for x in xs:
        if type(x) is not np.ndarray or x.dtype != np.float32 or not x.dtype.isnative:
            return None
        size = max(size, x.size)
    return by_native_loop(name, *xs) if size >= MANY else None


def natively(
    formula: Callable[..., Array], name: str, above: float | None = None, at_most: float | None = None
) -> Callable[..., Array]:
    """A formula, whose many numbers in float32 are computed by the loop of `recipes.EAGER` of this name.

    That is good for numbers `above` a bound and `at_most` another one, if there are bounds, of which NaN is outside; the formula
    computes the others.
    """

    def function(*xs: Array) -> Array:
        found = many(name, *xs)
        if found is None:
            return formula(*xs)
        for bound, holds, extreme in ((above, np.greater, np.minimum), (at_most, np.less_equal, np.maximum)):
            if bound is None:
                continue
            if all(holds(extreme.reduce(x, None), bound) for x in xs):
                continue
            inside = functools.reduce(np.logical_and, [holds(x, bound) for x in xs])
            others = np.flatnonzero(~np.broadcast_to(inside, found.shape))
            rest = [np.broadcast_to(x, found.shape).reshape(-1)[others] for x in xs]
            found.reshape(-1)[others] = formula(*rest)
        return found

    if formula.__module__ and formula.__module__.startswith("graphad."):
        function.__module__ = formula.__module__
    return function
