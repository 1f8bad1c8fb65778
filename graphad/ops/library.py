"""SciPy, which computes some ops: imported when the first of them runs; if it is missing, the error names it and the function."""

from __future__ import annotations

from typing import Any

from graphad.core.errors import UnavailableError
from graphad.core.frames import called_function


def special() -> Any:
    """`scipy.special`."""
    try:
        import scipy.special
    except ImportError as cause:
        raise _missing() from cause
    return scipy.special


def special_if_there() -> Any:
    """`scipy.special`, or None: for what series compute too, more slowly."""
    try:
        import scipy.special
    except ImportError:
        return None
    return scipy.special


def linalg() -> Any:
    """`scipy.linalg`."""
    try:
        import scipy.linalg
    except ImportError as cause:
        raise _missing() from cause
    return scipy.linalg


def blas() -> Any:
    """`scipy.linalg.blas`, or None: for what NumPy computes too, more slowly."""
    try:
        import scipy.linalg.blas
    except ImportError:
        return None
    return scipy.linalg.blas


def lapack() -> Any:
    """`scipy.linalg.lapack`, or None: for what NumPy computes too, more slowly."""
    try:
        import scipy.linalg.lapack
    except ImportError:
        return None
    return scipy.linalg.lapack


def sparse() -> Any:
    """`scipy.sparse`, or None: for what ops of dense tensors compute too, more slowly."""
    try:
        import scipy.sparse
    except ImportError:
        return None
    return scipy.sparse


def fft() -> Any:
    """`scipy.fft`."""
    try:
        import scipy.fft
    except ImportError as cause:
        raise _missing() from cause
    return scipy.fft


def optimize() -> Any:
    """`scipy.optimize`."""
    try:
        import scipy.optimize
    except ImportError as cause:
        raise _missing() from cause
    return scipy.optimize


def stats() -> Any:
    """`scipy.stats`."""
    try:
        import scipy.stats
    except ImportError as cause:
        raise _missing() from cause
    return scipy.stats


def _missing() -> UnavailableError:
    who = called_function()
    what = "this op is" if who is None else f"{who} is"
    return UnavailableError(
        f"{what} computed by SciPy, which is not installed; install `graphad[scipy]` or `scipy`."
    )
