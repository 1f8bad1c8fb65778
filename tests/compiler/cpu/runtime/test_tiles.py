"""Matrix products in tiles: the numbers of a product in float64, nothing written or read beside the operands."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys

import numpy as np
import pytest

from graphad.compiler.cpu.runtime import blas, native, tiles_text
from graphad.compiler.cpu.target import host

WITHOUT_512 = ",".join(f for f in host().features.split(",") if "avx512" not in f)
SHAPES = list(dict.fromkeys([*tiles_text.shapes(host().features), *tiles_text.shapes(WITHOUT_512)]))
pytestmark = pytest.mark.skipif(
    not SHAPES or sys.platform == "win32" or blas.find() is None, reason="no tiles for this machine"
)
_built: dict[tiles_text.Shape, int] = {}


def address(shape):
    if shape not in _built:
        symbol = tiles_text.symbol(shape)
        _built[shape] = native.build(tiles_text.text(shape), [symbol])[symbol]
    return _built[shape]


def dtype_of(shape):
    return np.dtype("float32" if shape.letter == "s" else "float64")


def product(shape, a, b, c):
    words = blas.matmul_words(a.dtype, (a.shape, a.strides), (b.shape, b.strides), (c.shape, c.strides))
    words[blas.A], words[blas.B], words[blas.C] = a.ctypes.data, b.ctypes.data, c.ctypes.data
    words[blas.GEMM], words[blas.GEMV], words[blas.CONTROL] = address(shape), 0, 0
    assert blas.run_step(blas.kernel(), words) == 0


def matrix(rng, rows, columns, turned, dtype):
    x = rng.normal(size=(columns, rows) if turned else (rows, columns)).astype(dtype)
    return x.T if turned else x


def check(shape, rng, m, n, k, turned_a, turned_b):
    dtype = dtype_of(shape)
    a, b = matrix(rng, m, k, turned_a, dtype), matrix(rng, k, n, turned_b, dtype)
    around = np.full((m + 2, n + 3), 7, dtype)
    c = around[1:-1, 1:-2]
    c[...] = np.nan
    product(shape, a, b, c)
    loose = (1e-5 if dtype.itemsize == 4 else 1e-13) * max(k, 1)
    np.testing.assert_allclose(c, a.astype("float64") @ b.astype("float64"), rtol=loose, atol=loose)
    assert (around == 7).sum() >= around.size - m * n


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.letter}{s.lanes}")
def test_every_size_and_layout(shape):
    rng = np.random.default_rng(0)
    sizes = (1, 2, 3, 4, 7, 8, 11, 12, 13, 16, 17, 24, 31, 32, 33, 47, 64, 65)
    depths = (0, 1, 2, 7, 15, 16, 17, tiles_text.DEPTH - 1, tiles_text.DEPTH, tiles_text.DEPTH + 1, 600)
    cases = list(itertools.product(sizes, sizes, depths, (False, True), (False, True)))
    for place in rng.permutation(len(cases))[:1500]:
        check(shape, rng, *cases[place])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.letter}{s.lanes}")
def test_panels_that_are_copied_and_rows_beyond_one_pass(shape):
    rng = np.random.default_rng(1)
    for m, n, k in ((tiles_text.HEIGHT + 21, 70, 300), (2 * tiles_text.HEIGHT + 1, 33, 257), (60, 300, 260)):
        for turned_a, turned_b in itertools.product((False, True), repeat=2):
            check(shape, rng, m, n, k, turned_a, turned_b)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.letter}{s.lanes}")
def test_special_values_stay_in_their_rows_and_columns(shape):
    rng = np.random.default_rng(2)
    for turned in (False, True):
        a, b = matrix(rng, 13, 20, False, dtype_of(shape)), matrix(rng, 20, 35, turned, dtype_of(shape))
        a[5, 3], b[4, 34] = np.nan, np.inf
        c = np.zeros((13, 35), a.dtype)
        product(shape, a, b, c)
        wrong = ~np.isfinite(c)
        assert wrong[5].all() and wrong[:, 34].all()
        assert wrong.sum() == 13 + 35 - 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are closed by mprotect")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.letter}{s.lanes}")
def test_nothing_is_read_or_written_behind_the_operands(shape):
    dtype, rng = dtype_of(shape), np.random.default_rng(3)
    page, size = mmap.PAGESIZE, 1 << 18
    libc = ctypes.CDLL(None, use_errno=True)
    memory = [mmap.mmap(-1, size + page) for _ in range(3)]
    for m in memory:
        closed = ctypes.addressof(ctypes.c_char.from_buffer(m)) + size
        assert libc.mprotect(ctypes.c_void_p(closed), ctypes.c_size_t(page), 0) == 0
    for m, n, k in ((13, 33, 17), (50, 47, 31), (3, 5, 7), (12, 17, 1), (49, 2, 260)):
        for turned_a, turned_b in itertools.product((False, True), repeat=2):
            operands = []
            for whole, rows, columns, turned in zip(
                memory, (m, k, m), (k, n, n), (turned_a, turned_b, False), strict=True
            ):
                count = rows * columns
                flat = np.frombuffer(whole, dtype, count, size - count * dtype.itemsize)
                flat[...] = rng.normal(size=count)
                operands.append(flat.reshape(columns, rows).T if turned else flat.reshape(rows, columns))
            a, b, c = operands
            product(shape, a, b, c)
            np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)


def test_plans_use_tiles_for_products_that_run_on_one_thread():
    x = np.zeros((4, 4), "float32")
    row = (x.shape, x.strides)
    words = blas.matmul_words("float32", row, row, row)
    assert words[blas.GEMM] == blas.tiles("float32")
    assert blas.matmul_words("float32", row, row, row, beta=1)[blas.GEMM] != words[blas.GEMM]
    assert blas.matmul_words("float32", row, row, row, one_thread_below=64)[blas.GEMM] != words[blas.GEMM]
    assert blas.tiles("complex64") == 0


def test_all_products_are_tiled_where_blas_has_shorter_vectors():
    assert blas.has_longer_vectors("Haswell", "+avx2,+fma,+avx512f")
    assert blas.has_longer_vectors("Zen", "+avx2,+fma,+avx512f")
    assert not blas.has_longer_vectors("SkylakeX", "+avx2,+fma,+avx512f")
    assert not blas.has_longer_vectors("Haswell", "+avx2,+fma")
    assert not blas.has_longer_vectors("", "+avx2,+fma,+avx512f")
    large = ((1024, 1024), (4096, 4))
    tiled = blas.matmul_words("float32", large, large, large)[blas.GEMM] == blas.tiles("float32")
    assert tiled == blas.has_longer_vectors(blas.find().core, host().features)


def test_large_products_in_tiles_are_those_of_float64():
    rng = np.random.default_rng(0)
    for m, k, n in ((700, 500, 500), (40, 3000, 1300), (3000, 70, 700)):
        for turned_a, turned_b in itertools.product((False, True), repeat=2):
            a = rng.normal(size=(k, m) if turned_a else (m, k)).astype("float32")
            b = rng.normal(size=(n, k) if turned_b else (k, n)).astype("float32")
            a, b = a.T if turned_a else a, b.T if turned_b else b
            for shape in SHAPES:
                if shape.letter == "s":
                    c = np.full((m, n), np.nan, "float32")
                    product(shape, a, b, c)
                    np.testing.assert_allclose(c, a.astype("float64") @ b, rtol=1e-3, atol=1e-3)
