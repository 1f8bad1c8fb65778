"""Formulas that SciPy computes, with others for part of their domain, and for many numbers on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.ops import library
from graphad.ops.choice import chosen

if TYPE_CHECKING:
    from types import ModuleType

    from graphad.core.annotations import Array


def of_scipy(
    function: Callable[[Any], Callable[..., Any]], operands: int = 1, in_float64: bool = False
) -> Callable[..., Any]:
    """A formula that SciPy computes, in float32 for half-precision operands.

    Args:
      function: Maps the module `scipy.special` to the function.
      operands: The number of operands, given here so that SciPy need not be imported to find it out.
      in_float64: Whether SciPy computes float32 in float32, with few of its digits, so that it is given float64.
    """
    least, narrow = (8, np.float64) if in_float64 else (4, np.float32)

    def formula(x: Any, *rest: Any) -> Any:
        dtype = x.dtype
        wide = [y.astype(narrow) if y.dtype.itemsize < least else y for y in (x, *rest)]
        with np.errstate(all="ignore"):
            y = function(library.special())(*wide)
        return y if y.dtype is dtype else y.astype(dtype)

    formula.is_wide = True  # type: ignore[attr-defined]
    formula.nin = operands  # type: ignore[attr-defined]
    return formula


def but(
    source: str,
    near: Callable[[Any], Any],
    formula: Callable[[Any], Any],
    place: int | None = None,
    in_float32: bool = True,
    by_float64: bool = False,
) -> Any:
    """SciPy's function, replaced by a formula of `series` on part of its domain.

    Args:
      near: Gives the mask of the arguments for which the formula is used.
      place: The index of the result, if the function has several.
      in_float32: Whether it is used in float32 too; not where SciPy, which computes in float64, is off by some of its units.
      by_float64: Whether float32 is widened for SciPy, releases of which compute it in float32 and lose its last digits.
    """

    def of_special(special: ModuleType) -> Callable[..., Any]:
        function_of_scipy = getattr(special, source)

        def function(x: Array) -> Any:
            if by_float64 and x.dtype.char == "f":
                return function(x.astype(np.float64)).astype(np.float32)
            found = function_of_scipy(x) if place is None else function_of_scipy(x)[place]
            if not in_float32 and x.dtype.itemsize < 8:
                return found
            y = arrays.as_array(found)
            mask = arrays.as_array(near(x))
            if mask.any():
                y = arrays.copy(y)
                wide = arrays.of_dtype(x, np.float64)[mask]
                y[mask] = formula(wide) if place is None else formula(wide)[place]
            return y if y.ndim else y[()]

        return function

    return of_special


def ended(
    source: str, near: Callable[[Any], Any], formula: Callable[[Any], Any], end: Callable[[Any], Any]
) -> Any:
    """As `but`, and at infinities another formula: the limit."""

    def ending(x: Array) -> Array:
        ends = np.isinf(x)
        return chosen(ends, end(x), formula(chosen(ends, 1.0, x)))

    return but(source, lambda x: near(x) | np.isinf(x), ending)


_LEAST = 1e-30  # half of it is a float32
_FEW = 256  # numbers, for which the passes of a series take longer than SciPy's loop


def here_or(here: Callable[[Any], Any], by_library: Callable[..., Any], is_odd: bool) -> Callable[..., Any]:
    """A formula of NumPy's for the CPU, and on a device what its library has in one kernel.

    So is SciPy's of few numbers in float32, whose digits it has in less time, but for 0 and its neighbours.
    """

    def formula(x: Any) -> Any:
        if not isinstance(x, np.ndarray | np.generic):
            return by_library(x)
        if x.dtype.char == "f" and 0 < x.size <= _FEW and library.special_if_there() is not None:
            if not is_odd or np.minimum.reduce(np.abs(x), None) > _LEAST:
                return by_library(x)
        return here(x)

    return formula
