"""Shared by the native loops of all devices: the number of rounds, and how addresses move from slice to slice.

The block of a loop is laid out in `compiler/rows.py`. What differs is in `cpu/runtime/repeat.py` and `cuda/walk.py`: how a number
is read from the device, how a table of steps is run, and when signals are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphad.compiler.assembly import Function
from graphad.compiler.rows import (
    CELL_ADDRESS,
    MOST,
    MOVE,
    MOVE_WORDS,
    MOVES,
    REVERSE,
    STEPS,
    TOO_LONG,
    WRONG_STEPS,
)

SMAX = "declare i64 @llvm.smax.i64(i64, i64)"


class Moves:
    """The moves of a loop whose block is at `w`, and which ends before round `end`."""

    def __init__(self, f: Function, w: str, end: str) -> None:
        self._function, self._block = f, w
        self._last = f.emit(f"sub i64 {f.emit(f'call i64 @llvm.smax.i64(i64 {end}, i64 1)')}, 1")
        self._backwards, self._count = f.word(w, REVERSE), f.word(w, MOVES)

    def begin(self) -> None:
        """Each word becomes the address of its first slice, or of its last one where the loop runs backwards."""
        f = self._function
        for target, row in self._rows():
            stride = f.word(row, 2)  # negative then
            back = f.choose(
                f.test("ne", self._backwards, 0), "i64", f.emit(f"mul i64 {self._last}, {stride}"), 0
            )
            base, cell = f.slot("i64", f.word(row, 1)), f.pointer(row, 3)
            with f.when(f.test("ne", cell, "null", "ptr")):
                base.set(f.emit(f"add i64 {base.get()}, {f.word(cell, CELL_ADDRESS)}"))
            f.do(f"store i64 {f.emit(f'sub i64 {base.get()}, {back}')}, ptr {target}, align 8")

    def follow(self, count: str) -> None:
        """After `count` rounds of a loop that runs forwards, its stacks lie elsewhere."""
        f = self._function
        for target, row in self._rows():
            cell = f.pointer(row, 3)
            with f.when(f.test("ne", cell, "null", "ptr")):
                base = f.emit(f"add i64 {f.word(row, 1)}, {f.word(cell, CELL_ADDRESS)}")
                value = f.emit(f"add i64 {base}, {f.emit(f'mul i64 {count}, {f.word(row, 2)}')}")
                f.do(f"store i64 {value}, ptr {target}, align 8")

    def advance(self) -> None:
        """Each word becomes the address of the next slice."""
        f = self._function
        for target, row in self._rows():
            value = f.emit(f"load i64, ptr {target}, align 8")
            f.do(f"store i64 {f.emit(f'add i64 {value}, {f.word(row, 2)}')}, ptr {target}, align 8")

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Once, inside a printed loop over the moves: the word that moves, and the row that says how."""
        f = self._function
        with f.loop(0, self._count) as k:
            row = f.at(self._block, f.emit(f"add i64 {f.emit(f'mul i64 {k}, {MOVE_WORDS}')}, {MOVE}"))
            yield f.pointer(row, 0), row


def check_rounds(f: Function, w: str, limit: str) -> None:
    """Return a status if the plan relies on another number of rounds, or the stacks have too few slices."""
    most, steps = f.word(w, MOST), f.word(w, STEPS)
    rounds = f.emit(f"call i64 @llvm.smax.i64(i64 {limit}, i64 0)")
    with f.when(f.emit(f"and i1 {f.test('sge', steps, 0)}, {f.test('ne', rounds, steps)}")):
        f.ret(WRONG_STEPS)
    with f.when(f.emit(f"and i1 {f.test('sge', most, 0)}, {f.test('sgt', limit, most)}")):
        f.ret(TOO_LONG)
