"""Whether an array has other owners than the caller: by Python's reference count, on interpreters where it is exact.

To write into the array of a handle, a thread first takes the array out of the handle, and then counts its references. Another
thread that reads the handle meanwhile waits until the array is back. So it gets the array as it is before or after the change,
never an array that is being changed. The handle has meanwhile a class whose `data` waits, so that reads at other times cost
nothing more.
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


_writing = forks.awaited()  # a child forked now would have a half-written array
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
        # The writing thread itself reads the handle only in a signal handler or a finalizer.
        return handle.data if taken is None else arrays.copy(taken.data)


def _set_later(handle: Any, value: Any) -> None:
    with _writing:
        taken = _taken.get(id(handle))
        if taken is None:
            handle.data = value
        else:
            taken.data = value
