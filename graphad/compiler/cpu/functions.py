"""Which scalar functions have native code on the CPU, and where that code comes from.

Plain instructions are in `compiler.lowering`; the rest are the vector functions of `vectormath`. A function that
has neither keeps its step on the host: `supports` says which one and why.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache, lru_cache
from typing import Any

from graphad.compiler import plain
from graphad.compiler.cpu import vectormath
from graphad.compiler.source import NAMES, code_of, digest_of_files
from graphad.kernels.forms import Accumulated, Applied, Form, Kernel, Map, Reduce, Windows
from graphad.kernels.scalars import TABLE


@lru_cache(maxsize=4096)
def supports(kernel: Kernel) -> str | None:
    """Why a kernel cannot be compiled for the CPU; None when it can."""
    dtypes = [access.dtype for access in kernel.inputs] + [store.access.dtype for store in kernel.outputs]
    dtypes += [*kernel.scalars, *(statement.dtype for statement in kernel.body)]
    for dtype in dtypes:
        if dtype.is_complex:
            return f"{dtype.name} has no native kernels"
    for statement in kernel.body:
        operand = kernel.dtype_of(statement.args[1 if statement.fn == "select" else 0])
        if not has_function(statement.fn, code_of(operand)):
            return f"{statement.fn} of {operand.name} has no native code"
    for store in kernel.outputs:
        if store.combine is not None and store.access.dtype.is_floating and store.combine in ("and", "or"):
            return f"{store.combine} of {store.access.dtype.name} has no native code"
    return None


def supported(form: Form) -> Form | None:
    """Returns the form, None if it has no native code."""
    if isinstance(form, Windows):  # evals lay them out, and BLAS takes that
        return None
    maps = [form] if isinstance(form, Map) else [form.source] if isinstance(form, Reduce) else []
    for m in maps:
        dtypes = [*m.inputs, *m.scalars, *[statement.dtype for statement in m.body]]
        if m.scalars or any(dtype.is_complex for dtype in dtypes):
            return _of_complex(form)
        for statement in m.body:
            operand = m.dtype_of(statement.args[1 if statement.fn == "select" else 0])
            if not has_function(statement.fn, code_of(operand)):
                return None
    return form


def _of_complex(form: Form) -> Form | None:
    """The routine for numbers of which there are no kernels: a cast to complex numbers, a selection, a sum or product."""
    if isinstance(form, Reduce):
        is_plain = not form.source.body and form.combine in ("add", "mul")
        return Accumulated(form.combine, form.axes) if is_plain else None
    if not isinstance(form, Map) or len(form.body) != 1 or form.scalars:
        return None
    (step,) = form.body
    return Applied(step.fn, step.dtype) if step.fn in ("cast", "select") and step.dtype.is_complex else None


def has_function(fn: str, code: str) -> bool:
    """Whether a scalar function on operands of this type has native code."""
    if plain.has_plain(fn, code):
        return True
    return code[0] in "fb" and code != "b1" and _dtype_name(code) in vectormath.SUPPORTED.get(fn, ())


@cache
def module(fn: str, code: str) -> tuple[str, int, str]:
    """(symbol, arity, IR text) of a vector function; float16 and bfloat16 values use the one for float32."""
    code = "f64" if code == "f64" else "f32"
    return f"graphad_{fn}_{code}", TABLE[fn].arity, _vectormath().function_ir(fn, _dtype_name(code))


def digest(kernel: Kernel) -> str:
    """A digest of the vector functions that a kernel calls, part of its key; "" if it calls none."""
    called = {(statement.fn, code_of(kernel.dtype_of(statement.args[-1]))) for statement in kernel.body}
    vector = [(fn, code) for fn, code in sorted(called) if not plain.has_plain(fn, code)]
    if not vector:
        return ""
    written = digest_of_files(os.path.dirname(vectormath.__file__))
    parts = [module(fn, code)[2] for fn, code in vector] if written is None else [written, repr(vector)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _dtype_name(code: str) -> str:
    return NAMES["f64" if code == "f64" else "f32"]


def _vectormath() -> Any:
    from graphad.compiler.cpu.vectormath import recipes  # imported here: not needed if the cache has the code

    return recipes
