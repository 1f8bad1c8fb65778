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
    """A context in which the collector is off. Any number of threads may be in it. Use `paused` where an interrupt may end the
    block."""

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
    """Move all present objects to the collector's oldest generation without examining them.

    Called when nearly all objects will stay alive, as at the end of an import. Otherwise the collector's first pass examines each
    of them, which takes a fifth of the time of `import graphad`.
    """
    # What the program has frozen would be thawed; Python 3.12 has frozen some objects of its own, so that nothing is done there.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


def paused(work: Callable[[], T]) -> T:
    """The result of `work()`, which is called while the collector is off.

    An interrupt at any moment leaves the collector as it was, also before the first instruction of the `finally` block.
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
    """Restore the number of blocks in which this thread was. A second call does nothing."""
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
