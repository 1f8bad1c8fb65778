"""IEEE arithmetic, whatever NumPy and Python were told to do about its flags.

1/0, log(0) and overflow have an answer (inf or nan), in compiled code as in eager ops. But NumPy reports them: as warnings, which
a program may have turned into errors, or, after `np.seterr(all="raise")`, as errors. `np.errstate` around every eager op
would cost more than the op, so an op is computed as it is, and once more without reports if a report has ended it:

    try:
        y = formula(x)
    except REPORTED:
        y = unreported(formula, x)

A `try` that nothing ends costs nothing. Many ops in a row, as in a run of a graph, are between `hush` and `unhush`, which do what
`np.errstate(all="ignore")` does at its two ends, in a seventh of the time: NumPy keeps its settings in a context variable, and
what that holds while all is ignored is looked up once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

# What ends a NumPy call that set a flag: np.seterr(...="raise"), or a warning that a filter made an error.
REPORTED = (FloatingPointError, RuntimeWarning)
# What ends the short way of an op, after which the usual way says what is wrong or computes it unreported: shapes that
# do not broadcast, a number that the dtype does not hold, a result that memory does not hold, a report.
SHORT_WAY_ENDS = (ValueError, OverflowError, MemoryError, *REPORTED)


def _ends() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    with np.errstate(all="ignore"):
        for variable, ignoring in copy_context().items():
            if variable.name == "numpy.ufunc.extobj":
                return functools.partial(variable.set, ignoring), variable.reset
    return _enter, _leave


def _enter() -> Any:
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def _leave(state: Any) -> None:
    state.__exit__()


# From `token = hush()` to `unhush(token)`, in a `finally` of the same context, the flags are ignored.
hush, unhush = _ends()


def unreported(f: Callable[..., Any], *values: Any) -> Any:
    """f(*values), with the flags ignored. Only for functions that can be called again after they were ended."""
    token = hush()
    try:
        return f(*values)
    finally:
        unhush(token)
