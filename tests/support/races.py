"""Which memory threads of a block use between two barriers: what one writes, no other may use before the next barrier.

On a device the order of threads between barriers is open. `Races` listens to a block of the fake device and keeps what would
depend on it, in shared memory and in the device's.
"""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np

from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype

Use = tuple[int, bool]  # a thread, and whether it writes


class Races:
    """Put in the place of `fake_driver.watch`.

    Attributes:
      found: What two threads use without a barrier between them.
      uses: How many uses were looked at.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.uses = 0
        self._lock = threading.Lock()
        self._block: Any = None
        self._spans: dict[int, int] = {}  # how many barriers each thread has passed
        self._known: dict[Any, tuple[int, list[Use]]] = {}

    def __call__(self, block: Any, thread: int, names: dict[str, Any]) -> None:
        with self._lock:
            if self._block is not block:
                self._block, self._spans, self._known = block, {}, {}
            self._spans[thread] = 0
        cuda, wait, array = names["cuda"], names["cuda"].syncthreads, names["cuda"].shared.array

        def synchronised() -> None:
            wait()
            self._spans[thread] += 1

        cuda.syncthreads = synchronised
        cuda.shared.array = lambda count, dtype: _Shared(self, thread, array(count, dtype))
        for name in list(names):
            match = re.fullmatch(r"(ld|st)([24]?)_(\w+)", name)
            if match is not None:
                size = as_dtype(NAMES[match[3]]).itemsize
                names[name] = self._memory(thread, names[name], match[1] == "st", int(match[2] or 1), size)

    def _memory(self, thread: int, plain: Any, writes: bool, count: int, size: int) -> Any:
        def use(pointer: int, place: int, *values: Any) -> Any:
            for k in range(count):
                self.note(thread, pointer + (place + k) * size, writes)
            return plain(pointer, place, *values)

        return use

    def note(self, thread: int, place: Any, writes: bool) -> None:
        with self._lock:
            self.uses += 1
            span = self._spans[thread]
            since, uses = self._known.get(place, (span, []))
            uses = uses if since == span else []
            if any(other != thread and (writes or wrote) for other, wrote in uses):
                self.found.append(f"thread {thread} {'writes' if writes else 'reads'} {place} beside {uses}")
            if (thread, writes) not in uses:
                uses.append((thread, writes))
            self._known[place] = span, uses


class _Shared:
    """A shared array of a text, as one thread sees it."""

    def __init__(self, races: Races, thread: int, values: np.ndarray) -> None:
        self._races, self._thread, self._values = races, thread, values

    def __getitem__(self, place: int) -> Any:
        self._races.note(self._thread, (self._values.ctypes.data, int(place)), False)
        return self._values[place]

    def __setitem__(self, place: int, value: Any) -> None:
        self._races.note(self._thread, (self._values.ctypes.data, int(place)), True)
        self._values[place] = value
