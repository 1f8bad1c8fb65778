"""One thread at a time makes a thing, again and again if making it needs it once more; and no circle of threads waits for
itself.

While a function is traced its Python code runs: it may call other functions, start threads and wait for them. One lock for
all of that would let such a thread wait for ever; one lock for each thing would let two threads do so that make two things
which need each other. So a turn knows who has it, and who would close a circle by waiting goes ahead beside the other. Both
then make the same thing, and what is committed first is kept.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

from graphad.core import forks

T = TypeVar("T")


class Turn:
    """The right to make one thing."""

    __slots__ = ("__weakref__", "_depth", "_owner")

    def __init__(self) -> None:
        self._owner: int | None = None
        self._depth = 0
        _turns.add(self)

    def take(self, make: Callable[[], T]) -> T:
        """What `make` gives, which is called in the turn of this thread.

        Whenever an interrupt comes, the turn is given back: also before the first step of what gives it back.
        """
        depth = self._depth if self._owner == get_ident() else 0
        try:
            try:
                self._begin()
                return make()
            finally:
                self._end(depth)
        except BaseException:
            self._end(depth)
            raise

    def _begin(self) -> None:
        me = get_ident()
        with _lock:
            while self._owner is not None and self._owner != me:
                if self._leads_to(me):
                    return
                _waiting[me] = self
                try:
                    _changed.wait()
                finally:
                    del _waiting[me]
            self._owner = me
            self._depth += 1

    def _end(self, depth: int) -> None:
        """Go back to a depth of before; nothing is done the second time, or if the thing was made beside another thread."""
        with _lock:
            if self._owner == get_ident():
                self._depth = depth
                if not depth:
                    _changed.notify_all()  # they go on once this one has left the lock
                    self._owner = None

    def _leads_to(self, thread: int) -> bool:
        """Whether the thread that has the turn waits, directly or through other threads, for a turn that `thread` has."""
        turn: Turn | None = self
        while turn is not None:
            owner = turn._owner
            if owner == thread:
                return True
            turn = None if owner is None else _waiting.get(owner)
        return False


_turns: weakref.WeakSet[Turn] = weakref.WeakSet()
_waiting: dict[int, Turn] = {}  # thread -> the turn that it waits for
_lock = (
    forks.rlock()
)  # taken itself: an interrupt may come before the first step of the `__exit__` of a condition
_changed = threading.Condition(_lock)


@forks.in_child
def _keep_own() -> None:
    """In a forked child: the other threads do not exist, so their turns are free."""
    global _lock, _changed
    _lock = forks.rlock()
    _changed = threading.Condition(_lock)
    _waiting.clear()
    me = get_ident()
    for turn in tuple(_turns):
        if turn._owner != me:
            turn._owner, turn._depth = None, 0
