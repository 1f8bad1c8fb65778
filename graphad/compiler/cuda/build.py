"""From a kernel to code that can be launched: loaded already, in the cache, or compiled by the worker.

The address of a kernel is its position in a list of this process, which all devices share. The cache key of a cubin has the
compute capability, the toolkit and the versions of the compilers. Kernels are compiled with 32-bit positions first; the code
for larger arrays is compiled when such an array occurs.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphad.compiler import cache, source
from graphad.compiler.cuda.compile import Cubin
from graphad.compiler.cuda.emit import emit
from graphad.compiler.cuda.emit_stages import emit_stages
from graphad.compiler.cuda.written import Written, emit_written
from graphad.compiler.source import CompileError as CompileError
from graphad.compiler.source import Source
from graphad.core import forks
from graphad.devices.library import library
from graphad.devices.streams import on
from graphad.kernels.forms import Kernel
from graphad.kernels.stages import Stages

AnyKernel = Kernel | Stages | Written
TOOLKIT = ("nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc")


class Code:
    """A kernel, its cubins by compute capability and width of positions, and its loaded functions by device."""

    def __init__(self, kernel: AnyKernel, address: int) -> None:
        self.kernel, self.address = kernel, address
        self.cubins: dict[tuple[str, bool], Cubin] = {}
        self._loaded: dict[tuple[int, bool], tuple[Any, int]] = {}
        self._lock = forks.lock()

    def function(self, index: int, is_narrow: bool) -> int:
        """The driver's handle on a device; compiles the code if it is missing."""
        found = self._loaded.get((index, is_narrow))
        if found is None:
            processor = processor_of(index)
            payload = self.cubins.get((processor, is_narrow)) or _compiled(self, processor, is_narrow)
            with self._lock, on(index):
                driver = library().cuda.driver
                module = driver.moduleLoadData(payload.code)
                handle = driver.moduleGetFunction(module, payload.entry)
                found = self._loaded[index, is_narrow] = module, handle
        return found[1]


_codes: list[Code] = []
_by_kernel: dict[AnyKernel, Code] = {}
_lock = forks.lock()


def code_at(address: int) -> Code:
    """The `Code` at the address of a kernel."""
    return _codes[address - 1]


def processor_of(index: int) -> str:
    """The compute capability of a device, as in "90"."""
    return str(library().cuda.Device(index).compute_capability)


def attributes_of(index: int) -> Mapping[str, int]:
    """The attributes of a device, by CuPy's names."""
    found: Mapping[str, int] = library().cuda.Device(index).attributes
    return found


def text_of(kernel: AnyKernel, is_narrow: bool = True) -> Source:
    """The source text of a kernel."""
    if isinstance(kernel, Written):
        return emit_written(kernel, is_narrow)
    return emit_stages(kernel, is_narrow) if isinstance(kernel, Stages) else emit(kernel, is_narrow)


def key_of(kernel: AnyKernel, processor: str, is_narrow: bool = True) -> str:
    """The cache key of a kernel's cubin."""
    return text_of(kernel, is_narrow).key({**_parts(), "processor": processor})


@lru_cache(maxsize=1)
def _parts() -> dict[str, str]:
    from importlib import metadata

    here, digest = Path(__file__).parent, hashlib.sha256()
    for path in (here.parent / "lowering.py", here / "intrinsics.py", here / "compile.py"):
        with contextlib.suppress(OSError):  # packed into an archive: the version must suffice
            digest.update(path.read_bytes())
    found = {**source.version_parts(), "code": digest.hexdigest()}
    for name in ("numba-cuda", *TOOLKIT):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def find(kernel: AnyKernel, processor: str) -> int | None:
    """The address of a kernel whose cubin is loaded or in the cache; None if it would have to be compiled."""
    code = _by_kernel.get(kernel)
    if code is not None and (processor, True) in code.cubins:
        return code.address
    return None if _cached(kernel, processor, True) is None else _code_of(kernel).address


def build(kernel: AnyKernel, processor: str) -> int:
    """The address of a kernel, compiled now if need be. Raises: CompileError: it does not compile."""
    address = find(kernel, processor)
    if address is None:
        code = _code_of(kernel)
        _compiled(code, processor, True)
        address = code.address
    return address


def request(kernel: AnyKernel, processor: str, callback: Callable[[int | None, str | None], None]) -> bool:
    """Have a kernel compiled in the background. Returns: False when nothing compiles there."""
    address = find(kernel, processor)
    if address is not None:
        callback(address, None)
        return True
    from graphad.compiler import service

    def keep(key: str, data: bytes) -> int:
        address = _kept(kernel, processor, data).address
        cache.default_cache().put(key, data)
        return address

    key, text = key_of(kernel, processor), text_of(kernel).text
    return service.request_address(key, text, keep, callback, f"cuda:{processor}")


def forget() -> None:
    """Forget the code of all kernels, because the device or its compiler has changed."""
    with _lock:
        _by_kernel.clear()


def _code_of(kernel: AnyKernel) -> Code:
    with _lock:
        code = _by_kernel.get(kernel)
        if code is None:
            code = _by_kernel[kernel] = Code(kernel, len(_codes) + 1)
            _codes.append(code)
        return code


def _kept(kernel: AnyKernel, processor: str, payload: bytes, is_narrow: bool = True) -> Code:
    code = _code_of(kernel)
    code.cubins[processor, is_narrow] = Cubin.unpack(payload)
    return code


def _compiled(code: Code, processor: str, is_narrow: bool) -> Cubin:
    """A cubin from the cache or, if the caller waits, from the worker."""
    from graphad.compiler.service import default_service

    cubin = _cached(code.kernel, processor, is_narrow)
    if cubin is not None:
        return cubin
    key = key_of(code.kernel, processor, is_narrow)
    payload = default_service().compile_now(key, text_of(code.kernel, is_narrow).text, f"cuda:{processor}")
    cubin = _kept(code.kernel, processor, payload, is_narrow).cubins[processor, is_narrow]
    cache.default_cache().put(key, payload)
    return cubin


def _cached(kernel: AnyKernel, processor: str, is_narrow: bool) -> Cubin | None:
    """A cubin from the cache; a damaged one is a miss."""
    store, key = cache.default_cache(), key_of(kernel, processor, is_narrow)
    payload = store.get(key)
    if payload is None:
        return None
    try:
        return _kept(kernel, processor, payload, is_narrow).cubins[processor, is_narrow]
    except CompileError:
        store.discard(key)
        return None
