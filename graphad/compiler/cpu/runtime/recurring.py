"""Linear recurrences of NumPy arrays by a native loop, whose products and sums are rounded as NumPy's are."""

from __future__ import annotations

import functools
import math

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native
from graphad.core.errors import InternalError

# Words of a block: the addresses of the first elements; how many groups of lines, and how far apart; how many elements of a
# line, and how far apart; how many lines of a group, and how far apart.
TARGET, FACTORS, ADDED, GROUPS, GROUP, LENGTH, STEP, LINES, LINE = range(9)
_KINDS = {"f": "float", "d": "double"}
_NAME = "graphad_recurrence"
_AT_ONCE = 8  # lines, whose steps wait for each other in turns


def text(kind: str) -> str:
    """The step `i32 f(ret, exc, block)`: y[k] = a[k] y[k - 1] + b[k] along each line, beginning with b[0]."""
    f = Function(f"i32 @{_NAME}(ptr %ret, ptr %exc, i64 %block)")
    f.do("%w = inttoptr i64 %block to ptr")
    target, factors, added = (f.pointer("%w", k) for k in (TARGET, FACTORS, ADDED))
    groups, group, length, step, lines, line = (f.word("%w", k) for k in range(GROUPS, LINE + 1))

    def load(base: str, at: str) -> str:
        return f.emit(f"load {kind}, ptr {f.at(base, at, kind)}")

    def place(base: str, count: str, apart: str) -> str:
        return f.emit(f"add i64 {base}, {f.emit(f'mul i64 {count}, {apart}')}")

    with f.loop(0, groups) as g:
        start = f.emit(f"mul i64 {g}, {group}")
        with f.loop(0, lines) as j:
            at = place(start, j, line)
            f.do(f"store {kind} {load(added, at)}, ptr {f.at(target, at, kind)}")
        with f.loop(1, length) as k:
            row = place(start, k, step)
            with f.loop(0, lines) as j:
                at = place(row, j, line)
                before = load(target, f.emit(f"sub i64 {at}, {step}"))
                product = f.emit(f"fmul {kind} {load(factors, at)}, {before}")
                total = f.emit(f"fadd {kind} {product}, {load(added, at)}")
                f.do(f"store {kind} {total}, ptr {f.at(target, at, kind)}")
    f.ret(0)
    return f.text()


@functools.cache
def _step(letter: str) -> int:
    what = f"recurrence {letter}"
    _, made = native.soon(what, driver.load, lambda: native.printed(text, _KINDS[letter], symbols=(_NAME,)))
    return int(made[_NAME])


def recurrence(a: np.ndarray, b: np.ndarray, axis: int, backwards: bool, shifted: bool) -> np.ndarray:
    """y[k] = a[k] y[k - 1] + b[k] along an axis, from b[0] on.

    Args:
      a, b: Arrays of one shape with elements, both float32 or float64.
      backwards: From the end: y[k] = a[k] y[k + 1] + b[k].
      shifted: The factors are those of the elements before: a[k - 1], or backwards a[k + 1].
    """
    axis %= a.ndim
    given = [np.ascontiguousarray(z) for z in (a, b)]
    y = np.empty(b.shape, b.dtype)
    length, inner = a.shape[axis], math.prod(a.shape[axis + 1 :])
    outer, size = math.prod(a.shape[:axis]), y.itemsize
    step = -inner if backwards else inner
    first = (length - 1) * inner if backwards else 0
    at = np.array(
        [y.ctypes.data, given[0].ctypes.data - (step * size if shifted else 0), given[1].ctypes.data],
        np.int64,
    )
    at += first * size
    if inner > 1:
        parts = [(0, outer, length * inner, inner, 1)]
    else:
        whole, rest = divmod(outer, _AT_ONCE)
        parts = [
            (0, whole, _AT_ONCE * length, _AT_ONCE, length),
            (whole * _AT_ONCE * length, 1, 0, rest, length),
        ]
    blocks = [
        np.array([*(at + begin * size), groups, group, length, step, lines, line], np.int64)
        for begin, groups, group, lines, line in parts
    ]
    function = _step(y.dtype.char)
    table = np.array([(function, block.ctypes.data) for block in blocks], np.int64)
    status, _ = driver.run_table(table)
    if status:
        raise InternalError(f"linear_recurrence: a step ended with status {status}")
    return y
