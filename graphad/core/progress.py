"""A progress bar, drawn by tqdm if it is installed, for work that takes longer than a second in an interactive session.

By default it appears in notebooks and terminals only, not in programs that write to a file, in services or in tests. Work that
ends within a second imports and prints nothing.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from graphad.core import forks
from graphad.core.flags import ALWAYS as ALWAYS
from graphad.core.flags import NEVER as NEVER
from graphad.core.flags import flags

PATIENCE = 1.0  # seconds


class Progress:
    """The progress of some work; a context manager. Several threads may advance it.

    Args:
      what: The work, in two or three words.
      total: The total amount, None if it is unknown.
      unit: The unit of amounts, such as "row"; "B" is written in powers of 1024.
    """

    __slots__ = ("_bar", "_done", "_lock", "_start", "_total", "_unit", "_what")

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._bar: Any = None
        self._done = 0
        self._lock = forks.lock()
        self._start = time.perf_counter() if is_wanted() else None

    def advance(self, amount: int = 0) -> None:
        """Add to what is done; 0 only lets the bar appear or update."""
        if self._start is None:
            return
        with self._lock:
            self._done += amount
            if self._bar is not None:
                self._bar.update(amount)
            elif time.perf_counter() - self._start > PATIENCE:
                self._show()

    def _show(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._start = None
            return
        scale = {"unit_scale": True, "unit_divisor": 1024} if self._unit == "B" else {}
        self._bar = tqdm(
            desc=self._what, total=self._total, initial=self._done, unit=self._unit, leave=False, **scale
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: Any) -> None:
        with self._lock:
            self._start = None
            if self._bar is not None:
                self._bar.close()


def is_wanted() -> bool:
    """Whether bars are shown now."""
    if flags.progress != "auto":
        return flags.progress == ALWAYS
    shell = sys.modules.get("IPython")
    if shell is not None:
        running = shell.get_ipython()
        if running is not None and hasattr(running, "kernel"):
            return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no stderr, or it is closed
        return False
