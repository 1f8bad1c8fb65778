"""What a run has printed, so that one which is made again because it had no answer leaves that out.

The second run computes the same and prints in the same order. So it skips as many texts as are out already, and goes on from
there: each appears once, and when it is due.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Mark = tuple[int, int]


class _Printed(threading.local):
    """Of the runs in this thread: how many texts are out, how many more are to be skipped, and whether a run is there."""

    out = 0
    skipped = 0
    is_running = False


_printed = _Printed()


def once(write: Callable[..., None], *text: str) -> None:
    """Write a text unless it is out already. What a stream prints by calls of its own is not a text of this run, nor is a text
    out whose writing raises."""
    if _printed.skipped and _printed.is_running:
        _printed.skipped -= 1
        return
    before = _printed.out, _printed.skipped, _printed.is_running
    _printed.skipped, _printed.is_running = 0, False
    try:
        write(*text)
    finally:
        _printed.out, _printed.skipped, _printed.is_running = before
    _printed.out += 1


def mark() -> Mark:
    """Where a run begins that may have to be made again."""
    if not _printed.is_running:
        _printed.skipped = 0
    return _printed.out, _printed.skipped


def again(begun: Mark) -> None:
    """A run that began there has no answer and is made again: what it has printed is out."""
    out, skipped = begun
    _printed.skipped = skipped + _printed.out - out


@contextmanager
def running() -> Iterator[None]:
    """A call with all its runs: behind the outermost one nothing is skipped any more."""
    outer, _printed.is_running = _printed.is_running, True
    try:
        yield
    finally:
        _printed.is_running = outer
        if not outer:
            _printed.skipped = 0
