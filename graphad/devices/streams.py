"""Which device and which stream a thread's work goes to: CuPy's current one."""

from __future__ import annotations

import threading
from typing import Any

from graphad.devices.library import library


class _Thread(threading.local):
    """What is known of this thread: the devices whose context it has."""

    def __init__(self) -> None:
        self.ready: set[int] = set()


_thread = _Thread()


class on:
    """A block in which a device is the current one; gives the stream that this thread's work goes to."""

    __slots__ = ("_device", "_index")

    def __init__(self, index: int) -> None:
        self._index = index

    def __enter__(self) -> Any:
        cuda, mine = library().cuda, _thread
        self._device = cuda.Device(self._index)
        self._device.__enter__()
        if self._index not in mine.ready:
            # The driver's functions want a context, which calls of the runtime make. A block of `Device` makes no such call where
            # the device is the thread's first.
            cuda.runtime.setDevice(self._index)
            mine.ready.add(self._index)
        return cuda.get_current_stream()

    def __exit__(self, *error: Any) -> None:
        self._device.__exit__(*error)
