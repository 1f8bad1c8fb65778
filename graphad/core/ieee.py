"""IEEE arithmetic, whatever NumPy and Python are set to do about floating point flags.

1/0, log(0) and overflow have an answer (inf or nan), in compiled code as in eager ops. But NumPy reports them: as warnings, which
a program may have turned into errors, or, after `np.seterr(all="raise")`, as errors. `np.errstate` around every eager op
would cost more than the op, so an op is computed directly, and computed again without reports if a report interrupts it:

    try:
        y = formula(x)
    except REPORTED:
        y = unreported(formula, x)

A `try` without an exception costs nothing. A sequence of ops, such as a run of a graph, is put between `hush` and `unhush`.
They do what entering and leaving `np.errstate(all="ignore")` does, in a seventh of the time: NumPy keeps its settings in a
context variable, and its value while everything is ignored is looked up once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np

# What interrupts a NumPy call that sets a flag: np.seterr(...="raise"), or a warning that a filter turns into an error.
REPORTED = (FloatingPointError, RuntimeWarning)
# What ends the short way of an op: shapes that do not broadcast, a number outside the dtype, too little memory, a reported flag.
# The usual way then raises the proper error or computes without reports.
SHORT_WAY_ENDS = (ValueError, OverflowError, MemoryError, *REPORTED)


def _entry(**flags: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """What enters and leaves `np.errstate(**flags)`."""
    with np.errstate(**flags):
        for variable, setting in copy_context().items():
            if variable.name == "numpy.ufunc.extobj":
                return functools.partial(variable.set, setting), variable.reset
    return functools.partial(_enter, flags), _leave


def _enter(flags: dict[str, Any]) -> Any:
    state = np.errstate(**flags)
    state.__enter__()
    return state


def _leave(state: Any) -> None:
    state.__exit__()


# From `token = hush()` to `unhush(token)`, in a `finally` of the same context, the flags are ignored; from `guard()` to
# `unhush(token)` an overflow raises FloatingPointError, and the others are ignored.
hush, unhush = _entry(all="ignore")
guard = _entry(all="ignore", over="raise")[0]


def unreported(f: Callable[..., Any], *values: object, **options: object) -> Any:
    """f(*values, **options), with the flags ignored."""
    token = hush()
    try:
        return f(*values, **options)
    finally:
        unhush(token)
