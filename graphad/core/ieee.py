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
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np

# What interrupts a NumPy call that sets a flag: np.seterr(...="raise"), or a warning that a filter turns into an error.
REPORTED = (FloatingPointError, RuntimeWarning)
# What ends the short way of an op: shapes that do not broadcast, a number outside the dtype, too little memory, a reported flag.
# The usual way then raises the proper error or computes without reports.
SHORT_WAY_ENDS = (ValueError, OverflowError, MemoryError, *REPORTED)


def _variable() -> tuple[ContextVar[Any], Any, Any] | None:
    """The context variable with NumPy's settings, and their value for `hush` and for `guard`; None if it is not found."""

    def found() -> dict[str, tuple[ContextVar[Any], Any]]:
        return {variable.name: (variable, setting) for variable, setting in copy_context().items()}

    name = "numpy.ufunc.extobj"
    with np.errstate(all="ignore"):
        hushed = found().get(name)
    with np.errstate(all="ignore", over="raise"):
        guarded = found().get(name)
    return None if hushed is None or guarded is None else (*hushed, guarded[1])


def _ends(found: tuple[ContextVar[Any], Any, Any] | None) -> tuple[Callable[..., Any], ...]:
    """`heard`, `hush`, `guard` and `unhush`, by the context variable if there is one."""
    if found is not None:
        variable, hushed, guarded = found
        return (
            variable.get,
            functools.partial(variable.set, hushed),
            functools.partial(variable.set, guarded),
            variable.set,
        )
    return (
        np.geterr,
        functools.partial(np.seterr, all="ignore"),
        functools.partial(np.seterr, all="ignore", over="raise"),
        lambda settings: np.seterr(**settings),
    )


# What NumPy does about flags is asked for with `heard` before a `try`, in which `hush` has the flags ignored, or `guard` has an
# overflow raise FloatingPointError and the others ignored; `unhush` in its `finally`, in the same context, puts back what was
# heard. An exception of a signal may come behind any of the calls, also the first: the settings are put back in any case.
heard, hush, guard, unhush = _ends(_variable())


def unreported(f: Callable[..., Any], *values: object, **options: object) -> Any:
    """f(*values, **options), with the flags ignored."""
    settings = heard()
    try:
        hush()
        return f(*values, **options)
    finally:
        unhush(settings)
