"""An eval in Python as a plan step, for rounds of native loops: one op without native code does not make the others slow.

The step takes the interpreter's lock and calls a function of Python with the address of its block; that function reads the
operands' addresses there, and behind them the sizes that the run has found. What it raises waits in the thread, as after a
signal's handler, and ends the run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import driver, native
from graphad.core.ieee import heard, hush, unhush

# words of the step's block: the functions below, the callable, then the addresses of the operands and of the results, and sizes
API, CALLED, OPERANDS = range(3)
ENSURE, RELEASE, FROM_INT, CALL, DROP = range(5)
_MOST_VIEWS = 128  # sets of addresses whose arrays a step keeps

Shaped = tuple[tuple[int, ...], np.dtype[Any]]
Compute = Callable[[list[Any]], Sequence[Any]]
# For the sizes in the block: what is called, and the operands and the results.
Sized = Callable[[Sequence[int]], tuple[Compute, Sequence[Shaped], Sequence[Shaped]]]


def text() -> str:
    """`i32 graphad_call(ret, exc, block)`."""
    f = Function("i32 @graphad_call(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    f.ret(called(f, f.pointer(w, API), f.pointer(w, CALLED), "%block"))
    return f.text()


def called(f: Function, api: str, callee: str, number: str) -> str:
    """Print the call of an object with a number, under the interpreter's lock; returns the status (i32)."""
    status = f.slot("i32", driver.INTERRUPTED)
    state = f.emit(f"call i32 {f.pointer(api, ENSURE)}()")
    given = f.emit(f"call ptr {f.pointer(api, FROM_INT)}(i64 {number})")
    with f.when(f.test("ne", given, "null", "ptr")):
        result = f.emit(f"call ptr (ptr, ...) {f.pointer(api, CALL)}(ptr {callee}, ptr {given}, ptr null)")
        f.do(f"call void {f.pointer(api, DROP)}(ptr {given})")
        with f.when(f.test("ne", result, "null", "ptr")):
            f.do(f"call void {f.pointer(api, DROP)}(ptr {result})")
            status.set(0)
    f.do(f"call void {f.pointer(api, RELEASE)}(i32 {state})")
    return status.get()


_addresses: dict[str, int] = {}


def is_kernel(function: int) -> bool:
    """Whether a function is the step kernel."""
    return function == _addresses.get("graphad_call")


_api: ctypes.Array[ctypes.c_int64] | None = None


def kernel() -> int:
    """The address of the step kernel."""
    return native.once(
        _addresses, "graphad_call", lambda: native.printed(text, symbols=["graphad_call"])["graphad_call"]
    )


def functions() -> int:
    """The address of the interpreter's functions that native code calls."""
    global _api
    with native.lock:
        if _api is None:
            api = ctypes.pythonapi
            found = (
                api.PyGILState_Ensure,
                api.PyGILState_Release,
                api.PyLong_FromLongLong,
                api.PyObject_CallFunctionObjArgs,
                api.Py_DecRef,
            )
            _api = (ctypes.c_int64 * len(found))(*[ctypes.cast(f, ctypes.c_void_p).value or 0 for f in found])
            native.keep_for_ever(_api)  # plans hold its address
        return ctypes.addressof(_api)


def words_of(called: Called, sizes: Sequence[int]) -> list[int]:
    """The block of a step without the addresses of operands and results; the caller keeps `called` alive."""
    return [functions(), id(called), *[0] * called.places, *sizes]


class Called:
    """A Python function that a step calls: it gets arrays at the addresses of the operands, and its results are copied to those
    of the results. `made` gives it for sizes, `places` is the number of operands and results, `sizes` that of sizes."""

    def __init__(self, made: Sized, places: int, sizes: int) -> None:
        self.made, self.places = made, places
        self._bytes = 8 * (places + sizes)
        self._blocks: dict[int, Any] = {}
        self._views: dict[bytes, tuple[Compute, list[np.ndarray], list[np.ndarray], list[int]]] = {}

    def __call__(self, block: int) -> None:
        words = self._blocks.get(block)
        if words is None:
            if len(self._blocks) >= _MOST_VIEWS:
                self._blocks.clear()
            words = self._blocks[block] = (ctypes.c_char * self._bytes).from_address(block + 8 * OPERANDS)
        raw = words.raw
        views = self._views.get(raw)
        if views is None:
            views = self._viewed(raw)
        compute, given, into, scalars = views
        if scalars:
            given = given.copy()
            for k in scalars:
                given[k] = given[k][()]
        settings = heard()
        try:
            hush()
            for x, y in zip(into, compute(given), strict=True):
                x[...] = y
        finally:
            unhush(settings)

    def _viewed(self, raw: bytes) -> tuple[Compute, list[np.ndarray], list[np.ndarray], list[int]]:
        if len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        numbers = np.frombuffer(raw, np.int64).tolist()
        compute, operands, results = self.made(numbers[self.places :])
        found = [view(at, *each) for at, each in zip(numbers, (*operands, *results), strict=False)]
        # Evals get scalars for shape ().
        scalars = [k for k, (shape, _) in enumerate(operands) if not shape]
        views = self._views[raw] = compute, found[: len(operands)], found[len(operands) :], scalars
        return views


def view(address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """The array at an address, in C order."""
    size = dtype.itemsize
    for n in shape:
        size *= n
    if not size:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray(shape, dtype, memory)
