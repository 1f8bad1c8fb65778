"""From LLVM IR text or object code to addresses, with llvmlite alone; without it where the cache has the object.

`build` compiles a module once, keeps its object code in the cache, and links it; `link` serves
objects made elsewhere. Linked code lives until the process ends: a sleeping thread or a plan may hold an
address of it at any time.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphad.compiler.cache import default_cache
from graphad.compiler.cpu import image
from graphad.compiler.cpu.target import host
from graphad.compiler.source import digest_of_files, version_parts
from graphad.core import forks
from graphad.core.errors import UnavailableError

# the runtime's only lock: everything that is made at first use
lock = forks.awaited()

_machine: tuple[Any, Any] | None = None  # (binding module, target machine)
_engine: Any = None
_immortal: list[Any] = []  # each has one reference more, which is never released
_numbers = itertools.count()


def keep_for_ever(thing: Any) -> None:
    """Keep `thing` alive through interpreter shutdown, when module globals are already gone."""
    _immortal.append(thing)
    if sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def target() -> tuple[Any, Any]:
    """llvmlite's binding module and a target machine for exactly this processor."""
    global _machine
    with lock:
        if _machine is None:
            try:
                import llvmlite.binding as llvm
            except ImportError as error:
                raise UnavailableError(f"native runtime: llvmlite cannot be imported ({error})") from error
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
                cpu=llvm.get_host_cpu_name(),
                features=llvm.get_host_cpu_features().flatten(),
                opt=2,
                reloc="pic",
                codemodel="default",
            )
            _machine = (llvm, machine)
        return _machine


@functools.lru_cache(maxsize=1)
def fingerprint() -> str:
    """Everything besides the source on which object code depends: compiler version, platform, processor and its features."""
    parts = {"llvmlite": version_parts()["llvmlite"], **host().parts}
    return "|".join(f"{name}={value}" for name, value in parts.items())


def compile_text(text: str, unroll: bool = True) -> bytes:
    """Optimise a module given as text and return its object code; without unrolling it takes half the time
    and space.
    """
    llvm, machine = target()
    with lock:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        options.slp_vectorization = options.loop_unrolling = options.loop_interleaving = unroll
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return bytes(machine.emit_object(module))


def link(data: bytes, symbols: Iterable[str]) -> dict[str, int]:
    """Load object code and return the addresses of `symbols`; raises RuntimeError when it cannot be linked."""
    global _engine
    names, imports = tuple(symbols), _libc()
    loaded = image.load(data, names, imports)
    if loaded is not None:
        return loaded
    llvm, machine = target()
    with lock:
        if _engine is None:
            # JITLink frees what it loads and costs 8 kB a library, the default linker 50 kB
            try:
                _engine = llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
            except RuntimeError:
                _engine = llvm.create_lljit_compiler(machine, suppress_errors=True)
            keep_for_ever(_engine)
        library = llvm.JITLibraryBuilder().add_object_img(data)
        for name in names:
            library.export_symbol(name)
        for name, address in imports.items():
            library.import_symbol(name, address)
        tracker = library.link(_engine, f"graphad_runtime_{next(_numbers)}")
        keep_for_ever(tracker)
        return {name: int(tracker[name]) for name in names}


def _libc() -> Mapping[str, int]:
    """The two functions that LLVM may call for a long copy or fill."""
    library = ctypes.CDLL("msvcrt") if sys.platform == "win32" else ctypes.CDLL(None)
    names = ("memcpy", "memset", "memmove")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def build(text: str, symbols: Iterable[str], unroll: bool = False) -> dict[str, int]:
    """Addresses of the functions of a module given as IR text, compiled now or taken from the cache."""
    return _kept(text, lambda: text, tuple(symbols), unroll)


def printed(write: Callable[..., str], *given: Any, symbols: Iterable[str]) -> dict[str, int]:
    """Addresses of the functions of the module whose text `write(*given)` is. The text is not written where the cache has its
    object: the key is made of the source files of this package and of what is given, all of which shows in its `repr`.
    """
    digest = digests()
    if None in digest:
        return build(write(*given), symbols)
    return _kept(
        f"{digest}{write.__module__}.{write.__qualname__}{given!r}", lambda: write(*given), tuple(symbols)
    )


def digests() -> tuple[str | None, str | None]:
    """The digests of the source files that texts are printed by; None where they cannot be read, as in an archive."""
    here = os.path.dirname(__file__)
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    return digest_of_files(root, *_OUTSIDE), digest_of_files(here)


# Files outside of this package from which texts are printed.
_OUTSIDE = (
    "compiler/assembly.py",
    "compiler/rounds.py",
    "compiler/rows.py",
    "kernels/sites.py",
    "ops/random/philox.py",
)


def _kept(
    origin: str, text: Callable[[], str], names: tuple[str, ...], unroll: bool = False
) -> dict[str, int]:
    """What the cache has under a key made of `origin`, or the compiled text."""
    cache = default_cache()
    key = hashlib.sha256(f"runtime\n{fingerprint()}\n{unroll}\n{origin}".encode()).hexdigest()
    data = cache.get(key)
    if data is not None:
        try:
            return link(data, names)
        except RuntimeError:  # a damaged or foreign entry is a miss
            pass
    data = compile_text(text(), unroll)
    cache.put(key, data)
    return link(data, names)
