"""The peak memory of a child process."""

from __future__ import annotations

import resource


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
