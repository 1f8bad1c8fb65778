"""The work of a call as a machine-independent number: the function calls that it makes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls_in(work: Callable[[], Any]) -> int:
    """The number of calls of Python and built-in functions while `work` runs in this thread, without those of a pass of the
    garbage collector, which may come at any time.
    """
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count
