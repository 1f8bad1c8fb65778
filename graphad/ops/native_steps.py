"""Large arrays of eager code by the steps of compiled code, which have the same bits and take a fraction of NumPy's time.

Loading the steps takes as long as NumPy takes for some millions of numbers. So they are taken once as many have come by, or at
once where the program has loaded the runtime of compiled code for something else.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.errors import UnavailableError

_MANY = 4096  # numbers, for which the call of a step pays
_MUCH = 1 << 22  # numbers, for which loading the steps pays
_RUNTIME = "graphad.compiler.cpu.runtime.driver"
_left = _MUCH  # of these; threads that change it at once only move the moment


@functools.cache
def _steps() -> Any:
    return importlib.import_module("graphad.compiler.cpu.eager")


def pays(numbers: int) -> bool:
    """Whether the runtime of compiled code is loaded, or enough numbers have come by with these."""
    global _left
    if _left > 0:
        if _RUNTIME not in sys.modules:
            _left -= numbers
            return False
        _left = 0
    return True


def are_few(numbers: int) -> bool:
    """Whether `by_step` gives nothing for so few numbers, whatever the form."""
    return numbers < _MANY


def by_step(form: Any, operands: Sequence[Any], shape: Sequence[int], dtype: Any, numbers: int) -> Any:
    """What the step of a form computes of NumPy arrays; None where the usual way must be taken.

    Args:
      form: One of `kernels.forms`, as the op's `lower` gives it.
      operands: The arrays, as the form wants them.
      shape, dtype: Of the result.
      numbers: How many numbers the op reads or writes.
    """
    if numbers < _MANY or any(type(x) is not np.ndarray or not x.dtype.isnative for x in operands):
        return None
    if not pays(numbers):
        return None
    try:
        return _steps().evaluated(form, operands, shape, dtype)
    except (UnavailableError, ImportError):
        return None


@functools.cache
def _recurring() -> Any:
    return importlib.import_module("graphad.compiler.cpu.runtime.recurring")


def recurrence_by_loop(a: Any, b: Any, axis: int, backwards: bool, shifted: bool) -> np.ndarray | None:
    """A linear recurrence of many floats, as `recurring.recurrence`; None where the usual way must be taken."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.dtype != b.dtype:
        return None
    if a.dtype.char not in "fd" or not a.dtype.isnative or a.size < max(_MANY, 1) or not pays(a.size):
        return None
    try:
        made: np.ndarray = _recurring().recurrence(a, b, axis, backwards, shifted)
    except (UnavailableError, ImportError):
        return None
    return made
