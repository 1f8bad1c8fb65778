"""Run a CUDA kernel's source on Numba's simulator: Python threads, for a few elements, without a device.

Only in a process that was started with NUMBA_ENABLE_CUDASIM=1. Pointer words are arrays, scalars NumPy scalars.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler import oracle
from graphad.compiler.cuda.build import AnyKernel, text_of
from graphad.compiler.cuda.emit import BUILTIN
from graphad.compiler.source import NAMES
from graphad.core import forks
from graphad.core.dtypes import as_dtype

_lock = forks.lock()


def run(kernel: AnyKernel, words: Sequence[Any], grid: int, threads: int | tuple[int, int]) -> None:
    """One launch; outputs are written in place. `words` are those of the text's parameters."""
    from numba import cuda

    scope: dict[str, Any] = {}
    exec(compile(text_of(kernel).text, "<graphad_kernel_source>", "exec"), scope)
    function = scope["kernel"]
    scope["cuda"] = cuda
    for name in function.__code__.co_names:
        if name not in BUILTIN:
            scope[name] = _meaning(name)
    cuda.jit(function)[grid, threads](*words)


def _meaning(name: str) -> Any:
    if name in _NAMED:
        return _NAMED[name]
    if name in NAMES:
        return as_dtype(NAMES[name]).numpy.type
    head, _, rest = name.partition("_")
    if head == "bits":
        return lambda value: value
    if head == "further":
        return _further
    if head == "narrowed":
        return lambda x: np.asarray(x).astype(as_dtype(NAMES[rest]).numpy)[()]
    if head in ("ld2", "ld4"):
        return lambda pointer, index: tuple(pointer[index : index + int(head[-1])])
    if head in ("st2", "st4"):
        return _store_many
    return oracle.meaning(name)


def _store_many(pointer: Any, index: int, *values: Any) -> None:
    pointer[index : index + len(values)] = values


def _arrive(counter: Any) -> int:
    with _lock:
        counter[0] += 1
        return int(counter[0]) - 1


_shown: dict[int, Any] = {}  # by the threads of the one block that runs


def _further(value: Any, reach: int) -> Any:
    """Of the thread that many places further on; a block is one warp here, all of whose threads ask."""
    me: Any = threading.current_thread()
    _shown[me.thread_id] = value
    me.syncthreads()
    found = _shown.get(me.thread_id + reach, value)
    me.syncthreads()
    return found


_NAMED = {
    "narrow": lambda: None,
    "contract": lambda: None,
    "ix": int,
    "ixadd": lambda a, b: a + b,
    "ixsub": lambda a, b: a - b,
    "ixmul": lambda a, b: a * b,
    "ixdiv": lambda a, b: a // b,
    "ixmin": min,
    "either": lambda a, b: a,  # arrays stand for addresses, which are all aligned
    "groups2": lambda together, n: n // 2,
    "groups4": lambda together, n: n // 4,
    "zero_i32": lambda: np.int32(0),
    "arrive": _arrive,
}
