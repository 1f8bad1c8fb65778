"""From a kernel to the address of its code: loaded already, in the cache, or compiled.

    find(kernel) an address without compiling, or None
    build(kernel)     waits for the compiler
    request(kernel)   returns at once, calls back with the address

A kernel without an address stays on the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from graphad.compiler import cache, source
from graphad.compiler.cpu import target
from graphad.compiler.cpu.emit import emit
from graphad.compiler.cpu.functions import supports as supports
from graphad.compiler.cpu.load import registry
from graphad.compiler.source import CompileError as CompileError
from graphad.compiler.source import Source
from graphad.kernels.forms import Kernel


def key_of(kernel: Kernel | Source) -> str:
    """The cache key of a kernel's object code on this machine, with these versions of everything."""
    return _key(emit(kernel) if isinstance(kernel, Kernel) else kernel)


@lru_cache(maxsize=8192)
def _key(text: Source) -> str:
    return text.key({**source.version_parts(), **target.host().parts, "code": _code()})


def _code() -> str:
    """The digest of the code generator, so that a changed generator does not use old objects. In an archive the version must
    suffice.
    """
    here = os.path.dirname(os.path.dirname(__file__))
    files = "lowering.py", "cpu/intrinsics.py", "cpu/compile.py", "cpu/pipeline.py"
    return source.digest_of_files(here, *files) or ""


def find(kernel: Kernel | Source) -> int | None:
    """The address of a kernel that is loaded or in the cache; None when it would have to be compiled."""
    key = key_of(kernel)
    address = registry.address_of(key)
    if address is not None:
        return address
    store = cache.default_cache()
    data = store.get(key)
    if data is None:
        return None
    address = registry.load(key, data)
    if address is None:  # intact, but it cannot be linked here: a miss
        store.discard(key)
    return address


def build(kernel: Kernel | Source) -> int:
    """The address of a kernel, compiled now if need be. Raises: CompileError: it does not compile or does not load."""
    address = find(kernel)
    if address is not None:
        return address
    # Imported here: not needed if the cache has the code.
    from graphad.compiler.service import default_service

    key = key_of(kernel)
    return _keep(key, default_service().compile_now(key, _text(kernel)))


def request(kernel: Kernel | Source, callback: Callable[[int | None, str | None], None]) -> bool:
    """Have a kernel compiled in the background; `callback(address, why not)` runs in another thread, or here if it
    is there already.

    Returns: False when nothing compiles in the background; then the callback does not run.
    """
    address = find(kernel)
    if address is not None:
        callback(address, None)
        return True
    from graphad.compiler import service

    return service.request_address(key_of(kernel), _text(kernel), _keep, callback)


def _text(kernel: Kernel | Source) -> str:
    return (emit(kernel) if isinstance(kernel, Kernel) else kernel).text


def _keep(key: str, data: bytes) -> int:
    address = registry.load(key, data)
    if address is None:
        raise CompileError("load: the linker refused the object code that was just compiled")
    cache.default_cache().put(key, data)
    return address
