"""A plan as memory: one int64 array holds the header, the step table, the patches and every step's words.

`PlanBuilder` collects steps and says which words are addresses (of an argument, of the workspace, of the
block itself); `PlanImage` is the finished recipe; `PlanImage.instance()` makes memory that can run. One
instance serves one caller at a time (`run` answers BUSY to a second one), so an image keeps idle instances in
a free list: `acquire`, run, `release`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import Builder
from graphad.compiler.cpu.runtime import calls, entry, entry_text
from graphad.compiler.rows import Arena, Argument, Owned, Row
from graphad.core.errors import InvalidArgumentError
from graphad.core.light import NamedTuple

ALIGNMENT = 64


class _Block(NamedTuple):
    """The first word of a row, and the blocks of the rows in its tables."""

    first: int
    tables: list[list[_Block]]


class PlanBuilder(Builder):
    """Collects the steps of a plan in the order in which they run."""

    def __init__(self, argument_count: int) -> None:
        self._arguments = argument_count
        self._words: list[int] = []
        self._steps: list[tuple[int, int]] = []  # (function, first word)
        self._patches: list[tuple[int, int, int]] = []  # (argument, word, byte offset)
        self._arena: list[tuple[int, int]] = []  # (word, byte offset)
        self._inner: list[tuple[int, int]] = []  # (word, word whose address it holds)
        self._rows: list[int] = []  # words that hold the function of a region's row
        self._owned: list[Owned] = []  # by word
        self._placed: list[tuple[Row, _Block]] = []
        self._keep: list[Any] = []
        self._runs_python = False

    def _block(self, words: Sequence[int], arguments: Iterable[Argument], arena: Iterable[Arena]) -> int:
        first = len(self._words)
        self._words += [_signed(word) for word in words]
        for word, index, offset in arguments:
            if not 0 <= index < self._arguments or not 0 <= word < len(words):
                raise InvalidArgumentError(
                    f"plan: word {word} of a step of {len(words)} words cannot take argument {index} "
                    f"of {self._arguments}"
                )
            self._patches.append((index, first + word, offset))
        for word, offset in arena:
            if not 0 <= word < len(words):
                raise InvalidArgumentError(f"plan: a step of {len(words)} words has no word {word}")
            self._arena.append((first + word, offset))
        return first

    def add_step(
        self,
        function: int,
        words: Sequence[int],
        arguments: Iterable[Argument] = (),
        arena: Iterable[Arena] = (),
        keep: Iterable[Any] = (),
    ) -> int:
        """Append a step; returns its number. `function` may be 0 and set later; `keep` lives as long as the
        plan.
        """
        self._steps.append((function, self._block(words, arguments, arena)))
        self._keep += keep
        return len(self._steps) - 1

    def add_row(self, row: Row) -> int:
        """Append a step with the tables that it walks; returns its number."""
        found = self._nested(row)
        self._steps.append((row.function, found.first))
        self._placed.append((row, found))
        return len(self._steps) - 1

    def _nested(self, row: Row) -> _Block:
        """The block of a row, after those of the rows in its tables."""
        self._runs_python = self._runs_python or calls.is_kernel(row.function)
        first = self._block(row.words, row.arguments, row.arena)
        self._owned += [Owned(first + word, make) for word, make in row.owned]
        blocks: list[list[_Block]] = []
        for word, rows in row.tables:
            inner = [self._nested(other) for other in rows]
            blocks.append(inner)
            self._inner.append((first + word, len(self._words)))
            for other, block in zip(rows, inner, strict=True):
                self._inner.append((len(self._words) + 1, block.first))
                self._words += [_signed(other.function), 0]
        for word, table, number, place in row.pointers:
            self._inner.append((first + word, blocks[table][number].first + place))
        return _Block(first, blocks)

    def _patch(self, rows: Iterable[Row], blocks: Iterable[_Block]) -> None:
        """Let words of rows, and of those in their tables, point to words of other rows of the plan."""
        for row, block in zip(rows, blocks, strict=True):
            for word, (at, *path), inner in row.patches:
                target = self._placed[at][1]
                for table, number in zip(path[::2], path[1::2], strict=True):
                    target = target.tables[table][number]
                self._inner.append((block.first + word, target.first + inner))
            for (_, inside), placed in zip(row.tables, block.tables, strict=True):
                self._patch(inside, placed)

    def add_region(
        self, function: int, rows: Sequence[Row], control: int, keep: Iterable[Any] = ()
    ) -> tuple[int, list[int]]:
        """Append a step that shares `rows` among threads; returns its number and, per row, the word of its
        function's address.

        `function` is the address of the region kernel and `control` the pool's control block (see `pool`).
        """
        blocks = [self._nested(row).first for row in rows]
        table = len(self._words)
        for row, block in zip(rows, blocks, strict=True):
            self._inner.append((len(self._words) + 1, block))
            self._words += [row.function, 0]
        first = len(self._words)
        self._inner.append((first, table))
        self._words += [0, len(rows), control]
        self._steps.append((function, first))
        self._keep += keep
        functions = [table + 2 * k for k in range(len(rows))]
        self._rows += functions
        return len(self._steps) - 1, functions

    def build(
        self, arena_bytes: int = 0, release_lock: bool = False, guard: np.ndarray | None = None
    ) -> PlanImage:
        """The finished plan; `guard` (see `entry.make_guard`) is then checked by every run."""
        self._patch([row for row, _ in self._placed], [block for _, block in self._placed])
        flags = entry_text.RELEASE_LOCK if release_lock else 0
        if self._runs_python:
            flags = entry_text.RELEASE_LOCK | entry_text.KEEP_LOCK
        return PlanImage(
            self._arguments,
            tuple(self._steps),
            tuple(self._words),
            tuple(sorted(self._patches)),
            tuple(self._arena),
            tuple(self._inner),
            tuple(self._rows),
            tuple(self._owned),
            arena_bytes,
            flags,
            guard,
            tuple(self._keep),
        )


def _signed(word: int) -> int:
    """An unsigned 64-bit pattern (an address, a bit pattern) as the signed word that is stored."""
    word = int(word)
    return word - (1 << 64) if word >= 1 << 63 else word


def aligned_bytes(count: int) -> np.ndarray:
    """Uninitialised memory that begins at a multiple of 64."""
    raw = np.empty(count + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + count]


class PlanImage:
    """A plan before it has memory of its own, and the free list of its instances."""

    def __init__(
        self,
        arguments: int,
        steps: tuple[tuple[int, int], ...],
        words: tuple[int, ...],
        patches: tuple[tuple[int, int, int], ...],
        arena: tuple[tuple[int, int], ...],
        inner: tuple[tuple[int, int], ...],
        rows: tuple[int, ...],
        owned: tuple[Owned, ...],
        arena_bytes: int,
        flags: int,
        guard: np.ndarray | None,
        keep: tuple[Any, ...],
    ) -> None:
        self.arena_bytes = arena_bytes
        self._table = entry_text.HEADER_WORDS
        self._patch_table = self._table + 2 * len(steps)
        self._held = self._patch_table + entry_text.PATCH_WORDS * len(patches)
        self._first = self._held + arguments
        self._arena, self._inner, self._guard, self._keep = arena, inner, guard, keep
        self._owned = owned
        self._blocks = [first for _, first in steps]
        words_ = np.zeros(self._first + len(words), np.int64)
        words_[self._first :] = words
        words_[entry_text.H_MAGIC] = entry_text.MAGIC
        words_[entry_text.H_FLAGS] = flags
        words_[entry_text.H_STEPS], words_[entry_text.H_PATCHES] = len(steps), len(patches)
        words_[entry_text.H_ARGUMENTS] = arguments
        words_[entry_text.H_GUARD] = 0 if guard is None else guard.ctypes.data
        words_[self._table : self._patch_table : 2] = [_signed(function) for function, _ in steps]
        words_[self._patch_table : self._held] = [word for patch in patches for word in patch]
        self._image = words_
        self._functions = [self._table + 2 * k for k in range(len(steps))] + [
            self._first + word for word in rows
        ]
        self._idle: list[Instance] = []
        self._made: weakref.WeakSet[Instance] = weakref.WeakSet()

    def instance(self) -> Instance:
        """Fresh memory that runs this plan."""
        words = self._image.copy()
        base = int(words.ctypes.data)
        block = base + 8 * self._first
        words[entry_text.H_CONTEXT] = entry.context_address()
        for word, first in (
            (entry_text.H_TABLE, self._table),
            (entry_text.H_BLOCK, self._first),
            (entry_text.H_PATCH_TABLE, self._patch_table),
            (entry_text.H_HELD, self._held),
        ):
            words[word] = base + 8 * first
        words[self._table + 1 : self._patch_table : 2] = [block + 8 * first for first in self._blocks]
        for word, target in self._inner:
            words[self._first + word] = block + 8 * target
        arena = aligned_bytes(self.arena_bytes)
        start = int(arena.ctypes.data)
        for word, offset in self._arena:
            words[self._first + word] = start + offset
        owned = [make() for _, make in self._owned]
        for (word, _), each in zip(self._owned, owned, strict=True):
            words[self._first + word] = id(each)
        keep = (self._guard, self._keep, owned)
        made = Instance(words, arena, self._table, self._first, self._blocks, keep)
        self._made.add(made)
        for place in self._functions:  # a kernel that arrived since the copy
            words[place] = self._image[place]
        return made

    def acquire(self) -> Instance:
        """An idle instance, or a new one; list operations are atomic, so threads need no lock here."""
        try:
            return self._idle.pop()
        except IndexError:
            return self.instance()

    def release(self, instance: Instance) -> None:
        self._idle.append(instance)

    def set_function(self, step: int, address: int) -> None:
        """Give a step its kernel, in the image and in every instance, running or not: one aligned store each."""
        self._image[self._table + 2 * step] = _signed(address)
        for made in tuple(self._made):
            made.set_function(step, address)

    @property
    def is_ready(self) -> bool:
        """Whether every step and every row of a region has a kernel."""
        return bool(np.all(self._image[self._functions]))


class Instance:
    """Memory of one running plan. `run(*arrays)` is the hot call; see `entry.run` for its answers."""

    __slots__ = ("__weakref__", "_blocks", "_table", "address", "arena", "first", "owned", "run", "words")

    def __init__(
        self,
        words: np.ndarray,
        arena: np.ndarray,
        table: int,
        first: int,
        blocks: list[int],
        keep: tuple[Any, ...],
    ) -> None:
        self.words, self.arena, self.first = words, arena, first
        self._table, self._blocks = table, blocks
        self.owned: list[Any] = keep[-1]
        self.address = int(words.ctypes.data)
        self.run = entry.bind_run(words, (arena, *keep))

    def scalar(self, offset: int, dtype: np.dtype[Any]) -> np.ndarray:
        """The scalar at an offset of the workspace, an array of rank 0."""
        return self.arena[offset : offset + dtype.itemsize].view(dtype).reshape(())

    def words_at(self, offset: int, count: int) -> np.ndarray:
        """Words of the workspace, from an offset in bytes."""
        return self.arena[offset : offset + 8 * count].view(np.int64)

    def part(self, offset: int, count: int) -> np.ndarray:
        """Bytes of the workspace."""
        return self.arena[offset : offset + count]

    def trim(self) -> None:
        """Free large memory that only the last run has needed."""
        for each in self.owned:
            each.trim()

    def set_function(self, step: int, address: int) -> None:
        self.words[self._table + 2 * step] = _signed(address)

    def set_word(self, step: int, word: int, value: int) -> None:
        """Change one word of a step (a size, a stride, a scalar) between runs."""
        self.words[self.first + self._blocks[step] + word] = _signed(value)

    @property
    def failed_step(self) -> int:
        """The step that returned the last non-zero status."""
        return int(self.words[entry_text.H_FAILED])
