"""Matrix products as plan steps: by tiles of registers, or by the BLAS that NumPy already carries.

`find` looks the Fortran entry points up inside NumPy's own library (or asks SciPy's capsules) and believes
them after one product; the step kernel reads sizes, strides and pointers from its block, loops over up to
four batch dimensions and calls them by address. A row-major C = A B is the column-major C' = B' A'. Sizes are
int64 words: on a little-endian machine they serve BLAS with 32-bit integers as well, as long as they are
below 2**31. Products that would run on one thread anyway, since waking BLAS threads costs more than they bring, are
those of `tiles_text` where there are any: these copy less than BLAS does. On processors with vectors of 512 bits that BLAS takes
for older ones, all products are theirs: BLAS takes twice as long.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.cpu.runtime import blas_text, limit, native, tiles_text
from graphad.compiler.cpu.runtime.blas_text import (
    ALPHA,
    BATCH,
    BATCH_RANK,
    BETA,
    CONTROL,
    FIRST,
    GEMM,
    GEMV,
    LDA,
    LDB,
    LDC,
    LIMIT,
    ONE_THREAD_BELOW,
    SECOND,
    STRIDE_A,
    STRIDE_B,
    STRIDE_C,
    TRANS_A,
    TRANS_B,
    WORD_COUNT,
    A,
    B,
    C,
    K,
    M,
    N,
)
from graphad.compiler.cpu.target import host
from graphad.core.errors import InvalidArgumentError
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from graphad.compiler.backend import Part

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


class Blas(Record):
    """Addresses of gemm and gemv by dtype name, of the thread count's accessors (0 where there are none), and of the routines
    that `numpy.linalg` calls for float64, by LAPACK's name (0 where there are none; empty where the library is not NumPy's). The
    processor that its kernels are for is `core`, empty where it does not say."""

    source: str
    gemm: dict[str, int]
    gemv: dict[str, int]
    set_threads: int
    get_threads: int
    lapack: dict[str, int]
    core: str


_addresses: dict[str, dict[str, int]] = {}
_tiles: dict[str, int] = {}  # by dtype name; 0 where there are none
_found: dict[str, Blas | None] = {}


def _native(symbol: str) -> int:
    return native.once(_addresses, "blas", lambda: native.printed(blas_text.text, symbols=blas_text.SYMBOLS))[
        symbol
    ]


def kernel() -> int:
    """The address of the matrix product's step kernel."""
    return _native("graphad_gemm")


def tiles(dtype: str) -> int:
    """The address of the product in tiles, 0 where this processor or this dtype has none."""
    return native.once(_tiles, dtype, lambda: _tiles_of(dtype))


def _tiles_of(dtype: str) -> int:
    shape = next((s for s in tiles_text.shapes(host().features) if s.letter == LETTERS[dtype]), None)
    if shape is None or sys.platform == "win32":  # its 40 kB of stack would need a probe there
        return 0
    symbol = tiles_text.symbol(shape)
    return native.printed(tiles_text.text, shape, symbols=[symbol])[symbol]


def find() -> Blas | None:
    """NumPy's BLAS by address, SciPy's where NumPy's cannot be found, None where neither can: then use
    np.matmul.
    """
    return native.once(_found, "found", lambda: _numpy_blas() or _scipy_blas())


# prefix, suffix of the Fortran names; prefix, suffix of the thread functions
_SPELLINGS = (
    ("scipy_", "_64_", "scipy_", "64_"),
    ("", "_64_", "", "64_"),
    ("", "_64_", "", ""),
    ("scipy_", "_", "scipy_", ""),
    ("", "_", "", ""),
    ("", "$NEWLAPACK$ILP64", "", ""),
    ("", "$NEWLAPACK", "", ""),
)


def _libraries() -> Iterator[ctypes.CDLL]:
    import numpy._core._multiarray_umath as core  # type: ignore[import-not-found]

    names = [core.__file__]
    if sys.platform == "win32":  # a symbol's search does not follow dependencies there
        folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
        import glob

        names += sorted(glob.glob(os.path.join(folder, "*openblas*.dll")))
    for name in names:
        with contextlib.suppress(OSError):
            yield ctypes.CDLL(name)


def _symbol(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def _numpy_blas() -> Blas | None:
    for library in _libraries():
        for prefix, suffix, thread_prefix, thread_suffix in _SPELLINGS:
            tables = {
                what: {
                    dtype: _symbol(library, f"{prefix}{letter}{what}{suffix}")
                    for dtype, letter in LETTERS.items()
                }
                for what in ("gemm", "gemv")
            }
            if not all(tables["gemm"].values()):
                continue
            set_threads = _symbol(library, f"{thread_prefix}openblas_set_num_threads{thread_suffix}")
            get_threads = _symbol(library, f"{thread_prefix}openblas_get_num_threads{thread_suffix}")
            if not (set_threads and get_threads):
                set_threads = get_threads = 0
            lapack = {name: _symbol(library, f"{prefix}d{name}{suffix}") for name in ("gesv", "potrf")}
            source = f"numpy ({prefix}dgemm{suffix})"
            core = _core(_symbol(library, f"{thread_prefix}openblas_get_corename{thread_suffix}"))
            blas = Blas(source, tables["gemm"], tables["gemv"], set_threads, get_threads, lapack, core)
            if _is_right(blas):
                return blas
    return None


def _core(address: int) -> str:
    name = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)() if address else None
    return "" if name is None else name.decode()


def _scipy_blas() -> Blas | None:
    try:
        from scipy.linalg import cython_blas
    except ImportError:
        return None
    capsules: dict[str, Any] = cython_blas.__pyx_capi__
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tables = {
        what: {
            dtype: int(pointer(capsules[letter + what], name(capsules[letter + what])) or 0)
            for dtype, letter in LETTERS.items()
        }
        for what in ("gemm", "gemv")
    }
    blas = Blas("scipy", tables["gemm"], tables["gemv"], 0, 0, {}, "")
    return blas if _is_right(blas) else None


def _is_right(blas: Blas) -> bool:
    """One product of two small matrices by each gemm, against NumPy's."""
    for dtype in LETTERS:
        a = np.arange(6, dtype=dtype).reshape(2, 3) + 1
        b = np.arange(12, dtype=dtype).reshape(3, 4) - 2
        c = np.zeros((2, 4), dtype)
        words = matmul_words(
            dtype, (a.shape, a.strides), (b.shape, b.strides), (c.shape, c.strides), blas=blas
        )
        assert words is not None
        words[A], words[B], words[C] = a.ctypes.data, b.ctypes.data, c.ctypes.data
        words[GEMV] = words[CONTROL] = 0
        run_step(kernel(), words)
        if not np.array_equal(c, np.matmul(a, b)):
            return False
    return True


def run_step(address: int, words: Sequence[int]) -> int:
    """Call one step kernel with its block, for tests and probes."""
    block = (ctypes.c_int64 * len(words))(*words)
    scratch = (ctypes.c_int64 * 2)()
    step = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    return int(step(ctypes.addressof(scratch), ctypes.addressof(scratch) + 8, ctypes.addressof(block)))


def run_parts(parts: Iterable[Part], arrays: Mapping[int, np.ndarray]) -> bool:
    """Run steps with these arrays for their places, for tests and probes. Returns: whether each had an answer."""
    for step, places, _ in parts:
        for word, (k, at) in zip(step.places, places, strict=True):
            step.words[word] = arrays[k].ctypes.data + at
        if run_step(step.function, step.words):
            return False
    return True


def control_block() -> int:
    """The control block of the limit on its threads, shared by all steps; 0 when the thread count cannot be set."""
    blas = find()
    return limit.block_of(blas.set_threads, blas.get_threads) if blas is not None and blas.set_threads else 0


def one_thread() -> contextlib.AbstractContextManager[None]:
    """A context in which the BLAS of NumPy, and SciPy's where it is loaded, has one thread for all threads of the process. A
    library that cannot be told keeps its threads."""
    loaded = sys.modules.get("scipy.linalg._fblas")
    of_scipy = 0 if loaded is None or loaded.__file__ is None else _block_of_scipy(loaded.__file__)
    return limit.one_thread([block for block in (control_block(), of_scipy) if block])


@functools.lru_cache(maxsize=1)
def _block_of_scipy(path: str) -> int:
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(path)
        for prefix in ("scipy_", ""):
            set_threads, get_threads = (
                _symbol(library, f"{prefix}openblas_{word}_num_threads") for word in ("set", "get")
            )
            if set_threads and get_threads:
                return limit.block_of(set_threads, get_threads)
    return 0


def threads() -> int | None:
    """How many threads BLAS would use now; None when it does not say."""
    blas = find()
    return (
        ctypes.CFUNCTYPE(ctypes.c_int32)(blas.get_threads)()
        if blas is not None and blas.get_threads
        else None
    )


Strided = tuple[Sequence[int], Sequence[int]]  # shape, strides in bytes


def matmul_words(
    dtype: str | np.dtype[Any],
    a: Strided,
    b: Strided,
    c: Strided,
    alpha: complex = 1,
    beta: complex = 0,
    one_thread_below: int | None = None,
    blas: Blas | None = None,
) -> list[int] | None:
    """The block of a step C = alpha A B + beta C, pointers left at 0 (words A, B, C).

    Args:
      dtype: float32, float64, complex64 or complex128, of all three. a: Shape and strides of A [..., m, k];
      batch dimensions broadcast. b: [..., k, n]. c: [..., m, n], its batch dimensions are full. alpha: Factor
      of the product. beta: Factor of what C holds; with 0 it is not read. one_thread_below: Products with
      fewer multiplications run on one thread, and in tiles; by default `ONE_THREAD_BELOW`, but all in tiles where BLAS
      has shorter vectors than these.
    Returns: The words, or None when an operand must be copied first (neither of its last two axes is
    contiguous, more than four
      batch dimensions remain, or a size is too large for the library's integers), or no BLAS was found.
    """
    kind, name = _kind(dtype)
    library = blas or find()
    if name not in LETTERS:
        raise InvalidArgumentError(
            f"matmul: dtype {name} has no BLAS product; allowed are {', '.join(LETTERS)}"
        )
    if library is None:
        return None
    (m, k), (k_b, n), (m_c, n_c) = a[0][-2:], b[0][-2:], c[0][-2:]
    if k != k_b or (m, n) != (m_c, n_c):
        raise InvalidArgumentError(
            f"matmul: inner sizes differ: a has shape {tuple(a[0])}, b has shape {tuple(b[0])}, "
            f"c has shape {tuple(c[0])}; a is [m, k], b is [k, n], c is [m, n]"
        )
    axes_a, axes_b = leading(a, kind.itemsize), leading(b, kind.itemsize)
    axes_c = leading(c, kind.itemsize)
    if axes_a is None or axes_b is None or axes_c is None:
        return None
    if axes_c[0]:  # C is stored by columns: compute its transpose
        turned = [((*s[:-2], s[-1], s[-2]), (*t[:-2], t[-1], t[-2])) for s, t in (b, a, c)]
        words = matmul_words(kind, turned[0], turned[1], turned[2], alpha, beta, one_thread_below, blas)
        if words is not None:
            words[FIRST], words[SECOND] = B, A
        return words
    batch = [list(row) for row in _batches(a, b, c)]
    (trans_a, lda), (trans_b, ldb), (_, ldc) = axes_a, axes_b, axes_c
    size = kind.itemsize
    while (
        batch
        and not trans_a
        and batch[-1][2] == 0
        and batch[-1][1] == m * lda * size
        and batch[-1][3] == m * ldc * size
    ):
        m *= batch.pop()[0]  # stacked rows against one B are one taller product
    batch = _merged(batch)
    if len(batch) > BATCH_RANK or max(m, n, k, lda, ldb, ldc) >= 1 << 31:
        return None
    words = [0] * WORD_COUNT
    words[GEMM], words[GEMV] = library.gemm[name], library.gemv[name]
    words[M], words[N], words[K], words[LDA], words[LDB], words[LDC] = m, n, k, lda, ldb, ldc
    words[TRANS_A], words[TRANS_B] = ord("T" if trans_a else "N"), ord("T" if trans_b else "N")
    words[ALPHA : ALPHA + 2], words[BETA : BETA + 2] = bits(kind, alpha), bits(kind, beta)
    words[FIRST], words[SECOND] = A, B
    limit_of_blas = ONE_THREAD_BELOW if one_thread_below is None else one_thread_below
    words[CONTROL], words[LIMIT] = (0 if blas is not None else control_block()), limit_of_blas
    is_tiled = m * n * k < limit_of_blas or (
        one_thread_below is None and has_longer_vectors(library.core, host().features)
    )
    if blas is None and alpha == 1 and not beta and min(m, n) > 1 and is_tiled:
        by_tiles = tiles(name)
        if by_tiles:
            words[GEMM], words[CONTROL] = by_tiles, 0
    rows = batch + [[1, 0, 0, 0]] * (BATCH_RANK - len(batch))
    for d, (count, *steps) in enumerate(rows):
        words[BATCH + d] = count
        words[STRIDE_A + d], words[STRIDE_B + d], words[STRIDE_C + d] = steps
    return words


@functools.lru_cache(maxsize=8)
def has_longer_vectors(core: str, features: str) -> bool:
    """Whether tiles have longer vectors, on a processor with these features, than kernels of OpenBLAS for `core`."""
    return core in ("Haswell", "Zen") and any(s.lanes * s.size > 32 for s in tiles_text.shapes(features))


@functools.lru_cache(maxsize=64)
def _kind(dtype: str | np.dtype[Any]) -> tuple[np.dtype[Any], str]:
    kind = np.dtype(dtype)
    return kind, kind.name


@functools.lru_cache(maxsize=64)
def bits(dtype: np.dtype[Any], value: complex) -> list[int]:
    number = value if dtype.kind == "c" else complex(value).real
    raw = np.array(number, dtype).tobytes().ljust(16, b"\0")
    return [int(word) for word in np.frombuffer(raw, np.int64)]


def leading(operand: Strided, itemsize: int) -> tuple[bool, int] | None:
    """(stored transposed, elements from one stored row to the next) of the last two axes; None when neither
    is contiguous.
    """
    (rows, columns), (row_step, column_step) = operand[0][-2:], operand[1][-2:]
    if rows == 0 or columns == 0 or (rows == 1 and columns == 1):
        return False, max(columns, 1)
    if columns == 1:  # the stride of an axis of size one says nothing
        column_step = itemsize
    if rows == 1:
        row_step = itemsize * columns if column_step == itemsize else itemsize
    if column_step == itemsize and row_step >= columns * itemsize and row_step % itemsize == 0:
        return False, row_step // itemsize
    if row_step == itemsize and column_step >= rows * itemsize and column_step % itemsize == 0:
        return True, column_step // itemsize
    return None


def _batches(a: Strided, b: Strided, c: Strided) -> list[tuple[int, int, int, int]]:
    """(size, stride in A, in B, in C) of each batch dimension of C that is not 1."""
    rank, rows = len(c[0]) - 2, []
    for d in range(rank):
        count, steps = c[0][d], []
        for shape, strides in (a, b, c):
            axis = d - rank + len(shape) - 2
            steps.append(0 if axis < 0 or shape[axis] == 1 else strides[axis])
            if axis >= 0 and shape[axis] not in (1, count):
                raise InvalidArgumentError(
                    f"matmul: batch shapes do not broadcast: {tuple(shape)} against {tuple(c[0])}"
                )
        if count != 1:
            rows.append((count, steps[0], steps[1], steps[2]))
    return rows


def _merged(batch: list[list[int]]) -> list[list[int]]:
    """Neighbouring dimensions that step through all operands evenly become one."""
    merged: list[list[int]] = []
    for row in batch:
        if merged and all(
            outer == row[0] * inner for outer, inner in zip(merged[-1][1:], row[1:], strict=True)
        ):
            merged[-1] = [merged[-1][0] * row[0], *row[1:]]
        else:
            merged.append(list(row))
    return merged
