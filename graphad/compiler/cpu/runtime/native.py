"""From LLVM IR text or object code to addresses, with llvmlite alone; without it where the cache has the object.

`build` compiles a module once, keeps its object code in the cache, and links it; `link` serves
objects made elsewhere. Linked code lives until the process ends: a sleeping thread or a plan may hold an
address of it at any time.

Who has another way, as eager ops have NumPy's, asks for it `soon`: code that nobody has compiled before is then compiled by the
worker; see decision 117.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from typing import Any, TypeVar

from graphad.compiler.cache import default_cache
from graphad.compiler.cpu import image
from graphad.compiler.cpu.target import host
from graphad.compiler.source import digest_of_files, version_parts
from graphad.core import bind as door
from graphad.core import forks
from graphad.core.errors import NotCompiledError, UnavailableError
from graphad.core.flags import AUTO, flags

_Key = TypeVar("_Key")
_Made = TypeVar("_Made")

RUNTIME = "cpu:runtime"  # the worker's target for texts of this package

lock = forks.awaited()  # for what must be made once: a pool, an entry; nothing is compiled under it
_llvm = forks.awaited()  # held while LLVM works

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
    with _llvm:
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


def compile_text(text: str, unroll: bool = False) -> bytes:
    """Optimise a module given as text and return its object code; without unrolling it takes half the time
    and space.
    """
    llvm, machine = target()
    with _llvm:
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
    with _llvm:
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
    object: the key is made of the source files of this package, of the name of `write`, a function of a module, and of what is
    given, all of which shows in its `repr`.
    """
    assert "<" not in write.__qualname__, write
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


def once(table: MutableMapping[_Key, _Made], key: _Key, make: Callable[[], _Made]) -> _Made:
    """The entry of a table, made at its first use. No lock is held while it is made, which may take a second and others need not
    wait for: of two that are made at once the first one stays."""
    try:
        return table[key]
    except KeyError:
        return table.setdefault(key, make())


class _Thread(threading.local):
    has_other_way = False


_thread = _Thread()
_loaded: dict[str, dict[str, int]] = {}  # addresses by the key of the text
_asked: dict[str, threading.Event] = {}  # what the worker compiles, by key; set when it has answered
_awaited: dict[Hashable, threading.Event] = {}  # one of these for what is not complete


def soon(what: Hashable, *make: Callable[[], Any]) -> list[Any]:
    """What these give, for callers with another way: code that would have to be compiled is asked for, all of it at once, and not
    waited for.

    It is waited for where there is no worker, where checks are on (`GRAPHAD_VERIFY`), and where compiled code is waited for
    always or never used for functions: then no result may depend on time.

    Args:
      what: A name of all of these: while the worker compiles they are not tried again.
    Raises: NotCompiledError: some code is not there.
    """
    has_other_way = not door.VERIFY and flags.jit == AUTO
    answered = _awaited.get(what) if has_other_way else None
    if answered is not None and not answered.is_set():
        raise _not_yet(answered)
    before = _thread.has_other_way
    _thread.has_other_way = has_other_way
    missing, found = None, []
    try:
        for each in make:
            try:
                found.append(each())
            except NotCompiledError as error:
                missing = error
    finally:
        _thread.has_other_way = before
    if missing is not None:
        _awaited[what] = missing.answered
        raise missing
    return found


def _kept(
    origin: str, text: Callable[[], str], names: tuple[str, ...], unroll: bool = False
) -> dict[str, int]:
    """What the cache has under a key made of `origin`, or the compiled text."""
    key = hashlib.sha256(f"runtime\n{fingerprint()}\n{unroll}\n{origin}".encode()).hexdigest()
    return once(_loaded, key, lambda: _made(key, text, names, unroll))


def _made(key: str, text: Callable[[], str], names: tuple[str, ...], unroll: bool) -> dict[str, int]:
    asked = _asked.get(key)
    if asked is not None and not asked.is_set() and _thread.has_other_way:
        raise _not_yet(asked)
    found = _found(key, names)
    if found is None and _thread.has_other_way and asked is None and not unroll:
        asked = _ask_worker(key, text)
        if not asked.is_set():
            raise _not_yet(asked)
    if found is None:
        with _llvm:  # of two threads that want the same code one compiles it
            found = _found(key, names)
            if found is None:
                data = compile_text(text(), unroll)
                default_cache().put(key, data)
                found = link(data, names)
    return found


def _not_yet(answered: threading.Event) -> NotCompiledError:
    error = NotCompiledError("native runtime: the worker compiles this code")
    error.answered = answered
    return error


def _found(key: str, names: tuple[str, ...]) -> dict[str, int] | None:
    data = default_cache().get(key)
    if data is not None:
        with contextlib.suppress(RuntimeError):  # a damaged or foreign entry is a miss
            return link(data, names)
    return None


def _ask_worker(key: str, text: Callable[[], str]) -> threading.Event:
    """Have the worker compile a text. Returns: what is set when it has answered, or if there can be none."""
    from graphad.compiler.service import default_service  # not needed where the cache has the code

    asked = _asked[key] = threading.Event()
    # printing a text and starting the worker would take the caller some ms each
    thread = threading.Thread(target=_ask, args=(key, text, asked), name="graphad-ask-for-code", daemon=True)
    if default_service().is_forbidden or not forks.started(thread):
        asked.set()
    return asked


def _ask(key: str, text: Callable[[], str], asked: threading.Event) -> None:
    from graphad.compiler.service import request

    def receive(_: str, data: bytes | None, error: str | None) -> None:
        if data is not None:
            default_cache().put(key, data)
        asked.set()  # without it who needs the code next compiles it, and finds out what is wrong

    is_asked = False
    try:
        with forks.settled:
            is_asked = default_cache().get(key) is None and request(key, text(), receive, RUNTIME)
    except Exception:  # no memory, or the interpreter ends: the caller meets it, where it can be told
        pass
    finally:
        if not is_asked:
            asked.set()


@forks.in_child
def _forget_requests() -> None:
    """In a forked child: the parent's worker answers the parent."""
    _asked.clear()
    _awaited.clear()
