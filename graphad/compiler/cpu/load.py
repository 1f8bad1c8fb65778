"""Object code to addresses, by our own loader or LLVM's linker, without Numba; and the registry of what is loaded.

Loaded kernels stay until the process ends: a plan or a sleeping thread may hold their address. A failed link is a
cache miss.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from graphad.compiler.cpu import image, target
from graphad.compiler.objects import ObjectError, check_kernel
from graphad.core import forks

SYMBOL = "graphad_kernel"


class Registry:
    """Addresses of loaded kernels by key."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._addresses: dict[str, int] = {}
        self._linker: Any = None
        self._links = 0

    def address_of(self, key: str) -> int | None:
        """The address of a kernel that is already loaded."""
        return self._addresses.get(key)

    def load(self, key: str, data: bytes) -> int | None:
        """The address of the object's kernel, linked now unless it is already there; None when it cannot be linked."""
        address = self._addresses.get(key)
        if address is not None:
            return address
        try:
            check_kernel(data, SYMBOL)
        except ObjectError:
            return None
        with self._lock:
            if key not in self._addresses:
                made = self._link(data)
                if made is None:
                    return None
                self._addresses[key] = made
            return self._addresses[key]

    def _link(self, data: bytes) -> int | None:
        loaded = image.load(data, (SYMBOL,), {})
        if loaded is not None:
            return loaded[SYMBOL]
        import llvmlite.binding as llvm

        if self._linker is None:
            machine = target.machine(target.host())
            try:  # JITLink costs 8 kB a kernel, the default linker 50
                self._linker = llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
            except RuntimeError:
                self._linker = llvm.create_lljit_compiler(machine, suppress_errors=True)
            _keep_for_ever(self._linker)
        self._links += 1  # a name must not be used twice, even after a failure
        library = llvm.JITLibraryBuilder().add_object_img(data).export_symbol(SYMBOL)
        try:
            tracker = library.link(self._linker, f"{SYMBOL}_{self._links}")
            _keep_for_ever(tracker)
            return int(tracker[SYMBOL])
        except RuntimeError:
            return None


def _keep_for_ever(thing: object) -> None:
    """Add a reference that is never released: code must outlive even the interpreter's shutdown."""
    _immortal.append(thing)
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_immortal: list[Any] = []
registry = Registry()
