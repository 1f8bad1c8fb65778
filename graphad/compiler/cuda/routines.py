"""Routines of cuSOLVER within the native call of a plan, with the bits of the eager op: CuPy calls the same ones.

A routine is a few steps: copies and kernels, a call by address whose arguments are words, and a look at what it says of the
matrix. Where it has no answer the plan's run ends like one whose arguments do not fit; the graph then runs op by op, which gives
the op's own error or, for a matrix with NaN, its own result.
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

import numpy as np

from graphad.compiler.backend import Backend, Walk
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype, bool_
from graphad.devices.library import address_of, library
from graphad.devices.streams import on
from graphad.kernels import forms
from graphad.kernels.collapse import Operand, collapse
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Statement, block_layout

X, Y, WORK, INFO, MASK = range(5)  # what a step's words may point to
CALL, ANSWER = -4, -5  # addresses of what is no kernel, beside those of `captures`
ARGUMENTS = 8  # words of a call behind the function; C takes as many as it declares
UPPER = 1  # CUBLAS_FILL_MODE_UPPER; of rows it is the lower triangle
_LETTERS = {"float32": "S", "float64": "D"}
_QUERY = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_void_p,
)


class Part(NamedTuple):
    """A step of a routine, and what each of its places is."""

    step: Step
    places: tuple[int, ...]


def has(name: str, dtype: str, rank: int) -> bool:
    """Whether there is a routine for values of a dtype and rank."""
    return name == "cholesky" and dtype in _LETTERS and rank == 2


def workspace(index: int, dtype: str, n: int) -> int:
    """Bytes that a routine wants, the last 16 of them for its answer."""
    return (
        -(-_wanted(index, dtype, n, address_of("cusolverDnSpotrf")) * np.dtype(dtype).itemsize // 16) * 16
        + 16
    )


@functools.lru_cache(maxsize=1024)
def _wanted(index: int, dtype: str, n: int, _: int) -> int:
    """Elements of its workspace, which cuSOLVER is asked for."""
    query, wanted = _QUERY(address_of(f"cusolverDn{_LETTERS[dtype]}potrf_bufferSize")), ctypes.c_int32()
    with on(index):
        matrix = library().empty((n, n), dtype)  # its elements are not read
        handle = library().cuda.device.get_cusolver_handle()
        status = query(handle, UPPER, n, matrix.data.ptr, n, ctypes.byref(wanted))
    if status:
        library().cuda.cusolver.check_status(status)
    return wanted.value


def parts(backend: Backend, dtype: str, x: Walk, y: Walk) -> list[Part]:
    """The steps of a factorisation of x into the lower triangle of y, whose upper one is 0."""
    n, element = x[0][-1], as_dtype(dtype)
    if not n:
        return []
    words = [address_of(f"cusolverDn{_LETTERS[dtype]}potrf"), UPPER, n, 0, n, 0, 0, 0]
    words[6] = (workspace(backend.index, dtype, n) - 16) // element.itemsize  # type: ignore[attr-defined]
    form = Map(
        (bool_, element),
        (element,),
        (Statement("select", ((IN, 0), (IN, 1), (SCALAR, 0)), element),),
        ((TMP, 0),),
    )
    loop = collapse(form, (n, n), [Operand((n, n), (n, 1))] * 2)
    layout = block_layout(loop.kernel)
    zero = forms.scalar_word(np.zeros((), dtype), element)
    return [
        Part(backend.copy(element.itemsize, x[0], y[1], x[1]), (X, Y)),
        Part(Step(CALL, words, (3, 5, 7)), (Y, WORK, INFO)),
        Part(Step(ANSWER, [0], (0,)), (INFO,)),
        Part(
            Step(backend.build(loop.kernel), loop.words(scalars=[zero]), (*layout.inputs, *layout.outputs)),
            (MASK, Y, Y),
        ),
    ]
