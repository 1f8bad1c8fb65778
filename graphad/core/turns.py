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
from threading import get_ident
from types import TracebackType

from graphad.core import forks


class Turn:
    """The right to make one thing, as a context."""

    __slots__ = ("__weakref__", "_depth", "_owner")

    def __init__(self) -> None:
        self._owner: int | None = None
        self._depth = 0
        _turns.add(self)

    def __enter__(self) -> None:
        me = get_ident()
        with _changed:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _changed:
            if self._owner == get_ident():  # else it was made beside another thread
                self._depth -= 1
                if not self._depth:
                    self._owner = None
                    _changed.notify_all()

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
_changed = threading.Condition(forks.rlock())


@forks.in_child
def _keep_own() -> None:
    """In a forked child: the other threads do not exist, so their turns are free."""
    global _changed
    _changed = threading.Condition(forks.rlock())
    _waiting.clear()
    me = get_ident()
    for turn in tuple(_turns):
        if turn._owner != me:
            turn._owner, turn._depth = None, 0
