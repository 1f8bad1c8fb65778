"""How much memory a process of its own needed."""

from __future__ import annotations

import resource


def most_resident() -> int:
    """Bytes of memory that this process had at most.

    `getrusage` counts what it had while it was still a copy of its parent: the child of a large one seems to need nothing more.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
