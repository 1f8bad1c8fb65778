"""Whether an array has other owners than the one that asks: by Python's count of references, where that can be trusted.

Who wants to write into the array of a handle takes it out of the handle first, and counts then: another thread that reads the
handle waits until the array is back. It gets the array before or after the change, and never one that changes in its hands.
Meanwhile the handle is of a class whose `data` waits, so that reading costs nothing more at any other time.
"""

from __future__ import annotations

import functools
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
    kind: Any = type(handle)
    slot = kind.data
    with _writing:
        taken = _Owner()
        taken.data = slot.__get__(handle)
        _taken[id(handle)] = taken
        handle.__class__ = _waiting(kind)
        try:
            slot.__delete__(handle)
            if not (is_alone(taken) and is_whole(taken.data)):
                taken.data = arrays.copy(taken.data)
            write(taken.data)
        finally:
            slot.__set__(handle, taken.data)
            handle.__class__ = kind
            del _taken[id(handle)]


@functools.cache
def _waiting(kind: type) -> type:
    """The class of such handles while they are written into."""
    return type(kind)(
        kind.__name__,
        (kind,),
        {"__slots__": (), "__module__": kind.__module__, "data": property(_read_later, _set_later)},
    )


def _read_later(handle: Any) -> Any:
    with _writing:
        taken = _taken.get(id(handle))
        # The thread that writes is here only in a signal's handler or a finalizer.
        return handle.data if taken is None else arrays.copy(taken.data)


def _set_later(handle: Any, value: Any) -> None:
    with _writing:
        taken = _taken.get(id(handle))
        if taken is None:
            handle.data = value
        else:
            taken.data = value
