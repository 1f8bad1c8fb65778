"""Functions of one number for NumPy arrays, by native loops: those of `vectormath` in float64, rounded once to the dtype;
and steps of float32 alone."""

from __future__ import annotations

import functools

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native
from graphad.compiler.cpu.vectormath.recipes import EAGER, function_ir, symbol
from graphad.core.errors import InternalError

TARGET, COUNT, SOURCES = range(3)  # words of a block
_KINDS = {"f": "float", "d": "double"}
_NAME = "graphad_map"


def text(function: str, name: str, kind: str, inner: str, operands: int) -> str:
    """The step `i32 f(ret, exc, block)`; `function` is the module of the function called `name`, of numbers of type `inner`."""
    f = Function(f"i32 @{_NAME}(ptr %ret, ptr %exc, i64 %block)")
    f.do("%w = inttoptr i64 %block to ptr")
    target = f.pointer("%w", TARGET)
    sources = [f.pointer("%w", SOURCES + k) for k in range(operands)]
    with f.loop(0, f.word("%w", COUNT)) as i:
        given = []
        for source in sources:
            x = f.emit(f"load {kind}, ptr {f.at(source, i, kind)}")
            given.append(x if kind == inner else f.emit(f"fpext {kind} {x} to {inner}"))
        y = f.emit(f"call {inner} @{name}({', '.join(f'{inner} {x}' for x in given)})")
        y = y if kind == inner else f.emit(f"fptrunc {inner} {y} to {kind}")
        f.do(f"store {kind} {y}, ptr {f.at(target, i, kind)}")
    f.ret(0)
    # Inlined wherever it is called, so that nothing of it is left beside the loop.
    return function.replace("define weak_odr", "define private") + f.text()


@functools.cache
def _step(name: str, letter: str, operands: int) -> int:
    wide = EAGER[name][1] if name in EAGER else "float64"
    inner = "float" if wide == "float32" else "double"
    given = function_ir(name, wide), symbol(name, wide), _KINDS[letter], inner, operands
    what = f"map {name} {letter}"
    _, made = native.soon(what, driver.load, lambda: native.printed(text, *given, symbols=(_NAME,)))
    return int(made[_NAME])


def mapped(name: str, *xs: np.ndarray) -> np.ndarray:
    """The function of that name, one of `vectormath.ARITY` or `recipes.EAGER`, of each number of float32 or float64 arrays.

    They have one dtype, and shapes that broadcast together.
    """
    if len(xs) > 1:
        xs = tuple(np.broadcast_arrays(*xs))
    given = [np.ascontiguousarray(x) for x in xs]
    y = np.empty(xs[0].shape, xs[0].dtype)
    block = np.array([y.ctypes.data, y.size, *[x.ctypes.data for x in given]], np.int64)
    step = _step(name, y.dtype.char, len(given))
    status, _ = driver.run_table(np.array([[step, block.ctypes.data]], np.int64))
    if status:
        raise InternalError(f"{name}: a step ended with status {status}")
    return y
