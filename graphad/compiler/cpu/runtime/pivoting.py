"""Lower and upper factors of small matrices, with the order of their rows, as plan steps: by the routine that SciPy calls.

A step does for one matrix after the other what the eager op does: it copies by columns into its workspace, calls the routine by
address, copies back, and exchanges rows. Where a matrix is singular it ends with NO_ANSWER: the run is made again op by op, which
gives the op's own error.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.backend import FIRST, RESULTS, WORK, Part
from graphad.compiler.cpu.runtime import blas, native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype

# words of the step: the routine, how many matrices of how many rows, the bytes of a number of the order, the arrays
ROUTINE, COUNT, N, ORDER_BYTES, SOURCE, TARGET, ORDER, WORKSPACE = range(8)
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_SIZES = (4, 8, 16)


def _turned(f: Function, size: int, source: str, target: str, n: str) -> None:
    """Copy a matrix with rows and columns exchanged."""
    kind = f"i{8 * size}"
    with f.loop(0, n) as i:
        row = f.at(source, f.emit(f"mul i64 {i}, {n}"), kind)
        with f.loop(0, n) as j:
            value = f.emit(f"load {kind}, ptr {f.at(row, j, kind)}, align 4")
            column = f.at(target, f.emit(f"mul i64 {j}, {n}"), kind)
            f.do(f"store {kind} {value}, ptr {f.at(column, i, kind)}, align 4")


def _exchanged(f: Function, order: str, pivots: str, n: str, width: int) -> None:
    """The order of rows after each has been exchanged with its pivot."""
    kind = f"i{8 * width}"
    with f.loop(0, n) as i:
        number = i if width == 8 else f.emit(f"trunc i64 {i} to i32")
        f.do(f"store {kind} {number}, ptr {f.at(order, i, kind)}")
    with f.loop(0, n) as i:
        pivot = f.emit(f"load i32, ptr {f.at(pivots, i, 'i32')}")
        pivot = f.emit(f"sext i32 {pivot} to i64")
        places = [f.at(order, at, kind) for at in (i, f.emit(f"sub i64 {pivot}, 1"))]
        values = [f.emit(f"load {kind}, ptr {place}") for place in places]
        for place, value in zip(places, reversed(values), strict=True):
            f.do(f"store {kind} {value}, ptr {place}")


def _step(size: int) -> str:
    f = Function(f"i32 @graphad_pivoted{size}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    n, work = f.word(w, N), f.pointer(w, WORKSPACE)
    whole = f.emit(f"mul i64 {n}, {n}")
    pivots = f.at(work, whole, f"i{8 * size}")
    done = f.slot("i64", 0)
    with f.loop(0, f.word(w, COUNT)) as k:
        first = f.emit(f"mul i64 {k}, {whole}")
        source, target = (f.at(f.pointer(w, word), first, f"i{8 * size}") for word in (SOURCE, TARGET))
        _turned(f, size, source, work, n)
        count = f.at(w, N)
        given = ", ".join(f"ptr {x}" for x in (count, count, work, count, pivots, done.address))
        f.do(f"call void {f.pointer(w, ROUTINE)}({given})")
        with f.when(f.test("ne", done.get(), 0)):
            f.ret(NO_ANSWER)
        _turned(f, size, work, target, n)
        width = f.word(w, ORDER_BYTES)
        start = f.emit(f"mul i64 {f.emit(f'mul i64 {k}, {n}')}, {width}")
        order = f.at(f.pointer(w, ORDER), start, "i8")
        for each in (4, 8):
            with f.when(f.test("eq", width, each)):
                _exchanged(f, order, pivots, n, each)
    f.ret(0)
    return f.text()


def _text() -> str:
    return "\n".join(_step(size) for size in _SIZES)


@functools.lru_cache(maxsize=1)
def _kernels() -> dict[str, int]:
    return native.printed(_text, symbols=[f"graphad_pivoted{size}" for size in _SIZES])


@functools.lru_cache(maxsize=1)
def _routines() -> dict[str, int]:
    """The addresses of SciPy's routines by dtype, none where they are not found or give other bits than its functions."""
    try:
        capsules = importlib.import_module("scipy.linalg.cython_lapack").__pyx_capi__
        functions = importlib.import_module("scipy.linalg.lapack")
    except (ImportError, AttributeError):
        return {}
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = {}
    for dtype, letter in _LETTERS.items():
        capsule = capsules.get(f"{letter}getrf")
        if capsule is not None:
            address = int(pointer(capsule, name(capsule)) or 0)
            if address and _is_right(address, dtype, getattr(functions, f"{letter}getrf")):
                found[dtype] = address
    return found


def _is_right(address: int, dtype: str, getrf: Any) -> bool:
    a = np.array([[0.5, 1.0, 3.0], [4.0, -1.0, 0.25], [1.0, 0.25, 2.0]]).astype(dtype)
    factors, order = np.empty_like(a), np.empty(3, np.int64)
    work = np.empty(_workspace(3, a.itemsize), np.uint8)
    words = [address, 1, 3, 8, *[x.ctypes.data for x in (a, factors, order, work)]]
    if blas.run_step(_kernels()[f"graphad_pivoted{a.itemsize}"], words):
        return False
    want, pivots, _ = getrf(a)
    rows = [0, 1, 2]
    for i, k in enumerate(pivots.tolist()):
        rows[i], rows[k] = rows[k], rows[i]
    return np.array_equal(factors, want) and order.tolist() == rows


def has(dtype: str) -> bool:
    """Whether there is a step for matrices of this dtype."""
    return dtype in _LETTERS and dtype in _routines()


def _workspace(n: int, size: int) -> int:
    return n * n * size + 4 * n


def workspace(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of the workspace: a matrix and its pivots."""
    return _workspace(shape[-1], as_dtype(dtype).itemsize)


def parts(dtype: str, order: str, shape: Sequence[int]) -> list[Part]:
    """The step for matrices [..., n, n] of a dtype in C order, and an order of another one."""
    n, size = shape[-1], as_dtype(dtype).itemsize
    if not math.prod(shape):
        return []
    words = [_routines()[dtype], math.prod(shape[:-2]), n, as_dtype(order).itemsize, 0, 0, 0, 0]
    step = Step(_kernels()[f"graphad_pivoted{size}"], words, (SOURCE, TARGET, ORDER, WORKSPACE))
    return [Part(step, ((FIRST, 0), (RESULTS[0], 0), (RESULTS[1], 0), (WORK, 0)))]
