"""Solutions and Cholesky factors of stacks of matrices as plan steps, with the bits of the eager ops.

NumPy computes both in float64, whatever the dtype, by the routines of the library that it carries. A step does the same for one
matrix after the other: it copies by columns into its workspace, calls the routine by address, and copies back. For a triangle it
puts in one element of the solution after the other itself, in the order of the eager op. Matrices that hold
NaN or infinity have factors of NaN, where the op's have. Where a routine has no answer for another one the step ends with
NO_ANSWER: the run is made again op by op, which gives the op's own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import blas, limit, native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER as NO_ANSWER
from graphad.core.errors import UnavailableError
from graphad.kernels import forms

BATCH_RANK = 4
WHOLE, LOWER, UPPER = range(3)  # the triangle of a matrix that is read; its other elements count as 0

# words of the step's block; strides in bytes
FUNCTION, N, K, PART, LETTER, A, B, Y, WORK = range(9)
A_STEPS, B_STEPS, Y_STEPS = 9, 11, 13  # two words each: from row to row, from column to column
BATCH, A_BATCH, B_BATCH, Y_BATCH = 15, 19, 23, 27  # four words each
HAS_NAN = 31  # whether a matrix without a factor was not finite
# the control block of the limit on threads, 0 where there can be none, and the functions that begin and end it
CONTROL, ENTER, LEAVE = 32, 33, 34
WORD_COUNT = 35

Walk = tuple[Sequence[int], Sequence[int]]
_KINDS = {4: "float", 8: "double"}
_NAMES = {"gesv": "graphad_gesv", "potrf": "graphad_potrf", "trtrs": "graphad_trtrs"}


def _address(f: Function, base: str, w: str, steps: int, i: str, j: str) -> str:
    at = f.at(base, f.emit(f"mul i64 {i}, {f.word(w, steps)}"), "i8")
    return f.at(at, f.emit(f"mul i64 {j}, {f.word(w, steps + 1)}"), "i8")


def _load(f: Function, size: int, place: str) -> str:
    value = f.emit(f"load {_KINDS[size]}, ptr {place}")
    return value if size == 8 else f.emit(f"fpext float {value} to double")


def _store(f: Function, size: int, value: str, place: str) -> None:
    rounded = value if size == 8 else f.emit(f"fptrunc double {value} to float")
    f.do(f"store {_KINDS[size]} {rounded}, ptr {place}")


def _in_columns(
    f: Function, size: int, w: str, base: str, steps: int, columns: str, to: str, part: str
) -> None:
    """Copy a matrix of n rows into `to` by columns, in float64."""
    n = f.word(w, N)
    with f.loop(0, columns) as j:
        column = f.at(to, f.emit(f"mul i64 {j}, {n}"), "double")
        with f.loop(0, n) as i:
            value = _load(f, size, _address(f, base, w, steps, i, j))
            if part:
                above = f.emit(f"and i1 {f.test('eq', part, LOWER)}, {f.test('sgt', j, i)}")
                below = f.emit(f"and i1 {f.test('eq', part, UPPER)}, {f.test('slt', j, i)}")
                value = f.choose(f.emit(f"or i1 {above}, {below}"), "double", "0.0", value)
            f.do(f"store double {value}, ptr {f.at(column, i, 'double')}")


def _unanswered(f: Function, done: str) -> None:
    """End the step if the routine has said that it has no answer."""
    with f.when(f.test("ne", f.emit(f"load i64, ptr {done}"), 0)):
        f.ret(NO_ANSWER)


def _is_finite(f: Function, size: int, w: str, a: str) -> str:
    """Whether a matrix holds neither NaN nor infinity, as i1."""
    n, found = f.word(w, N), f.slot("i1", 1)
    with f.loop(0, n) as i:
        with f.loop(0, n) as j:
            value = _load(f, size, _address(f, a, w, A_STEPS, i, j))
            rest = f.emit(f"fsub double {value}, {value}")
            found.set(f.emit(f"and i1 {found.get()}, {f.emit(f'fcmp ord double {rest}, {rest}')}"))
    return found.get()


def _call(f: Function, w: str, given: str) -> None:
    """Call the routine, with one thread for matrices of some sizes, which only the run may know."""
    control, one = f.pointer(w, CONTROL), forms.ON_ONE_THREAD
    past = f.emit(f"sub i64 {f.word(w, N)}, {one.start}")
    is_limited = f.emit(f"and i1 {f.test('ult', past, len(one))}, {f.test('ne', control, 'null', 'ptr')}")
    with f.when(is_limited):
        f.do(f"call void {f.pointer(w, ENTER)}(ptr {control}, i32 1)")
    f.do(f"call void {f.pointer(w, FUNCTION)}({given})")
    with f.when(is_limited):
        f.do(f"call void {f.pointer(w, LEAVE)}(ptr {control})")


def _solve(f: Function, size: int, w: str, a: str, b: str, y: str, done: str) -> None:
    n, k, matrix = f.word(w, N), f.word(w, K), f.pointer(w, WORK)
    right = f.at(matrix, f.emit(f"mul i64 {n}, {n}"), "double")
    pivots = f.at(right, f.emit(f"mul i64 {n}, {k}"), "double")
    _in_columns(f, size, w, a, A_STEPS, n, matrix, f.word(w, PART))
    _in_columns(f, size, w, b, B_STEPS, k, right, "")
    sizes = f.at(w, N), f.at(w, K)
    given = [sizes[0], sizes[1], matrix, sizes[0], pivots, right, sizes[0], done]
    _call(f, w, ", ".join(f"ptr {x}" for x in given))
    _unanswered(f, done)
    with f.loop(0, k) as j:
        column = f.at(right, f.emit(f"mul i64 {j}, {n}"), "double")
        with f.loop(0, n) as i:
            value = f.emit(f"load double, ptr {f.at(column, i, 'double')}")
            _store(f, size, value, _address(f, y, w, Y_STEPS, i, j))


def _substitute(f: Function, size: int, w: str, a: str, b: str, y: str, done: str) -> None:
    """The solution for a triangle: each row of it, once divided, is taken from all further ones, for all right-hand sides."""
    n, k, matrix = f.word(w, N), f.word(w, K), f.pointer(w, WORK)
    right = f.at(matrix, f.emit(f"mul i64 {n}, {n}"), "double")
    is_lower = f.test("eq", f.word(w, PART), LOWER)
    _in_columns(f, size, w, a, A_STEPS, n, matrix, f.word(w, PART))

    def row(i: str) -> str:
        return f.at(right, f.emit(f"mul i64 {i}, {k}"), "double")

    with f.loop(0, n) as i:
        with f.loop(0, k) as j:
            value = _load(f, size, _address(f, b, w, B_STEPS, i, j))
            f.do(f"store double {value}, ptr {f.at(row(i), j, 'double')}")
    with f.loop(0, n) as s:
        last = f.emit(f"sub i64 {f.emit(f'sub i64 {n}, 1')}, {s}")
        at = f.choose(is_lower, "i64", s, last)
        column = f.at(matrix, f.emit(f"mul i64 {at}, {n}"), "double")
        pivot = f.emit(f"load double, ptr {f.at(column, at, 'double')}")
        with f.when(f.emit(f"fcmp oeq double {pivot}, 0.0")):
            f.ret(NO_ANSWER)
        found = row(at)
        f.do(f"call void @quotients(ptr {found}, double {pivot}, i64 {k})")
        first = f.choose(is_lower, "i64", f.emit(f"add i64 {at}, 1"), 0)
        with f.loop(first, f.choose(is_lower, "i64", n, at)) as i:
            factor = f.emit(f"load double, ptr {f.at(column, i, 'double')}")
            f.do(f"call void @taken_off(ptr {row(i)}, ptr {found}, double {factor}, i64 {k})")
    with f.loop(0, n) as i:
        with f.loop(0, k) as j:
            value = f.emit(f"load double, ptr {f.at(row(i), j, 'double')}")
            _store(f, size, value, _address(f, y, w, Y_STEPS, i, j))


def _on_rows() -> str:
    """What `_substitute` does with rows: products are rounded before they are taken off."""
    f = Function("void @quotients(ptr noalias %x, double %by, i64 %n)", "internal", "nounwind alwaysinline")
    with f.loop(0, "%n") as k:
        place = f.at("%x", k, "double")
        x = f.emit(f"load double, ptr {place}")
        f.do(f"store double {f.emit(f'fdiv double {x}, %by')}, ptr {place}")
    f.ret()
    g = Function(
        "void @taken_off(ptr noalias %x, ptr noalias %y, double %factor, i64 %n)",
        "internal",
        "nounwind alwaysinline",
    )
    with g.loop(0, "%n") as k:
        place = g.at("%x", k, "double")
        x, y = (g.emit(f"load double, ptr {at}") for at in (place, g.at("%y", k, "double")))
        part = g.emit(f"fmul double %factor, {y}")
        g.do(f"store double {g.emit(f'fsub double {x}, {part}')}, ptr {place}")
    g.ret()
    return f"{f.text()}\n{g.text()}"


def _factor(f: Function, size: int, w: str, a: str, b: str, y: str, done: str) -> None:
    n, matrix, count = f.word(w, N), f.pointer(w, WORK), f.at(w, N)
    _in_columns(f, size, w, a, A_STEPS, n, matrix, "")
    given = [f.at(w, LETTER), count, matrix, count, done]
    _call(f, w, ", ".join(f"ptr {x}" for x in given) + ", i64 1")
    with f.when(f.test("ne", f.emit(f"load i64, ptr {done}"), 0)):
        with f.when(_is_finite(f, size, w, a)):
            f.ret(NO_ANSWER)
        f.set_word(w, HAS_NAN, 1)
    with f.loop(0, n) as j:
        column = f.at(matrix, f.emit(f"mul i64 {j}, {n}"), "double")
        with f.loop(0, n) as i:
            value = f.emit(f"load double, ptr {f.at(column, i, 'double')}")
            kept = f.choose(f.test("sgt", j, i), "double", "0.0", value)
            _store(f, size, kept, _address(f, y, w, Y_STEPS, i, j))


def _nan_of(f: Function, size: int, w: str, a: str, b: str, y: str, done: str) -> None:
    """The factor of a matrix that is not finite: the op gives NaN for all of them in a stack if one has no factor."""
    n = f.word(w, N)
    with f.when(f.emit(f"xor i1 {_is_finite(f, size, w, a)}, true")):
        with f.loop(0, n) as i:
            with f.loop(0, n) as j:
                kept = f.choose(f.test("sgt", j, i), "double", "0.0", "0x7FF8000000000000")
                _store(f, size, kept, _address(f, y, w, Y_STEPS, i, j))


def text(size: int) -> str:
    """The step kernels for elements of one size."""
    found = [_on_rows()]
    for routine, compute in (("gesv", _solve), ("potrf", _factor), ("trtrs", _substitute)):
        f = Function(f"i32 @{_NAMES[routine]}(ptr %ret, ptr %exc, i64 %block)")
        w = f.emit("inttoptr i64 %block to ptr")
        done = f.slot("i64", 0)

        def descend(f: Function, w: str, depth: int, places: list[str], done: Any, compute: Any) -> None:
            if depth == BATCH_RANK:
                compute(f, size, w, *places, done.address)
                return
            steps = [f.word(w, first + depth) for first in (A_BATCH, B_BATCH, Y_BATCH)]
            with f.loop(0, f.word(w, BATCH + depth)) as i:
                moved = [
                    f.at(p, f.emit(f"mul i64 {i}, {s}"), "i8") for p, s in zip(places, steps, strict=True)
                ]
                descend(f, w, depth + 1, moved, done, compute)

        with f.when(f.test("eq", f.word(w, N), 0)):  # which the routines refuse as the length of a column
            f.ret(0)
        f.set_word(w, HAS_NAN, 0)
        operands = [f.pointer(w, word) for word in (A, B, Y)]
        descend(f, w, 0, operands, done, compute)
        if compute is _factor:
            with f.when(f.test("ne", f.word(w, HAS_NAN), 0)):
                descend(f, w, 0, operands, done, _nan_of)
        f.ret(0)
        found.append(f.text())
    return "\n".join(found)


_addresses: dict[int, dict[str, int]] = {}
_right: dict[str, bool] = {}


def kernel(routine: str, size: int) -> int:
    """The address of the step kernel of a routine for elements of this size."""
    symbols = tuple(_NAMES.values())
    return native.once(_addresses, size, lambda: native.printed(text, size, symbols=symbols))[_NAMES[routine]]


def has_routines() -> bool:
    """Whether NumPy's library has the routines, with the bits of `numpy.linalg`; one matrix of each is tried."""
    return native.once(_right, "right", _has_routines)


def _has_routines() -> bool:
    found = blas.find()
    return found is not None and all(found.lapack.values()) and bool(found.lapack) and _is_right()


def _is_right() -> bool:
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    b = np.array([[1.0], [2.0], [3.0]])
    for routine, given, want in (
        ("gesv", (a, b), np.linalg.solve(a, b)),
        ("potrf", (a, a), np.linalg.cholesky(a)),
    ):
        y = np.zeros_like(want)
        walks = [(x.shape, x.strides) for x in (*given, y)]
        words = words_of(routine, walks, False, WHOLE)
        work = np.zeros(workspace(routine, *y.shape) // 8)
        for word, array in zip((A, B, Y, WORK), (*given, y, work), strict=True):
            words[word] = array.ctypes.data
        if blas.run_step(kernel(routine, 8), words) or not np.array_equal(y, want):
            return False
    return True


def workspace(routine: str, n: int, k: int) -> int:
    """Bytes of a step's workspace for a result of n rows and k columns: a matrix, a right-hand side and pivots."""
    return 8 * (n * n + (n * k + n if routine == "gesv" else 0))


def words_of(routine: str, walks: Sequence[Walk], adjoint: bool, part: int) -> list[int]:
    """The block of a step without its pointers, for BATCH_RANK batch axes or fewer.

    Args:
      walks: Shape and strides in bytes of matrix, right-hand side (of a factorisation the matrix again) and result.
      adjoint: The matrix is transposed. part: What is read of it then.
    """
    found = blas.find()
    batch = walks[-1][0][:-2]
    rows = [k for k, count in enumerate(batch) if count != 1]
    if found is None:
        raise UnavailableError("plan: NumPy's library is not there")
    words = [0] * WORD_COUNT
    words[FUNCTION] = found.lapack[routine]
    words[N], words[K] = walks[0][0][-1], walks[-1][0][-1]
    words[CONTROL] = blas.control_block()
    words[ENTER], words[LEAVE] = limit.addresses()
    words[PART], words[LETTER] = part, ord("L")
    for first, step, (shape, strides) in zip(
        (A_BATCH, B_BATCH, Y_BATCH), (A_STEPS, B_STEPS, Y_STEPS), walks, strict=True
    ):
        words[step : step + 2] = strides[-2:]
        for d, k in enumerate(rows):
            axis = k - len(batch) + len(shape) - 2
            words[first + d] = 0 if axis < 0 or shape[axis] == 1 else strides[axis]
    if adjoint:
        words[A_STEPS], words[A_STEPS + 1] = words[A_STEPS + 1], words[A_STEPS]
    words[BATCH : BATCH + BATCH_RANK] = [*[batch[k] for k in rows], *[1] * (BATCH_RANK - len(rows))]
    return words
