"""Runs the source text of a kernel in Python over NumPy arrays, as the reference for compiled kernels.

A pointer word is an array of the buffer's elements, a scalar word a NumPy scalar; every function of the text is
the scalar table's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype
from graphad.kernels import scalars


def run(text: str, block: Sequence[Any]) -> None:
    """Run a kernel's source over a block of arrays, ints and NumPy scalars; outputs are written in place."""
    code = compile(text, "<kernel>", "exec")
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    function = namespace["kernel"]
    namespace |= {name: meaning(name) for name in function.__code__.co_names if name != "range"}
    function(block)


def meaning(name: str) -> Callable[..., Any]:
    """The Python function behind one name of the text."""
    head, _, rest = name.partition("_")
    if head in ("wide", "contract"):
        return lambda: None
    if head == "word" or head == "scalar":
        return lambda block, word: block[word]
    if head == "ld":
        return lambda pointer, index: pointer[index]
    if head == "st":
        return _store
    if head == "stack":
        return lambda count: np.zeros(count, _numpy(rest))
    if head == "identity":
        combine, code = rest.split("_")
        value = np.asarray(scalars.identity_of(combine, as_dtype(NAMES[code]))).astype(_numpy(code))[()]
        return lambda: value
    if head == "any":
        head, _, rest = rest.partition("_")
    dtype = as_dtype(NAMES[rest.split("_")[-1]])
    if head == "cast":
        return lambda x: scalars.apply("cast", (x,), dtype)[()]
    result = scalars.result_dtype(head, (dtype,) * scalars.TABLE[head].arity) if head != "select" else dtype
    return lambda *xs: scalars.apply(head, xs, result)[()]


def _numpy(code: str) -> np.dtype[Any]:
    return as_dtype(NAMES[code]).numpy


def _store(pointer: Any, index: int, value: object) -> None:
    pointer[index] = value
