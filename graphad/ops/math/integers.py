"""Quotients of arrays of integers in packed instructions."""

from __future__ import annotations

from typing import Any

import numpy as np


def whole_quotient(x: Any, y: Any, rounding: np.ufunc) -> Any:
    """x / y rounded to integers of their dtype by np.floor or np.trunc; None where float64 does not make it quicker.

    Of integers of 32 bits the quotient in float64 lies on the right side of every integer. Division is packed there, and for two
    arrays of integers it is not.
    """
    if not (
        type(x) is type(y) is np.ndarray and x.size > 1024 and x.dtype.kind in "iu" and x.dtype.itemsize <= 4
    ):
        return None
    quotient = np.divide(x, y, dtype=np.float64)
    return rounding(quotient, out=quotient).astype(np.int64).astype(x.dtype)
