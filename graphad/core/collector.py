"""Pauses Python's garbage collector while many objects are created and none are dropped.

Tracing and planning a graph of thousands of nodes creates tens of thousands of tuples, all of which stay alive. The collector
would walk them again and again and take as long as the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import get_ident
from types import TracebackType
from typing import TypeVar

from graphad.core import forks

T = TypeVar("T")
_lock = forks.rlock()
_depths: dict[int, int] = {}  # thread -> how many blocks it is in
_was_on = False  # whether it goes on again once no thread is in a block


class Held:
    """A context in which the collector is off; any number of threads may be in one. What an interrupt may end is `paused`."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _was_on
        me = get_ident()
        with _lock:
            if not _depths:
                _was_on = _was_on or gc.isenabled()
            _depths[me] = _depths.get(me, 0) + 1
            gc.disable()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        me = get_ident()
        with _lock:
            depth = _depths.pop(me, 1) - 1
            if depth:
                _depths[me] = depth
            else:
                _turn_on()


def settle() -> None:
    """Put all objects of now, without a look at them, where the collector keeps those that have lived long.

    For a moment at which nearly all of them stay, such as the end of an import: otherwise the collector's first pass walks each
    of them, which takes a fifth of the time of `import graphad`.
    """
    # What the program has frozen would be thawed; Python 3.12 has frozen some objects of its own, so that nothing is done there.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def paused(work: Callable[[], T]) -> T:
    """What `work` gives, which runs while the collector is off.

    Whenever an interrupt comes, the collector is as it was: also before the first step of what turns it on.
    """
    depth = _depths.get(get_ident(), 0)
    try:
        try:
            held.__enter__()
            return work()
        finally:
            _back_to(depth)
    except BaseException:
        _back_to(depth)
        raise


def _back_to(depth: int) -> None:
    """Go back to how many blocks this thread was in; nothing is done the second time."""
    with _lock:
        if depth:
            _depths[get_ident()] = depth
        else:
            _depths.pop(get_ident(), None)
            _turn_on()


def _turn_on() -> None:
    global _was_on
    if not _depths and _was_on:
        gc.enable()
        _was_on = False


@forks.in_child
def _keep_own() -> None:
    """In a forked child: forget the other threads, which do not exist there."""
    if _depths:
        me = get_ident()
        mine = _depths.get(me)
        _depths.clear()
        if mine is not None:
            _depths[me] = mine
        _turn_on()


held = Held()
