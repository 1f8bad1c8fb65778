"""Whether there is a CUDA device, according to the driver, so that no library is imported."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from functools import cache

# Whether the tests of the fake device run on the machine's own.
IS_REAL = os.environ.get("GRAPHAD_REAL_DEVICE", "0") != "0"


@cache
def why_no_cuda() -> str | None:
    """None if CUDA tests can run, else the reason for skipping them."""
    for package in ("numba_cuda", "cupy"):
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed (extra `cuda`)"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver on this machine"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "no CUDA device on this machine"
    return None
