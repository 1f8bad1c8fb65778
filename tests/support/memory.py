"""The memory that some work takes, whatever else the process or its parent does."""

from __future__ import annotations

import resource
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

TURNS = 20


def most_resident() -> int:
    """The peak resident memory of this process in bytes.

    `getrusage` includes the time when it was still a fork of its parent, so the child of a large process would seem to need no
    more.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def nothing_prepared() -> None:
    """Wait until what tests before have asked for is compiled: one thread does it, one after the other."""
    from graphad.compiler.plan import tiers  # processes that measure a whole import do without

    done = threading.Event()
    tiers._background(done.set)
    assert done.wait(600)


def least_peak(work: Callable[[], Any], enough: float = 0) -> int:
    """The most bytes that Python allocates at once while `work` runs: the least of several turns, up to one with fewer than
    `enough`. Kernels that other threads prepare meanwhile count in some of them.
    """
    least = 1 << 60
    tracemalloc.start()
    try:
        for _ in range(TURNS):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            work()
            least = min(least, tracemalloc.get_traced_memory()[1] - before)
            if least < enough:
                break
    finally:
        tracemalloc.stop()
    return least
