"""The stacks of a loop of which only the run knows how many slices they have.

Their memory is NumPy arrays, which an object of the plan's instance owns. The loop has room for a number of slices and asks that
object for more under the interpreter's lock; room that is not large is kept for the next run. `compiler/rows.py` has the words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import calls, native
from graphad.compiler.rows import (
    CELL_ADDRESS,
    CELL_SLICES,
    CELL_WRITTEN,
    G_BYTES,
    G_CELL,
    G_LONG,
    G_MEMORY,
    GROW,
    GROW_WORDS,
    NEED_LIMIT,
    S_API,
    S_CAPACITY,
    S_END,
    S_FIRST,
    S_GROWN,
    S_LIKE,
    S_NEED,
    S_OWNER,
    S_PAIR,
    S_SLICES,
    S_TESTED,
    S_USED,
    S_WALKED,
    S_WANTED,
    TOO_LONG,
)
from graphad.core.errors import ResourceExhaustedError
from graphad.core.frames import note_traced_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphad.compiler.rows import About

_KEPT_BYTES = 1 << 19  # of one loop's stacks that stay with an instance
_FIRST_BYTES = 1 << 14  # of one loop's stacks, unless there are fewer rounds


# The lines that a loop prints at its beginning, in each round and at its end.


def _grown(f: Function, s: str) -> Iterator[str]:
    """Once, inside a printed loop over the stacks: the words of one."""
    with f.loop(0, f.word(s, S_GROWN)) as k:
        yield f.at(s, f.emit(f"add i64 {f.emit(f'mul i64 {k}, {GROW_WORDS}')}, {GROW}"))


def _asking() -> str:
    """`i64 @stacks_ask(s, slices)`: make room for so many slices, and let all cells know where they are."""
    f = Function("i64 @stacks_ask(ptr %s, i64 %slices)", "internal", "nounwind noinline")
    status = f.slot("i64", 0)
    with f.when(f.test("sgt", "%slices", f.word("%s", S_CAPACITY))):
        f.set_word("%s", S_WANTED, "%slices")
        block = f.emit("ptrtoint ptr %s to i64")
        found = calls.called(f, f.pointer("%s", S_API), f.pointer("%s", S_OWNER), block)
        status.set(f.emit(f"sext i32 {found} to i64"))
    with f.when(f.test("ne", status.get(), 0)):
        f.ret(status.get())
    first = f.word("%s", S_FIRST)
    for row in _grown(f, "%s"):
        memory = f.word(row, G_MEMORY)
        start = f.emit(f"add i64 {memory}, {f.emit(f'mul i64 {first}, {f.word(row, G_BYTES)}')}")
        f.set_word(f.pointer(row, G_CELL), CELL_ADDRESS, start)
        long = f.pointer(row, G_LONG)
        with f.when(f.test("ne", long, "null", "ptr")):
            f.set_word(long, 0, memory)
    f.ret(0)
    return f.text()


def _beginning() -> str:
    """`i64 @stacks_begin(s, end)`: check what is walked, and make room for the slices that are known to be written."""
    f = Function("i64 @stacks_begin(ptr %s, i64 %end)", "internal", "nounwind noinline")
    grown = f.word("%s", S_GROWN)
    cells = f.at("%s", f.emit(f"add i64 {f.emit(f'mul i64 {grown}, {GROW_WORDS}')}, {GROW}"))
    with f.loop(0, f.word("%s", S_WALKED)) as k:
        with f.when(f.test("sgt", "%end", f.word(f.pointer(cells, k), CELL_SLICES))):
            f.ret(TOO_LONG)
    with f.when(f.test("eq", grown, 0)):
        f.ret(0)
    f.set_word("%s", S_END, "%end")
    used = f.pointer("%s", S_USED)
    f.set_word("%s", S_FIRST, 0)
    with f.when(f.test("ne", used, "null", "ptr")):
        f.set_word("%s", S_FIRST, f.word(used, 0))
    slices = f.slot("i64", f.word("%s", S_NEED))
    rounds = f.emit("call i64 @llvm.smax.i64(i64 %end, i64 0)")
    with f.when(f.test("eq", slices.get(), NEED_LIMIT)):
        slices.set(rounds)
    like = f.pointer("%s", S_LIKE)
    with f.when(f.test("ne", like, "null", "ptr")):
        slices.set(f.word(like, CELL_SLICES))
    f.set_word("%s", S_SLICES, slices.get())  # negative: as many as there will be rounds
    least = f.emit(f"call i64 @llvm.smax.i64(i64 {slices.get()}, i64 0)")
    wanted = f.emit(f"add i64 {f.word('%s', S_FIRST)}, {least}")
    status = f.emit(f"call i64 @stacks_ask(ptr %s, i64 {wanted})")
    with f.when(f.test("ne", status, 0)):
        f.ret(status)
    is_short = f.emit(f"or i1 {f.test('slt', rounds, least)}, {f.test('ne', f.word('%s', S_TESTED), 0)}")
    with f.when(f.emit(f"and i1 {is_short}, {f.test('sgt', least, 0)}")):
        for row in _grown(f, "%s"):
            start = f.pointer(f.pointer(row, G_CELL), CELL_ADDRESS)
            size = f.emit(f"mul i64 {least}, {f.word(row, G_BYTES)}")
            f.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {size}, i1 false)")
    f.ret(0)
    return f.text()


def _ending() -> str:
    """`void @stacks_end(s, count)`: say how many slices there are after so many rounds."""
    f = Function("void @stacks_end(ptr %s, i64 %count)", "internal", "nounwind noinline")
    known = f.word("%s", S_SLICES)
    slices = f.choose(f.test("sge", known, 0), "i64", known, "%count")
    for row in _grown(f, "%s"):
        cell = f.pointer(row, G_CELL)
        f.set_word(cell, CELL_SLICES, slices)
        f.set_word(cell, CELL_WRITTEN, "%count")
    used = f.pointer("%s", S_USED)
    with f.when(f.test("ne", used, "null", "ptr")):
        first, pair = f.word("%s", S_FIRST), f.pointer("%s", S_PAIR)
        f.set_word(pair, 0, first)
        f.set_word(pair, 1, slices)
        f.set_word(used, 0, f.emit(f"add i64 {first}, {slices}"))
    f.ret()
    return f.text()


MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"


def functions() -> list[str]:
    """The functions that a loop calls."""
    return [MEMSET, _asking(), _beginning(), _ending()]


def text() -> str:
    """`i32 graphad_part(ret, exc, block)`: the cell of one slice of a stack of stacks."""
    f = Function("i32 @graphad_part(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    pair, long, cell = f.pointer(w, P_PAIR), f.pointer(w, P_LONG), f.pointer(w, P_CELL)
    offset = f.emit(f"mul i64 {f.word(pair, 0)}, {f.word(w, P_BYTES)}")
    f.set_word(cell, CELL_ADDRESS, f.emit(f"add i64 {f.word(long, 0)}, {offset}"))
    f.set_word(cell, CELL_SLICES, f.word(pair, 1))
    f.ret(0)
    return f.text()


P_PAIR, P_LONG, P_CELL, P_BYTES = range(4)  # words of the block of that step


_addresses: dict[str, int] = {}


def kernel() -> int:
    """The address of that step's kernel."""
    return native.once(
        _addresses, "graphad_part", lambda: native.printed(text, symbols=["graphad_part"])["graphad_part"]
    )


class Stacks:
    """The memory of one loop's stacks in one instance of a plan.

    Attributes:
      slices: Shape and dtype of the slices of each stack.
      about: What errors say of the loop.
    """

    __slots__ = ("_arrays", "_bytes", "_words", "about", "slices")

    def __init__(self, slices: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], about: About) -> None:
        self.slices, self.about = slices, about
        self._arrays: list[np.ndarray] = []
        self._bytes = sum([_bytes(*each) for each in slices])
        self._words: Any = None

    def __call__(self, block: int) -> None:
        """Make room; `block` is the address of the words of the stacks. The slices that there are stay."""
        words = self._words
        if words is None:
            count = GROW + GROW_WORDS * len(self.slices)
            words = self._words = (ctypes.c_int64 * count).from_address(block)
        wanted, before = words[S_WANTED], words[S_CAPACITY]
        part = 1
        arrays: list[np.ndarray] = []
        while not arrays:
            count = max(before + before // part, wanted, _FIRST_BYTES // max(self._bytes, 1))
            if not words[S_USED]:
                count = max(min(count, words[S_END]), wanted)
            try:
                arrays = self._made(count)
            except ResourceExhaustedError:
                part *= 4
                if part > 16:  # never only the next slice: each time all are copied
                    self._free()  # at once, whoever keeps the error
                    raise
        for old, new in zip(self._arrays, arrays, strict=False):
            new[:before] = old
        self._arrays = arrays
        for k, array in enumerate(arrays):
            words[GROW + GROW_WORDS * k + G_MEMORY] = array.ctypes.data
        words[S_CAPACITY] = len(arrays[0])

    def _made(self, count: int) -> list[np.ndarray]:
        try:
            return [np.empty((count, *shape), dtype) for shape, dtype in self.slices]
        except (MemoryError, ValueError) as error:  # the latter for more bytes than there are addresses
            raise self._exhausted(count, error) from error

    def _exhausted(self, count: int, error: Exception) -> ResourceExhaustedError:
        made = ResourceExhaustedError(
            f"{self.about.what}: what it collects takes {self._bytes} bytes in each step, for {count} steps "
            f"{self._bytes * count} bytes, and there is not enough memory ({error}); use fewer steps or smaller batches."
        )
        note_traced_line(made, self.about.line)
        return made

    def trim(self) -> None:
        """Free what is large."""
        words = self._words
        if words is not None and self._bytes * words[S_CAPACITY] > _KEPT_BYTES:
            self._free()

    def _free(self) -> None:
        self._words[S_CAPACITY], self._arrays = 0, []


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    size = dtype.itemsize
    for n in shape:
        size *= n
    return size


def words_of(slices: Sequence[tuple[tuple[int, ...], np.dtype[Any]]], walked: int) -> list[int]:
    """The words of stacks, with what is known of them before a run; the rest are addresses or the loop's."""
    words = [0] * (GROW + GROW_WORDS * len(slices) + walked)
    words[S_API], words[S_GROWN], words[S_WALKED] = calls.functions(), len(slices), walked
    for k, each in enumerate(slices):
        words[GROW + GROW_WORDS * k + G_BYTES] = _bytes(*each)
    return words
