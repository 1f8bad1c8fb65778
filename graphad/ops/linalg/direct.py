"""Matrix products of NumPy arrays by native routines, where this processor has them, LAPACK on one thread, and solutions for
small triangles; see decision 8.

The routines are the compiler's, imported when the first large product is computed. They are those of compiled functions, so
that a large product has the same bits everywhere; and BLAS wakes no threads, for which it would wait. Small products are
NumPy's, which answers before a routine would begin.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.errors import MatrixError, NotCompiledError, UnavailableError
from graphad.ops.native_steps import by_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphad.core.annotations import Array

# Multiplications from which NumPy's BLAS would wake threads: of matrices, and of a matrix and a vector. With fewer than SMALL it
# is always asked.
_MATRICES = 1 << 17
SMALL = 1 << 13


@functools.lru_cache(maxsize=1)
def _routines() -> Any:
    return importlib.import_module("graphad.compiler.cpu.runtime.multiplying")


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    return importlib.import_module("graphad.compiler.cpu.runtime.blas")


_tiles: dict[np.dtype[Any], bool] = {}


def has_tiles(dtype: np.dtype[Any]) -> bool:
    """Whether this processor has products in tiles of a dtype, and they are compiled."""
    found = _tiles.get(dtype)
    return _look_for_tiles(dtype) if found is None else found


def _look_for_tiles(dtype: np.dtype[Any]) -> bool:
    found = False
    if dtype.char in "fd" and dtype.isnative:
        try:
            found = bool(_routines().has_tiles(dtype))
        except NotCompiledError:  # the next product asks again
            return False
        except (UnavailableError, ImportError):  # without llvmlite
            pass
    _tiles[dtype] = found
    return found


def dot(a: Array, b: Array) -> Array:
    """The product of two matrices of one dtype, float32 or float64; callers that count nanoseconds ask for `SMALL` themselves.

    Raises: ValueError: their inner sizes differ.
    """
    columns = b.shape[1]
    work = a.size * columns
    if work >= SMALL and (work >= _MATRICES or columns == 1 or len(a) == 1):
        found = _large(a, b, work)
        if found is not None:
            return found
    return a.dot(b)  # type: ignore[no-any-return]  # the bits of `a @ b`, in half the time for small ones


def matmul(a: Array, b: Array) -> Array:
    """The product of stacks of matrices of one dtype. Raises: ValueError: their sizes differ."""
    work = max(a.size * b.shape[-1], b.size * a.shape[-2])  # at least, where leading axes broadcast
    if work >= SMALL:
        found = _large(a, b, work)
        if found is not None:
            return found
    elif not work and a.shape[-1] == b.shape[-2]:
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        if 0 in shape:  # NumPy would walk the whole stack
            return arrays.empty(shape, a.dtype, a)
    return np.matmul(a, b)  # type: ignore[no-any-return]


def lapack(function: Callable[..., Any], x: Array, *more: Any, any_size: bool = False) -> Any:
    """What a function of `numpy.linalg` gives for matrices; for those of moderate size its BLAS has one thread.

    Args:
      any_size: For smaller ones too: SciPy's functions, whose BLAS wakes its threads for systems of any size.
    """
    if not x.size and x.ndim > 2 and 0 not in x.shape[:-2]:
        return _repeated(function, x, *more)
    moderate, size = kernels.forms.ON_ONE_THREAD, max(x.shape[-2:], default=0)
    is_moderate = type(x) is np.ndarray and (size in moderate or (any_size and size < moderate.stop))
    if is_moderate and _can_limit():
        with _library().one_thread():
            return function(x, *more)
    return function(x, *more)


def _repeated(function: Callable[..., Any], x: Array, *more: Any) -> Any:
    """The same for a stack of matrices without elements, which NumPy would walk: the results of one, again and again."""
    stacks = [x.shape[:-2], *[each.shape[:-2] for each in more if hasattr(each, "shape")]]
    lead = np.broadcast_shapes(*stacks)
    if 0 in lead:
        return function(x, *more)
    single = [each[(0,) * (each.ndim - 2)] if hasattr(each, "shape") else each for each in (x, *more)]
    found = function(*single)

    def stacked(y: Array) -> Array:
        shape = (*lead, *np.shape(y))
        return arrays.empty(shape, y.dtype, x) if 0 in shape else np.array(np.broadcast_to(y, shape))

    if found is None:
        return None
    return tuple(map(stacked, found)) if isinstance(found, tuple) else stacked(found)


SINGULAR = "Input matrix is not invertible: it, or one of the stack, is singular."
_OF_A_ROW = 2000  # numbers, for which NumPy takes as long as for one row of a triangle


def put_in(form: kernels.forms.Library, a: Array, b: Array) -> Array:
    """The solution x of a x = b for small real matrices a, of which a form names the triangle, in float64: each row of x, once
    divided, is taken from all further ones, product by product. Raises: MatrixError: there is a 0 on the diagonal.
    """
    n, shape, found = a.shape[-1], b.shape, None
    if a.ndim == b.ndim == 2:
        if 0 < n * b.size <= ONE_BY_ONE:
            return _few(form, n, b.dtype)(a, b)  # type: ignore[no-any-return]
    else:
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    if a.shape == (*b.shape[:-1], b.shape[-2]):  # a step would read and write past them
        found = by_step(form, (a, b), shape, b.dtype, max(b.size, n * _OF_A_ROW))
    if found is not None:
        return found  # type: ignore[no-any-return]
    if a.ndim == b.ndim == 2:
        columns, x = (a.T if form.adjoint else a).astype(np.float64), b.astype(np.float64)
    else:
        columns = np.moveaxis(a.astype(np.float64), (-1, -2) if form.adjoint else (-2, -1), (0, 1))
        columns = columns.reshape(n, n, *(1,) * (len(shape) - a.ndim), *a.shape[:-2])
        x = np.moveaxis(np.broadcast_to(b, shape).astype(np.float64), -2, 0)
    if not columns[range(n), range(n)].all():
        raise MatrixError(SINGULAR)
    is_lower = form.part == "lower"
    with np.errstate(all="ignore"):
        for k in range(n) if is_lower else reversed(range(n)):
            x[k] /= columns[k, k, ..., None]
            rest = slice(k + 1, None) if is_lower else slice(None, k)
            x[rest] -= columns[rest, k, ..., None] * x[k]
    return np.ascontiguousarray(np.moveaxis(x, 0, -2)).astype(b.dtype, copy=False)


ONE_BY_ONE = 64  # products, which take Python as long as NumPy takes to begin with the first row


def put_in_few(
    form: kernels.forms.Library, n: int, dtype: np.dtype[Any], evaluate: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """`put_in` of two axes as a function for sizes up to `ONE_BY_ONE`: the same steps of numbers of Python, which are floats of 8
    bytes too. What is no array of NumPy's goes to `evaluate`."""
    steps = [(k, range(k + 1, n)) for k in range(n)]
    if form.part != "lower":
        steps = [(k, range(k)) for k in reversed(range(n))]
    is_adjoint = form.adjoint

    def solved(a: Array, b: Array) -> Any:
        if evaluate is not None and not type(a) is type(b) is np.ndarray:
            return evaluate(a, b)
        rows, x = (a.T if is_adjoint else a).tolist(), b.tolist()
        for k, _ in steps:
            if not rows[k][k]:
                raise MatrixError(SINGULAR)
        for k, others in steps:
            divisor = rows[k][k]
            x[k] = found = [number / divisor for number in x[k]]
            for i in others:
                factor = rows[i][k]
                x[i] = [number - factor * known for number, known in zip(x[i], found, strict=True)]
        return np.array(x, dtype)

    return solved


_few = functools.lru_cache(maxsize=256)(put_in_few)


def _can_limit() -> bool:
    # Where there are no tiles, native code is compiled anew in each process, which takes longer than most factorisations.
    if not has_tiles(np.dtype(np.float32)):
        return False
    try:
        _routines().load()
    except NotCompiledError:
        return False
    return bool(_library().control_block())


def _large(a: Array, b: Array, work: int) -> Array | None:
    """A product by the routines; None: by NumPy, which also has the errors."""
    rows, columns = a.shape[-2], b.shape[-1]
    if rows == columns == 1 or (work < _MATRICES and rows != 1 != columns):
        return None
    if type(a) is not np.ndarray or type(b) is not np.ndarray or a.shape[-1] != b.shape[-2]:
        return None
    if a.dtype is not b.dtype or not has_tiles(a.dtype):
        return None
    try:
        return _routines().product(a, b)  # type: ignore[no-any-return]
    except NotCompiledError:
        return None
