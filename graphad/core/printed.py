"""Counts what a run has printed, so that a run that is repeated, because it found no result, does not print it again.

The second run computes the same values and prints in the same order. So it skips as many texts as the first run has printed, and
prints the rest: each text appears once, and in its place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Mark = tuple[int, int]


class _Printed(threading.local):
    """The runs of this thread: how many texts they have printed, how many more to skip, and whether a run is in progress."""

    out = 0
    skipped = 0
    is_running = False


_printed = _Printed()


def once(write: Callable[..., None], *text: str) -> None:
    """Write a text unless an earlier run has printed it. Calls that the stream itself makes while it prints do not count as texts
    of this run. If the stream raises, the text does not count as printed."""
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
    """The state at the beginning of a run that may have to be repeated."""
    if not _printed.is_running:
        _printed.skipped = 0
    return _printed.out, _printed.skipped


def again(begun: Mark) -> None:
    """A run that began at the mark `begun` found no result and is repeated: the texts that it has printed are skipped."""
    out, skipped = begun
    _printed.skipped = skipped + _printed.out - out


@contextmanager
def running() -> Iterator[None]:
    """The block of a call with all its runs. After the outermost call nothing is skipped any more."""
    outer, _printed.is_running = _printed.is_running, True
    try:
        yield
    finally:
        _printed.is_running = outer
        if not outer:
            _printed.skipped = 0
