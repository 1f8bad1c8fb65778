"""The interface of an entry, and its implementation with ctypes.

It serves interpreters whose objects cannot be read directly and is the reference for the builtins: slower,
equal in meaning.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.compiler.cpu.runtime import driver, entry_text
from graphad.compiler.cpu.runtime.entry_text import (
    ANY,
    BUSY,
    G_COUNT,
    G_ROWS,
    GUARD_MISS,
    NO_INSTANCE,
    SAME,
    WRITEABLE,
    WRONG_COUNT,
    WRONG_TYPE,
)
from graphad.core import forks

Run = Callable[..., int]


class Entry:
    """The interface of an entry; the builtin or the ctypes one is active."""

    how: str

    def __init__(self) -> None:
        self.context = np.zeros(entry_text.CONTEXT_WORDS, np.int64)
        self.run: Run
        self.check: Run
        self.array_pointer: Run

    def bind_run(self, words: np.ndarray, keep: tuple[Any, ...]) -> Run:
        raise NotImplementedError

    def bind_check(self, words: np.ndarray) -> Run:
        raise NotImplementedError

    def add_holder(self, kind: type, attribute: str) -> bool:
        raise NotImplementedError

    def add_scalar(self, kind: type[np.generic]) -> bool:
        raise NotImplementedError


class CtypesEntry(Entry):
    """The entry by ctypes, for interpreters whose objects cannot be read directly."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.how = f"ctypes: {reason}"
        self._types: dict[type, str] = {}
        self._mutex = forks.lock()
        self.run, self.check, self.array_pointer = self._run, self._check, self._pointer

    def _array(self, thing: Any) -> np.ndarray | np.generic | None:
        attribute = self._types.get(type(thing))
        if attribute is not None:
            thing = getattr(thing, attribute, None)
        return thing if type(thing) is np.ndarray or isinstance(thing, np.generic) else None

    def _run(self, address: int, *arguments: Any) -> int:
        if type(address) is not int or address <= 4096 or address % 8:
            raise TypeError(entry_text.MESSAGES["run"])
        header = (ctypes.c_int64 * entry_text.HEADER_WORDS).from_address(address)
        if header[entry_text.H_MAGIC] != entry_text.MAGIC:
            return NO_INSTANCE
        if len(arguments) != header[entry_text.H_ARGUMENTS]:
            return WRONG_COUNT
        with self._mutex:
            if header[entry_text.H_BUSY]:
                return BUSY
            header[entry_text.H_BUSY] = 1
        try:
            if header[entry_text.H_GUARD] and not self._check(header[entry_text.H_GUARD], *arguments):
                return GUARD_MISS
            arrays = [self._array(argument) for argument in arguments]
            kept = [np.asarray(array) if array is not None else None for array in arrays]
            patches = (ctypes.c_int64 * (3 * header[entry_text.H_PATCHES])).from_address(
                header[entry_text.H_PATCH_TABLE]
            )
            block = header[entry_text.H_BLOCK]
            for k in range(0, len(patches), 3):
                array = kept[patches[k]]
                if array is None:
                    return WRONG_TYPE
                ctypes.c_int64.from_address(block + 8 * patches[k + 1]).value = (
                    array.ctypes.data + patches[k + 2]
                )
            status, row = driver.run_rows(header[entry_text.H_TABLE], header[entry_text.H_STEPS])
            if status:
                header[entry_text.H_FAILED] = row
            return status
        finally:
            header[entry_text.H_BUSY] = 0

    def _check(self, address: int, *arguments: Any) -> int:
        if type(address) is not int or address <= 4096 or address % 8:
            raise TypeError(entry_text.MESSAGES["check"])
        words = ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))
        if words[G_COUNT] != len(arguments):
            return 0
        arrays = [self._array(argument) for argument in arguments]
        record = G_ROWS
        for array in arrays:
            number, flags, rank = words[record], words[record + 1], words[record + 2]
            sizes = words[record + 3 : record + 3 + max(rank, 0)]
            record += 3 + max(rank, 0)
            if array is None or not self._fits(array, number, flags, rank):
                return 0
            for wanted, size in zip(sizes, array.shape, strict=False):
                if wanted <= -SAME:
                    earlier = arrays[(-SAME - wanted) >> 6]
                    assert earlier is not None
                    wanted = earlier.shape[(-SAME - wanted) & 63]
                if wanted not in (ANY, size):
                    return 0
        return 1

    def _fits(self, array: np.ndarray | np.generic, number: int, flags: int, rank: int) -> bool:
        if number not in (ANY, array.dtype.num) or not array.dtype.isnative or rank not in (ANY, array.ndim):
            return False
        if isinstance(array, np.generic):
            return not flags & WRITEABLE
        return array.flags.num & flags == flags

    def _pointer(self, *arguments: Any) -> int:
        if (
            len(arguments) == 1
            and (array := self._array(arguments[0])) is not None
            and type(array) is np.ndarray
        ):
            return int(array.ctypes.data)
        raise TypeError(entry_text.MESSAGES["pointer"])

    def bind_run(self, words: np.ndarray, keep: tuple[Any, ...]) -> Run:
        address, owners = int(words.ctypes.data), (words, *keep)

        def run(*arguments: Any, _owners: tuple[Any, ...] = owners) -> int:
            return self._run(address, *arguments)

        return run

    def bind_check(self, words: np.ndarray) -> Run:
        address = int(words.ctypes.data)

        def check(*arguments: Any, _owner: np.ndarray = words) -> int:
            return self._check(address, *arguments)

        return check

    def add_scalar(self, kind: type[np.generic]) -> bool:
        return True

    def add_holder(self, kind: type, attribute: str) -> bool:
        self._types[kind] = attribute
        return True
