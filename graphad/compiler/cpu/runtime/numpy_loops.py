"""NumPy's own inner loops by address: what a ufunc calls for arrays of given dtypes, without its way through Python.

A step that calls such a loop has the bits of the eager op, since both run the same code: of vector functions, of
factorisations, of Fourier transforms. A ufunc is a struct of NumPy's public C interface, which holds tables of loops and
of their dtypes.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function

_POINTER = ctypes.sizeof(ctypes.c_void_p)
# bytes from the start of a ufunc: four ints, tables of loops and of their data, two ints, its name, the dtypes of the loops
_HEAD = object.__basicsize__
_COUNTS, _LOOPS, _DATA, _LENGTH, _DTYPES = _HEAD, _HEAD + 16, _HEAD + 24, _HEAD + 32, _HEAD + 48


@functools.lru_cache(maxsize=64)
def find(ufunc: Any, dtypes: str) -> tuple[int, int] | None:
    """The addresses of a ufunc's loop and of its data for dtypes as in `ufunc.types`, "d->d"; None: the struct is another."""
    if sys.implementation.name != "cpython" or _POINTER != 8 or dtypes not in ufunc.types:
        return None
    start, at = id(ufunc), ufunc.types.index(dtypes)
    counts = list((ctypes.c_int * 3).from_address(start + _COUNTS))
    if counts != [ufunc.nin, ufunc.nout, ufunc.nargs]:
        return None
    if ctypes.c_int.from_address(start + _LENGTH).value != ufunc.ntypes:
        return None
    loops, data, kinds = (_word(start + place) for place in (_LOOPS, _DATA, _DTYPES))
    if not (loops and kinds):
        return None
    wanted = [np.dtype(c).num for c in dtypes.replace("->", "")]
    found = list((ctypes.c_byte * ufunc.nargs).from_address(kinds + at * ufunc.nargs))
    loop = _word(loops + at * _POINTER)
    if found != wanted or not loop:
        return None
    return loop, _word(data + at * _POINTER) if data else 0


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def call(
    f: Function,
    loop: str,
    data: str,
    operands: Sequence[str],
    sizes: Sequence[str],
    steps: Sequence[str | int],
) -> None:
    """Call a loop whose address and data are pointers. Sizes: how many elements, then the core sizes. Steps: in bytes, those from
    element to element for each operand, then those within.
    """
    given = []
    for kind, values in (("ptr", operands), ("i64", sizes), ("i64", steps)):
        table = f.slot(f"[{len(values)} x i64]", align=8).address
        for k, value in enumerate(values):
            f.do(f"store {kind} {value}, ptr {f.at(table, k)}, align 8")
        given.append(f"ptr {table}")
    f.do(f"call void {loop}({', '.join(given)}, ptr {data})")
