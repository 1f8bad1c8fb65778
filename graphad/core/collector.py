"""Python's garbage collector held back while much is made at once and nothing dropped.

Tracing and planning a graph of thousands of nodes makes tuples by the ten thousand, all of which stay; the collector would walk
them over and over, and take as long as the work itself.
"""

from __future__ import annotations

import gc
import threading
from types import TracebackType

_lock = threading.Lock()
_inside = 0
_was_on = False


class Held:
    """A context in which nothing is collected; as many threads as like may be in one."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _inside, _was_on
        with _lock:
            if not _inside:
                _was_on = gc.isenabled()
                gc.disable()
            _inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if not _inside and _was_on:
                gc.enable()


held = Held()
