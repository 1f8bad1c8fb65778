"""The library that keeps arrays on a device and computes there: CuPy, or a replacement in tests.

It is imported when a device is first used; if it is missing, the error says so in one sentence.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from graphad.core import forks
from graphad.core.errors import UnavailableError
from graphad.core.flags import flags

if TYPE_CHECKING:
    from graphad.devices.interface import Beside, Library, Precision

_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
# By the beginnings of their functions' names, the longest first.
_LIBRARIES = {"cublasLt": "cublasLt", "cublas": "cublas", "cusolver": "cusolver"}
_FILE = "{}64_{}.dll" if sys.platform == "win32" else "lib{}.so.{}"
_TOOLKITS = range(11, 20)  # of which one is loaded
CURE = "pip install graphad[cuda] on a machine with an NVIDIA driver; device('cpu') is always there"


_library: Library | None = None
_address_of: Callable[[str], int] | None = None
_is_forked = False


@forks.in_child
def _forget() -> None:
    """In a child of a process that uses CUDA every call of it fails, none of which says why."""
    global _library, _is_forked
    if _library is not None and is_cupy():
        _library, _is_forked = None, True


def library() -> Library:
    """The library of the CUDA devices. Raises: UnavailableError: it is missing; the message says how to install it."""
    global _library
    if _library is None:
        if _is_forked:
            raise UnavailableError(
                "device: this process was forked from one that uses CUDA devices, which CUDA does not allow; start it anew, as "
                "multiprocessing.get_context('spawn') does; device('cpu') is always there."
            )
        try:
            _library = cast("Library", importlib.import_module("cupy"))
            set_precision()
        except ImportError as cause:
            raise UnavailableError(
                f"device: CUDA devices take the package cupy, which cannot be imported ({cause}); {CURE}."
            ) from cause
    return _library


def cupyx(part: str = "special") -> Beside:
    """CuPy's functions that NumPy does not have, and some of its functions with SciPy's names."""
    if not is_cupy():
        return library().cupyx
    importlib.import_module(f"cupyx.scipy.{part}")
    return cast("Beside", sys.modules["cupyx"])


def set_precision() -> None:
    """Let the library's own products of float32 be in TF32, or not, as the setting says; a library that is not loaded waits."""
    if _library is not None:
        core = (
            cast("Precision", importlib.import_module("cupy._core._routines_linalg"))
            if is_cupy()
            else _library.precision
        )
        chosen = core.COMPUTE_TYPE_TF32 if flags.tensor_float_32 else core.COMPUTE_TYPE_DEFAULT
        core.set_compute_type(np.dtype(np.float32), chosen)


def is_cupy() -> bool:
    """Whether the library is CuPy, not what stands in its place."""
    return bool(library().__name__ == "cupy")


def set_library(other: Library | None, addresses: Callable[[str], int] | None = None) -> Library | None:
    """Have another library in CuPy's place, None for CuPy again; returns the one before, None if there was none yet.

    Args:
      other: The library.
      addresses: What gives the addresses of functions that stand in the place of the driver's and cuBLAS'.
    """
    global _library, _address_of
    before, _library, _address_of = _library, other, addresses
    return before


def address_of(name: str) -> int:
    """The address of a function of the driver, as "cuLaunchKernel", or of the cuBLAS, cuBLASLt or cuSOLVER that CuPy has loaded.

    Raises: UnavailableError: there is no such library, or it has no such function.
    """
    if _address_of is not None:
        return _address_of(name)
    try:
        file = next((file for start, file in _LIBRARIES.items() if name.startswith(start)), None)
        home = ctypes.CDLL(_DRIVER) if file is None else _loaded(file)
        return ctypes.cast(getattr(home, name), ctypes.c_void_p).value or 0
    except (OSError, AttributeError) as cause:
        raise UnavailableError(f"device: {name} is not there ({cause}); {CURE}.") from cause


def _loaded(file: str) -> ctypes.CDLL:
    """A library that CuPy calls, or that one of these calls: CuPy has it loaded, under a name with the toolkit's number."""
    getattr(library().cuda, "cusolver" if file == "cusolver" else "cublas")  # which loads it
    mode, missing = ctypes.DEFAULT_MODE | getattr(os, "RTLD_NOLOAD", 0), OSError(f"{file} is not loaded")
    for number in _TOOLKITS:
        try:
            return ctypes.CDLL(_FILE.format(file, number), mode=mode)
        except OSError as cause:
            missing = cause
    raise missing


def count() -> int:
    """The number of usable CUDA devices."""
    try:
        return _found()
    except Exception:  # CuPy raises its own errors if there is no driver or no device
        return 0


def why_none() -> str | None:
    """If there is no CUDA device, a line that says what is missing and how to get it; None if there is one."""
    try:
        if _found():
            return None
        cause: object = "the driver shows none; CUDA_VISIBLE_DEVICES may hide it"
    except UnavailableError as error:
        return str(error).removeprefix("device: ")
    except Exception as error:  # as above
        cause = error
    return f"there is no CUDA device here ({cause}); {CURE}."


def _found() -> int:
    if _library is None and not _is_forked:
        _require_driver()
    return int(library().cuda.runtime.getDeviceCount())


def _require_driver() -> None:
    """Raises: UnavailableError: CuPy or the driver is missing. Importing CuPy takes a second, so this is checked first."""
    if importlib.util.find_spec("cupy") is None:
        raise UnavailableError(f"device: CUDA devices take the package cupy, which is not installed; {CURE}.")
    try:
        ctypes.CDLL(_DRIVER)
    except OSError as cause:
        raise UnavailableError(
            f"device: there is no NVIDIA driver here ({cause}); install it on a machine with an NVIDIA GPU; device('cpu') is "
            "always there."
        ) from cause


def require(index: int) -> None:
    """Raises: UnavailableError: there is no CUDA device of this number; the message says what is missing."""
    found = count()
    if index < found:
        return
    missing = why_none()
    if missing is not None:
        raise UnavailableError(f"device: {missing}")
    devices = "is one CUDA device" if found == 1 else f"are {found} CUDA devices"
    raise UnavailableError(f"device: there is no 'cuda:{index}'; there {devices} here, from 'cuda:0' on.")
