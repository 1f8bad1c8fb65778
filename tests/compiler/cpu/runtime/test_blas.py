"""Matrix products by address: numbers against np.matmul over layouts, batches, factors and empty sizes;
thread limits.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading

import numpy as np
import pytest

from graphad.compiler.cpu.runtime import blas, limit
from graphad.compiler.cpu.runtime.plan_block import Argument, PlanBuilder
from graphad.core.errors import InvalidArgumentError

pytestmark = pytest.mark.skipif(blas.find() is None, reason="no BLAS can be called by address")
BATCHES = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 4)), ((2, 3), ()), ((), (3,))]


def values(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def product(a, b, c, alpha=1, beta=0, **options):
    words = blas.matmul_words(
        a.dtype, (a.shape, a.strides), (b.shape, b.strides), (c.shape, c.strides), alpha, beta, **options
    )
    if words is None:
        return False
    words[blas.A], words[blas.B], words[blas.C] = a.ctypes.data, b.ctypes.data, c.ctypes.data
    assert blas.run_step(blas.kernel(), words) == 0
    return True


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_product_matches_matmul_for_every_layout_and_batch(dtype):
    rng = np.random.default_rng(0)
    loose = 1e-4 if np.dtype(dtype).name in ("float32", "complex64") else 1e-11
    for m, n, k in itertools.product((0, 1, 2, 33), (0, 1, 3, 17), (0, 1, 4)):
        for turns, (batch_a, batch_b) in itertools.product(itertools.product((0, 1), repeat=3), BATCHES):
            shapes = [(*batch_a, m, k), (*batch_b, k, n), (*np.broadcast_shapes(batch_a, batch_b), m, n)]
            a, b, c = (
                np.swapaxes(values(rng, (*s[:-2], s[-1], s[-2]), dtype), -1, -2)
                if turned
                else values(rng, s, dtype)
                for s, turned in zip(shapes, turns, strict=True)
            )
            alpha, beta = rng.choice([1, 1.5]), rng.choice([0, 1, -0.5])
            expected = alpha * np.matmul(a, b) + beta * c
            if beta == 0:
                c[...] = np.nan  # with beta 0, C is not read
            assert product(a, b, c, alpha, beta), (a.shape, a.strides, b.shape, b.strides)
            np.testing.assert_allclose(c, expected, rtol=loose, atol=loose)


def test_slices_work_in_place_and_what_blas_cannot_take_is_refused():
    rng = np.random.default_rng(1)
    big, b = rng.normal(size=(10, 12)), rng.normal(size=(5, 7))
    c = np.zeros((4, 20))
    assert product(big[2:6, 3:8], b, c[:, 2:9])
    np.testing.assert_allclose(c[:, 2:9], big[2:6, 3:8] @ b)
    assert not c[:, :2].any() and not c[:, 9:].any()
    assert product(big[:1, ::2][:, :5], b, c[:1, 2:9]) and np.allclose(c[:1, 2:9], big[:1, ::2][:, :5] @ b)
    for wrong in (big[::2, ::2], np.broadcast_to(big[0, :5], (4, 5)), big[:4, :5][::-1]):
        assert not product(wrong, np.zeros((wrong.shape[1], 3)), np.zeros((len(wrong), 3)))
    with pytest.raises(InvalidArgumentError, match="inner sizes"):
        product(big, b, c)
    with pytest.raises(InvalidArgumentError, match="no BLAS product"):
        product(big.astype(int), b, c)


def test_factors_may_be_complex():
    rng = np.random.default_rng(2)
    a, b = values(rng, (4, 5), "complex128"), values(rng, (5, 3), "complex128")
    c = np.ones((4, 3), "complex128")
    assert product(a, b, c, 2 - 1j, 0.5j)
    np.testing.assert_allclose(c, (2 - 1j) * (a @ b) + 0.5j)


def test_a_product_is_a_plan_step():
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(6, 20, 30)), rng.normal(size=(30, 10)), np.empty((6, 20, 10))
    words = blas.matmul_words("float64", (a.shape, a.strides), (b.shape, b.strides), (c.shape, c.strides))
    # rows stacked against one matrix are one product
    assert words[blas.M] == 120 and words[blas.BATCH] == 1
    builder = PlanBuilder(3)
    builder.add_step(blas.kernel(), words, [Argument(blas.A, 0), Argument(blas.B, 1), Argument(blas.C, 2)])
    assert builder.build().instance().run(a, b, c) == 0
    np.testing.assert_allclose(c, a @ b)


@contextlib.contextmanager
def limited_to(count):
    """Let BLAS use `count` threads inside the block, as a product in native code does."""
    control = blas.control_block()
    enter, leave = limit.addresses()
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int32)(enter)(control, count)
    try:
        yield
    finally:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(leave)(control)


@pytest.mark.skipif((blas.threads() or 1) < 2, reason="BLAS has one thread here")
def test_thread_limits_nest_and_are_restored():
    before = blas.threads()
    with limited_to(1):
        assert blas.threads() == 1
        with limited_to(2):
            assert blas.threads() == 1  # the outermost decides
        assert blas.threads() == 1
        with blas.one_thread():
            assert blas.threads() == 1
        assert blas.threads() == 1
    assert blas.threads() == before
    with contextlib.suppress(KeyError), blas.one_thread():
        assert blas.threads() == 1
        raise KeyError
    assert blas.threads() == before

    def work():
        a = np.ones((96, 96))
        c = np.empty_like(a)
        for _ in range(300):
            assert product(a, a, c) and c[0, 0] == 96

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert blas.threads() == before
