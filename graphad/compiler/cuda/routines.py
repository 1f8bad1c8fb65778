"""Routines of cuSOLVER within the native call of a plan, with the bits of the eager op: CuPy calls the same ones.

A routine is a few steps: copies and kernels, a call by address whose arguments are words, and a look at what it says of the
matrix. Where it has no answer the plan's run ends like one whose arguments do not fit; the graph then runs op by op, which gives
the op's own error or, for a matrix with NaN, its own result.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence

import numpy as np

from graphad.compiler.backend import FIRST, MASK, RESULT, SECOND, WORK, Backend, Part, Walk
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype, bool_
from graphad.core.light import NamedTuple
from graphad.devices.library import address_of, library
from graphad.devices.streams import on
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Operand, collapse
from graphad.kernels.forms import IN, SCALAR, TMP, Map, Statement

CALL, ANSWER = -4, -5  # addresses of what is no kernel, beside those of `captures`
ARGUMENTS = 10  # words of a call behind the function; C takes as many as it declares
UPPER = 1  # CUBLAS_FILL_MODE_UPPER; of rows it is the lower triangle
PLAIN = 0  # CUBLAS_OP_N
ALIGNMENT = 256
_LETTERS = {"float32": "S", "float64": "D"}
_FACTORISES = {
    "potrf": "potrf",
    "gesv": "getrf",
}  # by the routine of a form: the one that factorises its matrix
_NUMBER, _ADDRESS = ctypes.c_int32, ctypes.c_void_p
_QUERY = ctypes.CFUNCTYPE(_NUMBER, _ADDRESS, _NUMBER, _NUMBER, _ADDRESS, _NUMBER, _ADDRESS)
Place = tuple[int, int]  # what it is, and bytes behind it


class Layout(NamedTuple):
    """The workspace of a routine: where a matrix, a right-hand side, the library's own memory, pivots and the answer begin; its
    bytes, and the elements that the library asked for."""

    matrix: int
    side: int
    own: int
    pivots: int
    answer: int
    total: int
    wanted: int


def has(form: forms.Routine, dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
    """Whether there is a routine for operands of these dtypes and ranks."""
    if not isinstance(form, forms.Library) or form.part or dtypes[0] not in _LETTERS:
        return False
    return (form.name, *ranks) in (("potrf", 2), ("gesv", 2, 2))


def layout_of(index: int, form: forms.Library, dtype: str, shape: Sequence[int]) -> Layout:
    """The workspace for a result of this shape."""
    size, (n, k) = np.dtype(dtype).itemsize, shape
    copied = form.name == "gesv"
    own = _wanted(index, form.name, dtype, n, address_of("cusolverDnSpotrf"))
    sizes = (copied * n * n * size, copied * n * k * size, own * size, copied * n * 4, 4)
    starts = [0]
    for each in sizes:
        starts.append(starts[-1] + -(-each // ALIGNMENT) * ALIGNMENT)
    matrix, side, memory, pivots, answer, total = starts
    return Layout(matrix, side, memory, pivots, answer, total, own)


@functools.lru_cache(maxsize=1024)
def _wanted(index: int, name: str, dtype: str, n: int, _: int) -> int:
    """Elements of the library's own memory, for which it is asked."""
    function = f"cusolverDn{_LETTERS[dtype]}{_FACTORISES[name]}_bufferSize"
    query, wanted = _QUERY(address_of(function)), _NUMBER()
    with on(index):
        matrix = library().empty((n, n), dtype)  # its elements are not read
        handle = library().cuda.device.get_cusolver_handle()
        status = query(handle, UPPER if name == "potrf" else n, n, matrix.data.ptr, n, ctypes.byref(wanted))
    if status:
        library().cuda.cusolver.check_status(status)
    return wanted.value


def parts(backend: Backend, index: int, form: forms.Library, dtype: str, walks: Sequence[Walk]) -> list[Part]:
    """The steps of a routine with these operands, of which the last is its result."""
    if 0 in walks[-1][0]:
        return []
    at = layout_of(index, form, dtype, walks[-1][0])
    return (_factored if form.name == "potrf" else _solved)(backend, form, dtype, at, *walks)


def _call(dtype: str, name: str, words: Sequence[int], pointers: Mapping[int, Place]) -> Part:
    """A call, with its arguments behind the handle; those that are pointers by their position."""
    given = [address_of(f"cusolverDn{_LETTERS[dtype]}{name}"), *words, *[0] * (ARGUMENTS - 1 - len(words))]
    return Part(Step(CALL, given, tuple([1 + k for k in pointers])), tuple(pointers.values()))


def _factored(backend: Backend, form: forms.Library, dtype: str, at: Layout, x: Walk, y: Walk) -> list[Part]:
    """A factorisation of x into the lower triangle of y, whose upper one is 0."""
    n, element = x[0][-1], as_dtype(dtype)
    masked = Map(
        (bool_, element),
        (element,),
        (Statement("select", ((IN, 0), (IN, 1), (SCALAR, 0)), element),),
        ((TMP, 0),),
    )
    loop = collapse(masked, (n, n), [Operand((n, n), (n, 1))] * 2)
    layout, zero = block_layout(loop.kernel), forms.scalar_word(np.zeros((), dtype), element)
    places = {2: (RESULT, 0), 4: (WORK, at.own), 6: (WORK, at.answer)}
    kernel = Step(backend.build(loop.kernel), loop.words(scalars=[zero]), (*layout.inputs, *layout.outputs))
    return [
        Part(backend.copy(element.itemsize, x[0], y[1], x[1]), ((FIRST, 0), (RESULT, 0))),
        _call(dtype, "potrf", [UPPER, n, 0, n, 0, at.wanted, 0], places),
        Part(Step(ANSWER, [0], (0,)), ((WORK, at.answer),)),
        Part(kernel, ((MASK, 0), (RESULT, 0), (RESULT, 0))),
    ]


def _solved(
    backend: Backend, form: forms.Library, dtype: str, at: Layout, a: Walk, b: Walk, y: Walk
) -> list[Part]:
    """y with a y = b: a and b are copied by columns, as CuPy's `gesv` has them."""
    size, (n, k) = np.dtype(dtype).itemsize, y[0]
    steps = a[1][::-1] if form.adjoint else a[1]
    matrix, side, answer = (WORK, at.matrix), (WORK, at.side), (WORK, at.answer)
    columns = (size, n * size)
    return [
        Part(backend.copy(size, (n, n), columns, steps), ((FIRST, 0), matrix)),
        Part(backend.copy(size, (n, k), columns, b[1]), ((SECOND, 0), side)),
        _call(
            dtype,
            "getrf",
            [n, n, 0, n, 0, 0, 0],
            {2: matrix, 4: (WORK, at.own), 5: (WORK, at.pivots), 6: answer},
        ),
        Part(Step(ANSWER, [0], (0,)), (answer,)),
        _call(
            dtype,
            "getrs",
            [PLAIN, n, k, 0, n, 0, 0, n, 0],
            {3: matrix, 5: (WORK, at.pivots), 6: side, 8: answer},
        ),
        Part(backend.copy(size, (n, k), y[1], columns), (side, (RESULT, 0))),
    ]
