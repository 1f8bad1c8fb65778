"""Run a CUDA kernel's source on Numba's simulator: Python threads, for a few elements, without a device.

Only in a process that was started with NUMBA_ENABLE_CUDASIM=1. Pointer words are arrays, scalars NumPy scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler import oracle
from graphad.compiler.cuda.emit import BUILTIN, THREADS, emit
from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Kernel


def run(kernel: Kernel, words: Sequence[Any], grid: int, threads: int = THREADS) -> None:
    """One launch; outputs are written in place."""
    from numba import cuda

    scope: dict[str, Any] = {}
    exec(compile(emit(kernel).text, "<graphad_kernel_source>", "exec"), scope)
    function = scope["kernel"]
    scope["cuda"] = cuda
    for name in function.__code__.co_names:
        if name not in BUILTIN:
            scope[name] = _meaning(name)
    cuda.jit(function)[grid, threads](*words)


def _meaning(name: str) -> Any:
    if name in NAMES:
        return as_dtype(NAMES[name]).numpy.type
    head, _, rest = name.partition("_")
    if head == "bits":
        return lambda value: value
    if head == "round" and rest in ("f16", "bf16"):
        return lambda x: np.asarray(x).astype(as_dtype(NAMES[rest]).numpy)[()]
    return oracle.meaning(name)
