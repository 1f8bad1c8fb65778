"""Reports on retracing: how often, which argument made a new trace necessary, and how to avoid it."""

from __future__ import annotations

import inspect
import weakref
from collections import deque
from typing import Any

from graphad.core.spec import TensorSpec
from graphad.function.signature import Literal, ObjectKey, Signature

_WINDOW, _TOO_MANY, _WARNINGS = 10, 5, 2


class History:
    """Which of the latest calls were traced, and how often a warning was logged."""

    __slots__ = ("recent", "warned")

    def __init__(self) -> None:
        self.recent: deque[bool] = deque(maxlen=_WINDOW)
        self.warned = 0

    def traced(self, quick_calls: int) -> int:
        """Record a call that was traced, after `quick_calls` calls that were not. Returns: The number of recent traces if a
        warning is due, else 0."""
        self.recent.extend([False] * min(quick_calls, _WINDOW))
        self.recent.append(True)
        traces = sum(self.recent)
        if traces < _TOO_MANY or self.warned >= _WARNINGS:
            return 0
        self.warned += 1
        return traces


_histories: weakref.WeakKeyDictionary[Any, History] = weakref.WeakKeyDictionary()


def history_of(function: Any) -> History:
    """One history for all functions with the same code, so that a function that is wrapped again for each call is noticed."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return History() if code is None else _histories.setdefault(code, History())


def made_anew(name: str) -> str:
    """The advice for a program that wraps its function anew for each call."""
    return f"{name}: it was wrapped anew before each call; make the function once, outside of the loop."


def difference(signature: Signature, old: Any, new: Any) -> str:
    """How two trace keys differ, and how to avoid it."""
    old_structure, old_leaves, old_slots, *old_pins = old
    new_structure, new_leaves, new_slots, *new_pins = new
    if old_structure != new_structure or len(old_leaves) != len(new_leaves):
        return "the structure of the arguments changed; pass the same containers every time."
    for a, b, name in zip(old_leaves, new_leaves, signature.leaf_names(new_structure), strict=True):
        if a == b:
            continue
        label = f"argument '{name}'"
        if isinstance(a, Literal) and not isinstance(b, ObjectKey):
            return f"{label} was {a!r}, is now {b!r}; pass a tensor if its value changes from call to call."
        if isinstance(a, TensorSpec) and isinstance(b, TensorSpec):
            if a.dtype is not b.dtype:
                return f"{label} had dtype {a.dtype.name}, has now {b.dtype.name}; cast it before the call."
            return (
                f"{label} had shape {a.shape}, has now {b.shape}; give an input_signature with None for the sizes that "
                "change, or set reduce_retracing=True."
            )
        return f"{label} is another object ({a!r}, {b!r}); make it once and pass the same one."
    if old_slots == new_slots and old_pins != new_pins:
        return "another variable is passed, and an optimizer keeps slots of its own for each; pass the same ones."
    return "the same variable is passed in other places than before."
