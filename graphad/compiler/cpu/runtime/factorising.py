"""Factorisations of stacks of matrices, and solutions for complex ones, as plan steps, by the loops that `numpy.linalg` calls.

NumPy computes them in float64, whatever the dtype, or in complex128, which is two float64. So the steps of a factorisation widen
the matrices into the workspace, call one or two loops there, and round the results into their places. A loop says by the
processor's flag for invalid operations that a matrix has no answer; then the step ends with NO_ANSWER, and the run is made again
op by op, which gives the op's own error.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.backend import FIRST, RESULTS, SECOND, WORK, Part
from graphad.compiler.cpu.runtime import blas, limit, native, numpy_loops
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype
from graphad.core.light import NamedTuple
from graphad.kernels.forms import ON_ONE_THREAD, Factorised

# words of the step that widens: source, target, how many elements, what must hold
SOURCE, TARGET, COUNT, MUST = range(4)
_ANY, _FINITE, _NEVER = range(3)
# words of the step that rounds, behind source and target: matrices, rows, columns, steps in the source, what is kept
MATRICES, ROWS, COLUMNS, S_MATRIX, S_ROW, S_COLUMN, UPPER = range(2, 9)
# words of the step that calls a loop: its address and data, the limit on threads or 0, the functions that clear and read the
# processor's flags, then operands, sizes and steps
LOOP, DATA, CONTROL, ENTER, LEAVE, CLEAR, RAISED, OPERANDS = range(8)
MOST_OPERANDS, MOST_SIZES, MOST_STEPS = 4, 4, 11
SIZES = OPERANDS + MOST_OPERANDS
STEPS = SIZES + MOST_SIZES
WORD_COUNT = STEPS + MOST_STEPS
_INVALID = 1  # FE_INVALID of C
_KINDS = {4: "float", 8: "double"}
_WIDE = 8  # bytes of an element in the workspace
# Of matrices with NaN or infinities iterations might never end, and a determinant might be 0, which the op corrects.
_OF_FINITE = frozenset(("syevd", "syevd_values", "gesdd", "gesdd_values", "getrf", "getrf_log"))
_FUNCTIONS: dict[str, Any] = {
    "getri": np.linalg.inv,
    "getrf": np.linalg.det,
    "getrf_log": np.linalg.slogdet,
    "geqrf": np.linalg.qr,
    "syevd": np.linalg.eigh,
    "syevd_values": np.linalg.eigvalsh,
    "gesdd": np.linalg.svd,
    "gesdd_values": np.linalg.svdvals,
    "gesv": np.linalg.solve,
}


class Call(NamedTuple):
    """A call of a loop: NumPy's name of it, its dtypes, the buffers that are its operands, the shape of each of them, and whether
    the first one is transposed."""

    ufunc: str
    dtypes: str
    buffers: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    turns: bool = False


class Output(NamedTuple):
    """A result: the buffer that holds it, its rows and columns there, whether it is transposed, and whether only the part from
    the diagonal on is kept."""

    buffer: int
    rows: int
    columns: int
    turned: bool = False
    upper: bool = False


class Recipe(NamedTuple):
    """How a factorisation of m x n matrices is computed: the float64 of each buffer, the first being the matrix; the calls; the
    results."""

    buffers: tuple[int, ...]
    calls: tuple[Call, ...]
    outputs: tuple[Output, ...]


@functools.lru_cache(maxsize=256)
def recipe(form: Factorised, m: int, n: int) -> Recipe:
    """The recipe of a factorisation."""
    name, p, whole = form.name, min(m, n), m * n
    a = (m, n)
    if name == "getri":
        return Recipe((whole, whole), (Call("inv", "d->d", (0, 1), (a, a), (m,)),), (Output(1, m, m),))
    if name == "getrf":
        return Recipe((whole, 1), (Call("det", "d->d", (0, 1), (a, ()), (m,)),), (Output(1, 1, 1),))
    if name == "getrf_log":
        call = Call("slogdet", "d->dd", (0, 1, 2), (a, (), ()), (m,))
        return Recipe((whole, 1, 1), (call,), (Output(1, 1, 1), Output(2, 1, 1)))
    if name == "syevd":
        call = Call("eigh_lo", "d->dd", (0, 1, 2), (a, (m,), a), (m,))
        return Recipe((whole, m, whole), (call,), (Output(1, 1, m), Output(2, m, m)))
    if name == "syevd_values":
        return Recipe((whole, m), (Call("eigvalsh_lo", "d->d", (0, 1), (a, (m,)), (m,)),), (Output(1, 1, m),))
    if name == "gesdd_values":
        return Recipe((whole, p), (Call("svd", "d->d", (0, 1), (a, (p,)), (m, n, p)),), (Output(1, 1, p),))
    if name == "gesdd":
        left, right = (m, n) if form.full else (p, p)
        shapes = a, (m, left), (p,), (right, n)
        call = Call("svd_f" if form.full else "svd_s", "d->ddd", (0, 1, 2, 3), shapes, (m, n, p))
        outputs = Output(2, 1, p), Output(1, m, left), Output(3, n, right, turned=True)
        return Recipe((whole, m * left, p, right * n), (call,), outputs)
    is_complete = form.full and m > n
    k = m if is_complete else p
    raw = Call("qr_r_raw", "d->d", (0, 1), (a, (p,)), (m, n, p))
    sizes = (m, n) if is_complete else (m, n, p)
    call = Call("qr_complete" if is_complete else "qr_reduced", "dd->d", (0, 1, 2), (a, (p,), (m, k)), sizes)
    return Recipe((whole, p, m * k), (raw, call), (Output(2, m, k), Output(0, k, n, upper=True)))


def solution(form: Factorised, n: int, k: int) -> Recipe:
    """The recipe of solutions of complex systems of n equations with k right-hand sides."""
    shapes = (n, n), (n, k), (n, k)
    call = Call("solve", "DD->D", (0, 1, 2), shapes, (n, k), form.adjoint)
    return Recipe((2 * n * n, 2 * n * k, 2 * n * k), (call,), (Output(2, n, 2 * k),))


def _widen(size: int, conjugates: bool = False) -> str:
    name = "conjugate" if conjugates else "widen"
    f = Function(f"i32 @graphad_{name}{size}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    must, is_finite = f.word(w, MUST), f.slot("i1", 1)
    with f.when(f.test("eq", must, _NEVER)):
        f.ret(NO_ANSWER)
    source, target = f.pointer(w, SOURCE), f.pointer(w, TARGET)
    with f.loop(0, f.word(w, COUNT)) as k:
        value = f.emit(f"load {_KINDS[size]}, ptr {f.at(source, k, _KINDS[size])}")
        if size != _WIDE:
            value = f.emit(f"fpext {_KINDS[size]} {value} to double")
        if conjugates:
            is_imaginary = f.test("ne", f.emit(f"and i64 {k}, 1"), 0)
            value = f.choose(is_imaginary, "double", f.emit(f"fneg double {value}"), value)
        f.do(f"store double {value}, ptr {f.at(target, k, 'double')}")
        rest = f.emit(f"fsub double {value}, {value}")
        is_finite.set(f.emit(f"and i1 {is_finite.get()}, {f.emit(f'fcmp ord double {rest}, {rest}')}"))
    missed = f.emit(f"xor i1 {is_finite.get()}, true")
    with f.when(f.emit(f"and i1 {missed}, {f.test('eq', must, _FINITE)}")):
        f.ret(NO_ANSWER)
    f.ret(0)
    return f.text()


def _round(size: int) -> str:
    f = Function(f"i32 @graphad_round{size}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    rows, columns, upper = (f.word(w, word) for word in (ROWS, COLUMNS, UPPER))
    source, target = f.pointer(w, SOURCE), f.slot("ptr", f.pointer(w, TARGET))
    steps = [f.word(w, word) for word in (S_MATRIX, S_ROW, S_COLUMN)]
    with f.loop(0, f.word(w, MATRICES)) as b:
        matrix = f.at(source, f.emit(f"mul i64 {b}, {steps[0]}"), "double")
        with f.loop(0, rows) as i:
            row = f.at(matrix, f.emit(f"mul i64 {i}, {steps[1]}"), "double")
            with f.loop(0, columns) as j:
                value = f.emit(f"load double, ptr {f.at(row, f.emit(f'mul i64 {j}, {steps[2]}'), 'double')}")
                is_out = f.emit(f"and i1 {f.test('ne', upper, 0)}, {f.test('slt', j, i)}")
                value = f.choose(is_out, "double", "0.0", value)
                if size != _WIDE:
                    value = f.emit(f"fptrunc double {value} to {_KINDS[size]}")
                f.do(f"store {_KINDS[size]} {value}, ptr {f.at(target.get(), j, _KINDS[size])}")
            target.set(f.at(target.get(), columns, _KINDS[size]))
    f.ret(0)
    return f.text()


def _called() -> str:
    f = Function("i32 @graphad_numpy(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    control, sizes = f.pointer(w, CONTROL), [f.word(w, SIZES + k) for k in (1, 2)]
    largest = f.emit(f"call i64 @llvm.smax.i64(i64 {sizes[0]}, i64 {sizes[1]})")
    past = f.emit(f"sub i64 {largest}, {ON_ONE_THREAD.start}")  # only the run may know how large they are
    has_control = f.test("ne", control, "null", "ptr")
    is_limited = f.emit(f"and i1 {f.test('ult', past, len(ON_ONE_THREAD))}, {has_control}")
    with f.when(is_limited):
        f.do(f"call void {f.pointer(w, ENTER)}(ptr {control}, i32 1)")
    f.do(f"call i32 {f.pointer(w, CLEAR)}(i32 {_INVALID})")
    # Loops move the addresses that they are given.
    given = f.slot(f"[{MOST_OPERANDS} x i64]", align=8).address
    for k in range(MOST_OPERANDS):
        f.set_word(given, k, f.word(w, OPERANDS + k))
    tables = ", ".join(f"ptr {x}" for x in (given, f.at(w, SIZES), f.at(w, STEPS)))
    f.do(f"call void {f.pointer(w, LOOP)}({tables}, ptr {f.pointer(w, DATA)})")
    raised = f.emit(f"call i32 {f.pointer(w, RAISED)}(i32 {_INVALID})")
    with f.when(is_limited):
        f.do(f"call void {f.pointer(w, LEAVE)}(ptr {control})")
    f.ret(f.choose(f.test("ne", raised, 0, "i32"), "i32", NO_ANSWER, 0))
    return f.text()


def widened(count: int) -> Step:
    """The step that widens so many float32 numbers; its places are their own and that of the float64 ones."""
    return Step(_kernels()["graphad_widen4"], [0, 0, count, _ANY], (SOURCE, TARGET))


def rounded(count: int) -> Step:
    """The step that rounds so many float64 numbers to float32."""
    return Step(_kernels()["graphad_round4"], [0, 0, 1, 1, count, 0, 0, 1, 0], (SOURCE, TARGET))


def text() -> str:
    """The step kernels."""
    widening = [_widen(size, conjugates) for size in _KINDS for conjugates in (False, True)]
    return "\n".join([_SMAX, *widening, _round(4), _round(8), _called()])


_SMAX = "declare i64 @llvm.smax.i64(i64, i64)"


@functools.lru_cache(maxsize=1)
def _kernels() -> dict[str, int]:
    each = [f"graphad_{what}{size}" for what in ("widen", "conjugate", "round") for size in _KINDS]
    symbols = [*each, "graphad_numpy"]
    return native.printed(text, symbols=symbols)


@functools.lru_cache(maxsize=1)
def _flags() -> tuple[int, int]:
    """The functions of C that clear and read the processor's flags, 0 where they are not found."""
    for name in (None, "libm.so.6"):
        try:
            library: Any = ctypes.CDLL(name)
            found = [
                ctypes.cast(f, ctypes.c_void_p).value for f in (library.feclearexcept, library.fetestexcept)
            ]
        except (AttributeError, OSError, TypeError):
            continue
        return found[0] or 0, found[1] or 0
    return 0, 0


def _loop(call: Call) -> tuple[int, int] | None:
    from numpy.linalg import _umath_linalg  # takes longer to import than many programs take to run

    ufunc = getattr(_umath_linalg, call.ufunc, None)
    return numpy_loops.find(ufunc, call.dtypes) if isinstance(ufunc, np.ufunc) else None


@functools.lru_cache(maxsize=32)
def has(form: Factorised) -> bool:
    """Whether NumPy's loops for it are found, and give the bits of `numpy.linalg`; one small stack is tried."""
    if form.name not in _FUNCTIONS or not all(_flags()):
        return False
    a = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    stack = np.stack([a, a + np.tri(3)])
    if form.name == "gesv":
        return _solves(form, stack + 1j * np.tri(3))
    tried = [stack]
    if form.name in ("gesdd", "gesdd_values", "geqrf"):  # of other matrices than square ones too
        tried += [stack[:, :2], stack[:, :, :2]]
    return all(_is_right(form, np.ascontiguousarray(x)) for x in tried)


def _is_right(form: Factorised, a: np.ndarray) -> bool:
    m, n = a.shape[-2:]
    made = recipe(form, m, n)
    if not all(_loop(call) for call in made.calls):
        return False
    wants = _wanted(form, a)
    found = [np.empty_like(np.ascontiguousarray(want)) for want in wants]
    work = np.empty(workspace(form, a.shape) // _WIDE)
    arrays = {FIRST: a, WORK: work, **dict(zip(RESULTS, found, strict=False))}
    if not blas.run_parts(parts(form, "float64", a.shape), arrays):
        return False
    return all(np.array_equal(want, got) for want, got in zip(wants, found, strict=True))


def _solves(form: Factorised, a: np.ndarray) -> bool:
    """Whether the steps of a solution give the bits of NumPy's."""
    b = np.arange(12).reshape(2, 3, 2) - (1 + 2j)
    if not all(_loop(call) for call in solution(form, 3, 2).calls):
        return False
    found, shapes = np.empty_like(b), (a.shape, b.shape)
    work = np.empty(workspace(form, *shapes) // _WIDE)
    arrays = {FIRST: a, SECOND: b, WORK: work, RESULTS[0]: found}
    want = np.linalg.solve(np.conj(np.swapaxes(a, -1, -2)) if form.adjoint else a, b)
    return blas.run_parts(parts(form, "complex128", *shapes), arrays) and np.array_equal(found, want)


def _wanted(form: Factorised, a: np.ndarray) -> list[np.ndarray]:
    if form.name == "gesdd":
        u, s, vh = np.linalg.svd(a, form.full)
        return [s, u, np.swapaxes(vh, -1, -2)]
    if form.name == "geqrf":
        return list(np.linalg.qr(a, "complete" if form.full else "reduced"))
    found = _FUNCTIONS[form.name](a)
    return list(found) if isinstance(found, tuple) else [found]


def _starts(made: Recipe, count: int) -> list[int]:
    """Where each buffer of the workspace begins, and the end, in bytes: sums of products of sizes, which the run may find."""
    starts = [0]
    for size in made.buffers:
        starts.append(starts[-1] + size * count * _WIDE)
    return starts


def workspace(form: Factorised, shape: Sequence[int], other: Sequence[int] = ()) -> int:
    """Bytes of the workspace for matrices [..., m, n], and for right-hand sides [..., m, k]."""
    return _starts(_made(form, shape, other), math.prod(shape[:-2]))[-1]


def _made(form: Factorised, shape: Sequence[int], other: Sequence[int]) -> Recipe:
    return solution(form, *other[-2:]) if form.name == "gesv" else recipe(form, *shape[-2:])


def takes(form: Factorised, dtype: str) -> bool:
    """Whether it is for matrices of this dtype: solutions are for complex ones."""
    return as_dtype(dtype).is_complex == (form.name == "gesv")


def parts(form: Factorised, dtype: str, shape: Sequence[int], other: Sequence[int] = ()) -> list[Part]:
    """The steps for matrices [..., m, n], and right-hand sides [..., m, k] if there are some, in C order, and results in C
    order."""
    (m, n), count, width = shape[-2:], math.prod(shape[:-2]), 2 if as_dtype(dtype).is_complex else 1
    kernels, size = _kernels(), as_dtype(dtype).itemsize // width
    if not count or (other and not math.prod(other)):
        return []
    if not m * n:  # the eager op says what such matrices give
        return [Part(Step(kernels[f"graphad_widen{size}"], [0, 0, 0, _NEVER], (SOURCE,)), ((FIRST, 0),))]
    made = _made(form, shape, other)
    starts = _starts(made, count)
    must = _FINITE if form.name in _OF_FINITE else _ANY
    found = []
    for k, (source, given) in enumerate(((FIRST, shape), (SECOND, other)) if other else ((FIRST, shape),)):
        name = "conjugate" if form.adjoint and not k else "widen"
        words = [0, 0, width * math.prod(given), must]
        step = Step(kernels[f"graphad_{name}{size}"], words, (SOURCE, TARGET))
        found.append(Part(step, ((source, 0), (WORK, starts[k]))))
    for call in made.calls:
        step = Step(
            kernels["graphad_numpy"],
            _words(call, count, width),
            tuple(range(OPERANDS, OPERANDS + len(call.buffers))),
        )
        found.append(Part(step, tuple([(WORK, starts[k]) for k in call.buffers])))
    for k, each in zip(RESULTS, made.outputs, strict=False):
        row, column = (1, each.rows) if each.turned else (each.columns, 1)
        words = [
            0,
            0,
            count,
            each.rows,
            each.columns,
            made.buffers[each.buffer],
            row,
            column,
            int(each.upper),
        ]
        step = Step(kernels[f"graphad_round{size}"], words, (SOURCE, TARGET))
        found.append(Part(step, ((WORK, starts[each.buffer]), (k, 0))))
    return found


def _words(call: Call, count: int, width: int) -> list[int]:
    """The block of a call without its operands, whose elements are so many float64."""
    words = [0] * WORD_COUNT
    found = _loop(call)
    assert found is not None  # as `has` has seen
    words[LOOP], words[DATA] = found
    words[CONTROL] = blas.control_block()
    words[ENTER], words[LEAVE] = limit.addresses()
    words[CLEAR], words[RAISED] = _flags()
    words[SIZES : SIZES + 1 + len(call.sizes)] = [count, *call.sizes]
    steps = [math.prod(shape) * _WIDE * width for shape in call.shapes]
    for place, shape in enumerate(call.shapes):
        each = [math.prod(shape[k + 1 :]) * _WIDE * width for k in range(len(shape))]
        steps += each[::-1] if call.turns and not place else each
    words[STEPS : STEPS + len(steps)] = steps
    return words
