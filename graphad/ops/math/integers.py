"""Vectorised quotients of arrays of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def whole_quotient(x: Any, y: Any, rounding: np.ufunc) -> Array | None:
    """x / y rounded to integers of their dtype by np.floor or np.trunc; None where float64 does not make it faster.

    The float64 quotient of integers of up to 32 bits is never rounded across an integer. Division is vectorised in float64, and
    not for two arrays of integers.
    """
    if not (
        type(x) is type(y) is np.ndarray and x.size > 1024 and x.dtype.kind in "iu" and x.dtype.itemsize <= 4
    ):
        return None
    quotient = np.divide(x, y, dtype=np.float64)
    if rounding is not np.trunc:  # as the conversion does
        rounding(quotient, out=quotient)
    if x.dtype.kind == "u" or np.min(y, initial=0) >= 0:
        return quotient.astype(x.dtype)
    return quotient.astype(np.int64).astype(x.dtype)  # the least integer by -1 goes round
