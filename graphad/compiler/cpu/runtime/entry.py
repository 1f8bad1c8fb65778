"""The builtins that run a plan and check its arguments.

`run(instance_address, *arrays)` fills in the arrays' addresses and runs every step; `check(guard_address,
*arrays)` says in tens of nanoseconds whether a compiled plan fits; `bind_run` and `bind_check` make the same
for one table, which they keep alive. Where objects cannot be read directly (other interpreters, free-threaded
builds, an unknown layout) the same functions are made of ctypes: slower, equal in meaning. `active()` says
which. Nothing here raises for a wrong argument type: the answer is WRONG_TYPE.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import MemberDescriptorType
from typing import Any

import numpy as np

from graphad.compiler.cpu.runtime import entry_text, layout, native
from graphad.compiler.cpu.runtime.entry_ctypes import CtypesEntry, Entry, Run
from graphad.compiler.cpu.runtime.entry_text import ALIGNED as ALIGNED
from graphad.compiler.cpu.runtime.entry_text import ANY as ANY
from graphad.compiler.cpu.runtime.entry_text import BUSY as BUSY
from graphad.compiler.cpu.runtime.entry_text import C_CONTIGUOUS as C_CONTIGUOUS
from graphad.compiler.cpu.runtime.entry_text import G_CONTEXT, G_COUNT, G_ROWS, SAME
from graphad.compiler.cpu.runtime.entry_text import GUARD_MISS as GUARD_MISS
from graphad.compiler.cpu.runtime.entry_text import NO_INSTANCE as NO_INSTANCE
from graphad.compiler.cpu.runtime.entry_text import NOT_READY as NOT_READY
from graphad.compiler.cpu.runtime.entry_text import WRITEABLE as WRITEABLE
from graphad.compiler.cpu.runtime.entry_text import WRONG_COUNT as WRONG_COUNT
from graphad.compiler.cpu.runtime.entry_text import WRONG_TYPE as WRONG_TYPE
from graphad.core.errors import InternalError, InvalidArgumentError

_holders: list[tuple[type, str]] = []  # types that hold an array in a slot
_scalars: list[type[np.generic]] = []  # scalar types registered by hand


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class BuiltinEntry(Entry):
    """CPython builtins made of native code."""

    how = "builtin"

    def __init__(self, found: layout.Layout) -> None:
        super().__init__()
        api, context = ctypes.pythonapi, self.context
        functions = {
            entry_text.SAVE: "PyEval_SaveThread",
            entry_text.RESTORE: "PyEval_RestoreThread",
            entry_text.FROM_INT: "PyLong_FromLongLong",
            entry_text.AS_INT: "PyLong_AsLongLong",
            entry_text.RAISE: "PyErr_SetString",
            entry_text.OCCURRED: "PyErr_Occurred",
            entry_text.KEEP: "Py_IncRef",
            entry_text.DROP: "Py_DecRef",
        }
        for word, name in functions.items():
            context[word] = ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0
        context[entry_text.ARRAY_TYPE], context[entry_text.INT_TYPE] = id(np.ndarray), id(int)
        context[entry_text.TYPE_ERROR] = id(TypeError)
        addresses = native.printed(entry_text.text, found, symbols=entry_text.SYMBOLS)
        native.keep_for_ever(context)  # the tables of plans hold its address
        # a builtin points to its definition and does not own it
        self._definitions = {
            name: _MethodDef(name.removeprefix("graphad_").encode(), address, 0x80, None)
            for name, address in addresses.items()
        }
        native.keep_for_ever(self._definitions)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
            ("PyCFunction_NewEx", api)
        )
        self._make = make
        for kind, offset in layout.scalar_table():
            self._scalar_row(kind, offset)
        self.run = self._builtin("graphad_run", context)
        self.check = self._builtin("graphad_check", context)
        self.array_pointer = self._builtin("graphad_pointer", context)

    def _builtin(self, symbol: str, owner: Any) -> Run:
        made: Run = self._make(ctypes.addressof(self._definitions[symbol]), owner, None)
        return made

    def _scalar_row(self, kind: type[np.generic], offset: int) -> bool:
        count = int(self.context[entry_text.SCALARS])
        if count == entry_text.SCALAR_LIMIT:
            return False
        first = entry_text.SCALAR_ROWS + 3 * count
        self.context[first : first + 3] = id(kind), offset, np.dtype(kind).num
        self.context[entry_text.SCALARS] = count + 1
        return True

    def bind_run(self, words: np.ndarray, keep: tuple[Any, ...]) -> Run:
        return self._builtin("graphad_bound_run", (words, *keep))

    def bind_check(self, words: np.ndarray) -> Run:
        return self._builtin("graphad_bound_check", (words,))

    def add_scalar(self, kind: type[np.generic]) -> bool:
        native.keep_for_ever(kind)
        offset = layout.scalar_offset(kind)
        return offset is not None and self._scalar_row(kind, offset)

    def add_holder(self, kind: type, attribute: str) -> bool:
        count = int(self.context[entry_text.HOLDERS])
        offset = _slot_offset(kind, attribute)
        if count == entry_text.HOLDER_LIMIT or offset is None:
            return False
        native.keep_for_ever(kind)
        first = entry_text.HOLDER_ROWS + 2 * count
        self.context[first : first + 2] = id(kind), offset
        self.context[entry_text.HOLDERS] = count + 1
        return True


def _slot_offset(kind: type, attribute: str) -> int | None:
    """Where instances of a class with __slots__ keep an attribute, found by looking at two of them;
    None where a read does more."""
    if not isinstance(getattr(kind, attribute, None), MemberDescriptorType):
        return None
    samples = []
    for value in (np.zeros(1), np.ones(2)):
        try:
            sample: Any = object.__new__(kind)
            object.__setattr__(sample, attribute, value)
        except (AttributeError, TypeError):
            return None
        samples.append((sample, value))
    for offset in range(16, kind.__basicsize__, 8):
        if all(
            ctypes.c_uint64.from_address(id(sample) + offset).value == id(value) for sample, value in samples
        ):
            return offset
    return None


_entry: Entry | None = None


def load(force_ctypes: bool = False) -> Entry:
    """The active entry, made at first use."""
    global _entry
    if _entry is None and not force_ctypes:
        _compile()  # before the lock is taken
    with native.lock:
        if _entry is None or (force_ctypes and isinstance(_entry, BuiltinEntry)):
            entry = CtypesEntry("asked for") if force_ctypes else _make()
            for kind, attribute in _holders:
                entry.add_holder(kind, attribute)
            for scalar in _scalars:
                entry.add_scalar(scalar)
            if force_ctypes:
                return entry  # a second one beside the active one, for comparison
            _entry = entry
        return _entry


def _compile() -> None:
    found = layout.probe() if layout.unsupported() is None else None
    if found is not None:
        native.printed(entry_text.text, found, symbols=entry_text.SYMBOLS)


def _make() -> Entry:
    reason = layout.unsupported()
    if reason is not None:
        return CtypesEntry(reason)
    found = layout.probe()
    if found is None:
        return CtypesEntry("the layout of arrays is not the known one")
    try:
        entry = BuiltinEntry(found)
        _verify(entry)
    except (AttributeError, InternalError, OSError, RuntimeError) as error:
        return CtypesEntry(f"{error}")
    return entry


def _verify(entry: BuiltinEntry) -> None:
    """Check each answer once before the builtins are trusted."""
    array, value = np.arange(6.0), np.float32(2.5)
    guard = _guard_words(entry, [(np.dtype(np.float64), (6,)), (np.dtype(np.float32), ())])
    check = entry.bind_check(guard)
    answers = (
        entry.array_pointer(array) == array.ctypes.data,
        ctypes.c_float.from_address(entry.array_pointer(value)).value == 2.5,
        check(array, value) == 1,
        check(array[::2], value) == 0,
        check(array, array) == 0,
        check(array) == 0,
    )
    if not all(answers):
        raise InternalError(f"the entry's builtins answer wrongly: {answers}")


def active() -> str:
    """ "builtin", or "ctypes: " and the reason why the builtins are not used."""
    return load().how


def run(address: int, *arrays: Any) -> int:
    """Run the plan instance at an address; hot callers take `load().run` or `bind_run` instead.

    Returns: 0; the first non-zero status of a step; or WRONG_TYPE, WRONG_COUNT, GUARD_MISS, BUSY, NOT_READY,
    NO_INSTANCE.
    """
    return load().run(address, *arrays)


def check(address: int, *arrays: Any) -> int:
    """1 when the arguments fit the guard at an address, else 0; hot callers take `load().check` or
    `bind_check`.
    """
    return load().check(address, *arrays)


def array_pointer(array: np.ndarray | np.generic) -> int:
    """Address of an array's first element, or of the value inside a NumPy scalar; the caller keeps the object
    alive.
    """
    return load().array_pointer(array)


def bind_run(words: np.ndarray, keep: tuple[Any, ...] = ()) -> Run:
    """`run` for the instance that begins an int64 array; the callable keeps the array and `keep` alive."""
    return load().bind_run(words, keep)


def bind_check(words: np.ndarray) -> Run:
    """`check` for one guard, which the callable keeps alive."""
    return load().bind_check(words)


def context_address() -> int:
    """The address every instance header and guard carries."""
    return int(load().context.ctypes.data)


def register_holder(kind: type, attribute: str) -> bool:
    """Let arguments of exactly this class stand for the array in their slot `attribute`; False when the slot
    cannot be found.
    """
    with native.lock:
        if (kind, attribute) not in _holders:
            _holders.append((kind, attribute))
            return load().add_holder(kind, attribute)
        return True


def register_scalar(kind: type[np.generic]) -> bool:
    """Let scalars of an extension dtype (bfloat16) be arguments; False when their value cannot be located."""
    with native.lock:
        if kind not in _scalars:
            _scalars.append(kind)
            return load().add_scalar(kind)
        return True


Expected = tuple[np.dtype[Any] | None, Sequence[int | tuple[int, int] | None] | None]


def make_guard(
    expected: Sequence[Expected], writeable: Sequence[int] = (), contiguous: bool = True
) -> np.ndarray:
    """A guard table for `check`.

    Args:
      expected: One (dtype or None, sizes or None) per argument; a size is a number, None for any, or
      (argument, axis): equal to
        that axis of an earlier argument, whose rank must be given.
      writeable: Arguments that will be written to.
      contiguous: Whether arrays must be C-contiguous; they must be aligned in any case.
    """
    return _guard_words(load(), expected, writeable, contiguous)


def _guard_words(
    entry: Entry, expected: Sequence[Expected], writeable: Sequence[int] = (), contiguous: bool = True
) -> np.ndarray:
    words = [0] * G_ROWS
    words[G_CONTEXT], words[G_COUNT] = int(entry.context.ctypes.data), len(expected)
    for k, (dtype, sizes) in enumerate(expected):
        flags = ALIGNED | (C_CONTIGUOUS if contiguous else 0) | (WRITEABLE if k in writeable else 0)
        words += [ANY if dtype is None else np.dtype(dtype).num, flags, ANY if sizes is None else len(sizes)]
        for size in sizes or ():
            if isinstance(size, tuple):
                earlier, axis = size
                known = expected[earlier][1] if 0 <= earlier < k else None
                if known is None or not 0 <= axis < len(known):
                    raise InvalidArgumentError(
                        f"make_guard: size {size} of argument {k} must name an axis of an earlier argument "
                        "of known rank"
                    )
                words.append(-(SAME + earlier * 64 + axis))
            else:
                words.append(ANY if size is None else int(size))
    return np.array(words, np.int64)
