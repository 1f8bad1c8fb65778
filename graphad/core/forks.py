"""Makes forks safe: a child finds no lock held by a thread that it lacks, and no half-finished state.

Only the forking thread exists in the child. A lock that another thread held would stay locked there for ever, so all locks are
made here and are released in the child, unless its own thread holds them. graphad's own threads work under `settled`: a fork
waits until their state is consistent. It also waits until no module that is imported at first use is half imported: Python
has a lock for each module, which would stay locked too.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

_made: weakref.WeakSet[Any] = weakref.WeakSet()
_awaited: list[Any] = []
_in_child: list[Callable[[], None]] = []


def lock() -> Any:
    """A `threading.Lock` that is free in a forked child. Nothing that may fork runs under it."""
    made = threading.Lock()
    _made.add(made)
    return made


def rlock() -> Any:
    """A `threading.RLock` that is free in a forked child, unless the thread that forks holds it."""
    made = threading.RLock()
    _made.add(made)
    return made


def awaited() -> Any:
    """A `threading.RLock` that a fork waits for. Every thread must take these locks in the order in which they were made."""
    made = threading.RLock()
    _awaited.append(made)
    return made


def in_child(work: Callable[[], None]) -> Callable[[], None]:
    """A decorator: `work` runs in every forked child, after that of modules on lower floors."""
    _in_child.append(work)
    return work


def started(thread: threading.Thread) -> bool:
    """Start a thread of graphad's own; False where there can be none: a limit of the system, or the interpreter ends."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


# Held by graphad's own threads while they import modules and fill tables.
settled = awaited()


_TRIES = 100  # this thread itself is importing, or other threads never stop importing
_LATE = frozenset(
    ["graphad", "serialization", "numba", "llvmlite", "scipy"]
)  # packages imported at first use


def _half_imported() -> list[str]:
    return [
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _LATE
        and getattr(getattr(module, "__spec__", None), "_initializing", False)
    ]


def _before() -> None:
    for _ in range(_TRIES):
        for name in _half_imported():
            importlib.import_module(name)  # waits for the thread that imports it, unless that is this one
        for made in _awaited:
            made.acquire()
        if not _half_imported():
            return
        _in_parent()
    for made in _awaited:
        made.acquire()


def _in_parent() -> None:
    for made in reversed(_awaited):
        made.release()


def _after_fork() -> None:
    _in_parent()
    for made in tuple(_made):
        # A plain lock has no owner; nothing forks while holding one.
        is_mine = getattr(made, "_is_owned", None)
        if is_mine is None or not is_mine():
            made._at_fork_reinit()
    for work in _in_child:
        work()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_after_fork)
