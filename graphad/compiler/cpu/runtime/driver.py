"""The step driver: call every (function, block) row of a table in order until one returns a status.

A row is two int64 words, the address of an `i32 f(ptr ret, ptr exc, i64 block)` and the address of its block.
The address is read with acquire order, so a kernel may be swapped in by one aligned store while the table is
running. A region of the pool is the same table.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native

NOT_READY = -1005  # a row has no function yet
INTERRUPTED = -1007  # a signal handler raised; the exception is pending in the thread
NO_ANSWER = -1008  # a step has none for these numbers: the run is made again op by op


def call_row(f: Function, table: str, row: str, scratch: str) -> str:
    """Print the call of one row; returns its status (i32)."""
    status = f.slot("i32", NOT_READY)
    place = f.at(table, f.emit(f"shl i64 {row}, 1"))
    function = f.emit(f"load atomic ptr, ptr {place} acquire, align 8")
    with f.when(f.test("ne", function, "null", "ptr")):
        block = f.word(place, 1)
        error = f.at(scratch, 1)
        status.set(f.emit(f"call i32 {function}(ptr {scratch}, ptr {error}, i64 {block})"))
    return status.get()


def text() -> str:
    """`i64 graphad_steps(table, count)`: 0, or (row + 1) << 32 | the status of the row that stopped the walk."""
    f = Function("i64 @graphad_steps(ptr %table, i64 %count)")
    scratch = f.slot("[2 x i64]", align=16).address
    with f.loop(0, "%count") as row:
        status = call_row(f, "%table", row, scratch)
        with f.when(f.test("ne", status, 0, "i32")):
            place = f.emit(f"shl i64 {f.emit(f'add i64 {row}, 1')}, 32")
            f.ret(f.emit(f"or i64 {place}, {f.emit(f'zext i32 {status} to i64')}"))
    f.ret(0)
    return f.text()


def _freely() -> str:
    """`i64 graphad_steps_freely(table, count, save, restore)`: the same without the lock of the interpreter."""
    f = Function("i64 @graphad_steps_freely(ptr %table, i64 %count, ptr %save, ptr %restore)")
    state = f.emit("call ptr %save()")
    result = f.emit("call i64 @graphad_steps(ptr %table, i64 %count)")
    f.do(f"call void %restore(ptr {state})")
    f.ret(result)
    return f.text()


def _both() -> str:
    return "\n".join([text(), _freely()])


_functions: dict[str, Any] = {}


def _steps() -> Any:
    return native.once(_functions, "steps", _made)


def _made() -> Any:
    name = "graphad_steps_freely"
    address = native.printed(_both, symbols=[name])[name]
    word = ctypes.c_int64
    return ctypes.PYFUNCTYPE(word, word, word, word, word)(address)  # raises what a signal handler has raised


def load() -> None:
    """Make what runs a table ready."""
    _steps()


@functools.lru_cache(maxsize=2)
def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def split_status(result: int) -> tuple[int, int]:
    """(status, row) of what `graphad_steps` returned; (0, -1) when all rows went well."""
    status = result & 0xFFFFFFFF
    return (status - (1 << 32) if status >> 31 else status), (result >> 32) - 1


def run_rows(address: int, count: int) -> tuple[int, int]:
    """Run the table at an address through ctypes, without the lock of the interpreter; returns (status, row)."""
    save, restore = _address("PyEval_SaveThread"), _address("PyEval_RestoreThread")
    return split_status(_steps()(address, count, save, restore))


def run_table(table: np.ndarray) -> tuple[int, int]:
    """Run an int64 array [rows, 2] of (function address, block address); returns (status, row), (0, -1) when
    all went well.
    """
    return run_rows(table.ctypes.data, len(table))
