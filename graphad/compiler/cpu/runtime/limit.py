"""A limit on the threads of a BLAS while some work is done that would wait for them.

OpenBLAS has one number of threads for the whole process. The first one in stores it and sets 1, the last one out puts it back.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from graphad.compiler.cpu.runtime import blas_text, native
from graphad.compiler.cpu.runtime.blas_text import COUNT, LOCK, SAVED, SET, YIELD
from graphad.core import forks

_blocks: dict[int, ctypes.Array[ctypes.c_int64]] = {}  # by the function that sets the number of threads


def block_of(set_threads: int, get_threads: int) -> int:
    """The address of the control block of the library with these functions."""
    with native.lock:
        block = _blocks.get(set_threads)
        if block is None:
            block = (ctypes.c_int64 * 8)(set_threads, get_threads, 0, 0, 0, 0)
            if sys.platform != "win32":
                block[YIELD] = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
            native.keep_for_ever(block)  # steps hold its address
            _blocks[set_threads] = block
        return ctypes.addressof(block)


@forks.in_child
def _reset_blocks() -> None:
    """In a forked child nobody is inside a product any more."""
    for block in _blocks.values():
        if block[COUNT]:
            ctypes.CFUNCTYPE(None, ctypes.c_int32)(block[SET])(block[SAVED])
        block[LOCK] = block[COUNT] = 0


@functools.lru_cache(maxsize=1)
def addresses() -> tuple[int, int]:
    """The functions that begin and end a limit: `enter(block, threads)` and `leave(block)`."""
    symbols = ("graphad_threads_enter", "graphad_threads_leave")
    found = native.printed(blas_text.limit, "graphad", symbols=symbols)
    return found[symbols[0]], found[symbols[1]]


def load() -> None:
    """Make what begins and ends a limit ready."""
    _functions()


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[Any, Any]:
    enter, leave = addresses()
    word = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, word, ctypes.c_int32)(enter), ctypes.CFUNCTYPE(None, word)(leave)


@contextlib.contextmanager
def one_thread(blocks: Sequence[int]) -> Iterator[None]:
    """A context in which these libraries have one thread."""
    if not blocks:
        yield
        return
    enter, leave = _functions()
    for block in blocks:
        enter(block, 1)
    try:
        yield
    finally:
        for block in blocks:
            leave(block)
