"""Source text to a cubin for one compute capability, on any machine: neither a device nor a driver is needed.

The cubin is what is cached, never PTX: an older driver refuses the PTX of a newer toolkit. The entry keeps the name
that Numba gave it, so it is stored in front of the code.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphad.compiler.objects import read_symbols
from graphad.compiler.source import CompileError, may_contract
from graphad.core import forks
from graphad.core.errors import GraphadError, UnavailableError

_lock = forks.lock()


@dataclass(frozen=True)
class Cubin:
    """Device code and the name of its entry."""

    entry: str
    code: bytes

    def pack(self) -> bytes:
        """The code as one payload for the cache."""
        return self.entry.encode() + b"\n" + self.code

    @staticmethod
    def unpack(payload: bytes) -> Cubin:
        """The cubin behind a payload. Raises: CompileError: it is damaged."""
        name, _, code = payload.partition(b"\n")
        if not (name and name.isascii() and code):
            raise CompileError("cuda: the cubin of a kernel is damaged")
        return Cubin(name.decode(), code)


def why_unavailable() -> str | None:
    """Why nothing can be compiled for CUDA here; None when it can."""
    from importlib.util import find_spec

    for package in ("numba_cuda", "cuda"):
        if find_spec(package) is None:
            return f"the package {package} is not installed; pip install graphad[cuda]"
    return None


def compile_for(text: str, processor: str) -> bytes:
    """`compile_source` for the worker: a packed cubin for a compute capability such as "90"."""
    return compile_source(text, (int(processor[:-1]), int(processor[-1]))).pack()


@dataclass(frozen=True)
class Translated:
    """A function as the device compiler's intermediate code (LTO-IR), which becomes a cubin of any later capability too.

    Attributes:
      name: What the names of its entry contain.
      code: The LTO-IR.
      contracts: Whether a product and a sum may become one rounded step.
    """

    name: str
    code: bytes
    contracts: bool


def compile_source(text: str, capability: tuple[int, int] = (9, 0)) -> Cubin:
    """The cubin of one function whose arguments are all int64 words.

    Raises: CompileError: it does not compile. UnavailableError: the extra `cuda` is not installed.
    """
    return link(translate(text, capability), capability)


def translate(text: str, capability: tuple[int, int]) -> Translated:
    """The first part of `compile_source`, which takes most of the time."""
    reason = why_unavailable()
    if reason is not None:
        raise UnavailableError(f"cuda: {reason}")
    with _compiling():
        return _translate(text, capability)


def link(made: Translated, capability: tuple[int, int]) -> Cubin:
    """The second part of `compile_source`, for the capability of the first part or a later one."""
    with _compiling():
        # Without `fma` the device's compiler rounds every product, as NumPy does; the device library has its own fused steps.
        options = [f"-arch=sm_{capability[0]}{capability[1]}", "-lto", f"-fma={int(made.contracts)}"]
        code = _linked(made.code, options)
        names = [
            name for name in read_symbols(code).defined if made.name in name and not name.startswith(".")
        ]
        if len(names) != 1:
            raise CompileError(
                f"cuda: the cubin has the entries {', '.join(sorted(names)) or 'none'} instead of one"
            )
        return Cubin(names[0], code)


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """A block with one compilation at a time, whose errors are `CompileError`s."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of numba-cuda about its own settings
        try:
            yield
        except GraphadError:
            raise
        except Exception as error:  # any error of the device compilers on generated source
            raise CompileError(f"cuda: {type(error).__name__}: {str(error).strip()[:2000]}") from error


def _translate(text: str, capability: tuple[int, int]) -> Translated:
    _prepare()
    from numba import cuda
    from numba.cuda import types

    from graphad.compiler.cuda import intrinsics

    scope: dict[str, Any] = {}
    exec(compile(text, "<graphad_kernel_source>", "exec"), scope)
    plain = scope["kernel"]
    scope |= intrinsics.namespace(plain.__code__.co_names)
    signature = types.void(*[types.int64] * plain.__code__.co_argcount)
    code, _ = cuda.compile(plain, signature, device=False, abi="numba", cc=capability, output="ltoir")
    return Translated("kernel", code, may_contract(plain))


@functools.cache
def _prepare() -> None:
    """In the worker, which runs without `site`: do what `site` would do for numba-cuda and for the search for libraries."""
    if sys.flags.no_site:
        site: Any = importlib.import_module("site")
        site.getsitepackages = lambda prefixes=None: [place for place in sys.path if place]
        with contextlib.suppress(ImportError):
            importlib.import_module("_numba_cuda_redirector")
    _import_numba_cuda()


def _import_numba_cuda() -> None:
    """numba-cuda 0.30 imports with a name that NumPy 2.5 has no more; NumPy has it while that lasts."""
    removed: Any = {} if hasattr(np, "row_stack") else {"row_stack": np.vstack}
    vars(np).update(removed)
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        for name in removed:
            delattr(np, name)


def _linked(code: bytes, options: list[str]) -> bytes:
    """The cubin of LTO-IR."""
    from cuda.bindings import nvjitlink as linker

    handle = linker.create(len(options), options)
    try:
        try:
            linker.add_data(handle, linker.InputType.LTOIR, code, len(code), "kernel")
            linker.complete(handle)
        except linker.nvJitLinkError as error:
            log = bytearray(linker.get_error_log_size(handle))
            linker.get_error_log(handle, log)
            told = log.decode(errors="replace").rstrip("\0")
            raise CompileError(f"cuda: {error}: {told}") from error
        cubin = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, cubin)
        return bytes(cubin)
    finally:
        linker.destroy(handle)
