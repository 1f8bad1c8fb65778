"""Whether an array has other owners than the one that asks: by Python's count of references, where that can be trusted.

Who wants to write into the array of a handle takes it out of the handle first, and counts then: another thread that reads the
handle waits until the array is back. It gets the array before or after the change, and never one that changes in its hands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graphad.core import arrays, forks

# Without a GIL the count is not exact.
COUNTS_ARE_EXACT = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


def _count(owner: Any, attribute: str) -> int:
    """The references to an attribute, those of this call included: how many those are depends on Python's version."""
    return sys.getrefcount(getattr(owner, attribute))


class _Owner:
    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data: Any = object()


_ALONE = _count(_Owner(), "data")


def is_alone(owner: Any, attribute: str = "data") -> bool:
    """Whether nothing refers to the object in an attribute but `owner`."""
    return COUNTS_ARE_EXACT and _count(owner, attribute) == _ALONE


_writing = forks.awaited()  # a forked child would have half of what is written
_taken: dict[int, _Owner] = {}  # the array that is being written into, by the identity of its handle


def rewrite(handle: Any, is_whole: Callable[[Any], bool], write: Callable[[Any], None]) -> None:
    """Let `write` change the array `handle.data`, or a copy that takes its place if the array has another owner.

    Args:
      handle: A `Handle` whose guard the caller holds.
      is_whole: Whether an array has memory of its own that may be written.
      write: Changes the array that it is given. It reads neither the handle nor another one.
    """
    with _writing:
        taken = _Owner()
        taken.data = handle.data
        _taken[id(handle)] = taken
        try:
            del handle.data
            if not (is_alone(taken) and is_whole(taken.data)):
                taken.data = arrays.copy(taken.data)
            write(taken.data)
        finally:
            handle.data = taken.data
            del _taken[id(handle)]


def after_writing(handle: Any, read: Callable[[Any], Any]) -> Any:
    """The array of a handle that had none a moment ago: what `read` gives of it as soon as nobody writes.

    Raises: AttributeError: the handle was never given an array.
    """
    with _writing:
        taken = _taken.get(id(handle))
        # The thread that writes is here only in a signal's handler or a finalizer.
        return read(handle) if taken is None else arrays.copy(taken.data)
