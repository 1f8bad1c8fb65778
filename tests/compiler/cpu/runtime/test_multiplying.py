"""Products in parts: the parts cover the result, and an element has the same bits in whichever part it is."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.compiler.cpu.runtime import blas, multiplying, pool
from graphad.compiler.cpu.runtime import blas_text as t
from graphad.compiler.cpu.runtime.plan_block import PlanBuilder

pytestmark = pytest.mark.skipif(not blas.tiles("float32"), reason="no tiles for this machine")

SHAPES = [
    ((700, 130), (130, 40)),  # rows
    ((40, 130), (130, 700)),  # columns
    ((500, 97), (97, 333)),
    ((12, 64, 64), (12, 64, 70)),  # matrices
    ((3, 300, 64), (64, 100)),  # stacked rows against one matrix
    ((2, 1, 200, 64), (5, 64, 120)),  # leading axes that broadcast
    ((2, 200, 200), (1, 200, 200)),
]


def _walk(x):
    return x.shape, x.strides


def _by_parts(a, b, threads):
    c = np.full((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.nan, a.dtype)
    found = multiplying.parts(a.dtype.name, _walk(a), _walk(b), _walk(c), threads)
    starts = [x.ctypes.data for x in (a, b, c)]
    for step, places, _ in found:
        words = list(step.words)
        for word, (k, offset) in zip(step.places, places, strict=True):
            words[word] = starts[k] + offset
        assert blas.run_step(step.function, words) == 0
    return c, len(found)


def _turned(x):
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)).swapaxes(-1, -2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_any_number_of_parts_has_the_same_bits(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    unit = {"float32": 2e-4, "float64": 1e-12}[dtype]
    for x, y in ((a, b), (_turned(a), b), (a, _turned(b)), (_turned(a), _turned(b))):
        one, count = _by_parts(x, y, 1)
        assert count == 1
        np.testing.assert_allclose(one, np.matmul(a, b), atol=unit)
        for threads in (2, 3, 16):
            many, count = _by_parts(x, y, threads)
            assert count > 1
            np.testing.assert_array_equal(many, one)
        np.testing.assert_array_equal(multiplying.product(x, y), one)


def test_small_products_and_those_of_blas_are_whole(monkeypatch):
    monkeypatch.setattr(blas, "has_longer_vectors", lambda core, features: False)
    small, tall = np.ones((64, 64), "float32"), np.ones((4000, 600), "float32")
    assert _by_parts(small, small, 8)[1] == 1
    assert _by_parts(tall, tall[:600, :1], 8)[1] == 1  # a vector
    wide = np.ones((600, 600), "float32")
    words = [part.step.words[t.GEMM] for part in multiplying.parts("float32", *[_walk(wide)] * 3, 8)]
    assert words == [blas.find().gemm["float32"]]
    assert _by_parts(np.ones((300, 300), "complex64"), np.ones((300, 300), "complex64"), 8)[1] == 1


def test_operands_that_blas_cannot_walk_are_copied():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((200, 300)), rng.standard_normal((300, 100))
    expected = multiplying.product(a, b)
    spread = np.zeros((200, 600))
    spread[:, ::2] = a
    np.testing.assert_array_equal(multiplying.product(spread[:, ::2], b), expected)
    np.testing.assert_array_equal(multiplying.product(a[::-1].copy()[::-1], b), expected)
    same = np.broadcast_to(np.float64(2.0), (300, 100))
    turned = np.asfortranarray(a)  # which is not copied beside one that is
    np.testing.assert_array_equal(multiplying.product(turned, same), multiplying.product(turned, same.copy()))
    stacks = np.broadcast_to(np.float64(2.0), (4, 300, 100))
    np.testing.assert_array_equal(
        multiplying.product(np.stack([a] * 4), stacks)[3], multiplying.product(a, same)
    )


def test_threads_share_the_product_of_a_plan(monkeypatch):
    monkeypatch.setattr(pool, "thread_count", lambda: 2)
    shared = []
    add = PlanBuilder.add_region
    monkeypatch.setattr(
        PlanBuilder,
        "add_region",
        lambda self, f, rows, *rest: shared.append(len(rows)) or add(self, f, rows, *rest),
    )
    x, y = (
        gd.constant(np.random.default_rng(k).standard_normal((400, 400)).astype("float32")) for k in (0, 1)
    )
    z = gd.function(lambda x, y: x @ y, jit_compile=True)(x, y)
    assert shared and shared[0] > 1
    np.testing.assert_array_equal(z.numpy(), _by_parts(x.numpy(), y.numpy(), 1)[0])
