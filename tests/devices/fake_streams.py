"""Streams of the fake device: what is put on one runs at once or, where it is `deferred`, as late as it may.

Deferred work runs when the host waits for it, and then only what the waiting demands: the stream's own work in its order, and of
other streams what events ask for. So where a wait is missing, somebody reads what was not yet written. Memory that nobody holds
any more is given away again on its stream at once, as by CuPy's pool, while other streams may still have work to do on it.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

_numbers = itertools.count(1)
_lock = threading.RLock()
deferred = False
free: dict[Any, list[np.ndarray]] = defaultdict(list)  # by stream and bytes
_streams: dict[int, Stream] = {}


class Event:
    """A place in the order of a stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.is_done = stream, False

    def __call__(self) -> None:
        self.is_done = True


class Stream:
    """A stream; CuPy's default one has the address 0."""

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.ptr = 0 if null else next(_numbers) << 8
        self._work: list[Callable[[], Any] | Event] = []
        self._is_running = False
        self.captured: list[Callable[[], Any]] | None = None
        _streams[self.ptr] = self

    def __enter__(self) -> Stream:
        _local.chosen.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _local.chosen.pop()

    def put(self, action: Callable[[], Any]) -> None:
        """Have something done on this stream."""
        if self.captured is not None:
            self.captured.append(action)
        elif deferred:
            with _lock:
                self._work.append(action)
        else:
            action()

    def record(self) -> Event:
        event = Event(self)
        self.put(event)
        return event

    def wait_event(self, event: Event) -> None:
        self.put(lambda: event.stream.run(event))

    def synchronize(self) -> None:
        self.run()

    def run(self, until: Event | None = None) -> None:
        """Do the work of this stream, all of it or what comes before an event."""
        with _lock:
            while self._work and not (until is not None and until.is_done):
                self._work.pop(0)()


class _Local(threading.local):
    def __init__(self) -> None:
        self.chosen: list[Stream] = []


DEFAULT = Stream(null=True)
_local = _Local()


def current() -> Stream:
    """The stream of a thread."""
    return _local.chosen[-1] if _local.chosen else DEFAULT


def at(pointer: int) -> Stream:
    """The stream with an address."""
    return _streams[pointer]


class Block:
    """Memory that goes back to its stream when nobody holds it any more."""

    def __init__(self, size: int) -> None:
        self.place = current(), max(size, 1)
        with _lock:
            found = free[self.place]
            self.bytes = found.pop() if found else np.full(self.place[1], 0xCB, np.uint8)

    def __del__(self) -> None:
        if free is not None:  # at the end of the process
            free[self.place].append(self.bytes)

    def array(self, shape: Any, dtype: Any) -> np.ndarray:
        size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=int))
        return self.bytes[:size].view(dtype).reshape(shape)
