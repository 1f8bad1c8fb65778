"""Shared memory of a block: what reductions want of it, how many threads leave enough, and how much values of stages may have.

A block has 48 KB unless the driver is asked for more, which a device has to allow; only memory whose size a launch gives can
be more. Arrays that a kernel's text declares, one number of each thread for each reduction, are within the 48 KB: a kernel
of many reductions has fewer threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from graphad.compiler.source import NAMES, code_of
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Kernel, Store
from graphad.kernels.stages import Stages

THREADS, WARP = 256, 32  # of a block at most, and at least
UNASKED = 48 << 10  # bytes of a block
RESERVED = 1 << 10  # bytes that cubins for sm_90 and later count with what a text declares
DECLARED = {Kernel: 40 << 10, Stages: 16 << 10}  # bytes that a text may declare
ASKED = 96 << 10  # bytes of a block at most; more would leave a multiprocessor one block
OPT_IN = "MaxSharedMemoryPerBlockOptin"  # an attribute of devices
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # an attribute of functions


def sum_code(store: Store) -> str:
    """The type in which a result is accumulated: float64 for sums and products of floats."""
    code = code_of(store.access.dtype)
    if code in ("f16", "bf16", "f32"):
        return "f64" if store.combine in ("add", "mul") else "f32"
    return code


def arrays(kernel: Kernel | Stages) -> Sequence[str]:
    """The types of the arrays for reductions; stages take turns, so that all share what one of them needs."""
    if isinstance(kernel, Kernel):
        return [sum_code(store) for store in kernel.outputs if store.combine is not None]
    each = [arrays(stage.kernel) for stage in kernel.stages]
    codes = sorted({code for found in each for code in found})
    return [code for code in codes for _ in range(max(list(found).count(code) for found in each))]


@lru_cache(maxsize=1024)
def threads_of(kernel: Kernel | Stages) -> int:
    """The threads of a block at most; 0 if a warp's are too many."""
    threads, most = THREADS, DECLARED[type(kernel)]
    while threads >= WARP and declared(kernel, threads) > most:
        threads //= 2
    return threads if threads >= WARP else 0


def declared(kernel: Kernel | Stages, threads: int) -> int:
    """Bytes of shared memory that a text declares, with the word of `arrive` and what the device keeps for itself."""
    each = sum([as_dtype(NAMES[code]).itemsize for code in arrays(kernel)])
    return each * threads + (8 + RESERVED if each or isinstance(kernel, Stages) else 0)


def room(kernel: Kernel | Stages, attributes: Mapping[str, int]) -> int:
    """Bytes for values of stages in a block of a device with these attributes."""
    most = max(UNASKED, min(ASKED, int(attributes.get(OPT_IN, 0))))
    return (most - declared(kernel, threads_of(kernel))) // 64 * 64
