"""Special functions of our own, computed by the compiled loops of SciPy where it is installed and has the digits.

A series in NumPy makes some twenty passes, each of which costs a microsecond for a few elements; SciPy has one loop. Mostly it
computes float32 in float64, so that results in float32 have all their digits except close to zeros of the function.

For many elements the compiler's loops, where it has the function, take a third of that time (`native_loops`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.ops import library
from graphad.ops.math import native_loops, series

Array = Any


def by_loop(
    formula: Callable[[Array], Array],
    name: str,
    where: Callable[[Array], Array] | None = None,
    least: float = 0.0,
    in_float64: bool = False,
    on_device: str | None = None,
    in_native_loops: bool = False,
) -> Callable[[Array], Array]:
    """A formula of an array of any float dtype: SciPy's function, and `formula` for the elements where that lost digits.

    Without SciPy, and on a device that has no function of this name, it is `formula` for all elements.

    Args:
      formula: As `series.of_array` wants it.
      name: Of SciPy's function.
      where: Gives for arguments in float32 or float64 where SciPy's function is good; None for everywhere.
      least: For arguments below 0, results below this in size are close to a zero, where SciPy's function has lost digits.
      in_float64: Whether SciPy computes float32 in float32, so that it is given float64.
      in_native_loops: Whether the compiler has a function of this name.
      on_device: The name of the function of a device's library, if there is one.
    """

    least_size = 8 if in_float64 else 4

    def function(x: Array) -> Array:
        if in_native_loops and type(x) is np.ndarray and x.size >= native_loops.MANY:
            is_wide = x.dtype.char in "fd" and x.dtype.isnative
            found = native_loops.by_native_loop(name, x if is_wide else x.astype(np.float32))
            if found is not None:
                return found if is_wide else found.astype(x.dtype)
        special = library.special_if_there() if isinstance(x, np.ndarray | np.generic) else None
        if special is None:
            return series.of_array(formula, x, on_device)
        given = x if x.dtype.itemsize >= least_size else x.astype(np.float64 if in_float64 else np.float32)
        loop = getattr(special, name)
        with np.errstate(all="ignore"):
            good = None if where is None else where(given)
            if good is None or good.all():
                y, good = loop(given), True
            else:
                y = loop(np.where(good, given, given.dtype.type(1)))
            if least:
                good = good & ((given > 0) | (np.abs(y) >= least))
            if good is not True:
                others = np.flatnonzero(np.logical_not(good))
                if others.size:
                    wide = arrays.as_array(given).reshape(-1)[others].astype(np.float64)
                    y = np.array(y, order="C")
                    y.reshape(-1)[others] = series.of_array(formula, wide)
                    y = y if y.ndim else y[()]
        return y if y.dtype is x.dtype else y.astype(x.dtype)

    return function
