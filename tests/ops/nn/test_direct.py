"""Convolutions of arrays by native routines, and by NumPy where there are none: both the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad.core.errors import UnavailableError
from graphad.ops.nn import direct
from graphad.ops.nn.conv import Convolution, ConvolutionFilterGrad, ConvolutionInputGrad

SHAPES = [
    ((2, 9, 8, 3), (3, 3, 3, 10)),
    ((2, 9, 8, 16), (3, 3, 16, 8)),
    ((2, 9, 8, 12), (3, 3, 1, 12)),
    ((2, 9, 8, 12), (3, 3, 2, 12)),
    ((2, 9, 8, 4), (3, 3, 1, 8)),
]


def _gradients(op, x, kernel, g):
    return (
        op.eval(x, kernel),
        op.like(ConvolutionInputGrad, x.shape).eval(g, kernel),
        op.like(ConvolutionFilterGrad, kernel.shape).eval(x, g),
    )


@pytest.mark.parametrize(("image", "filters"), SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numpy_and_routines_agree(image, filters, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    op = Convolution((2, 1), "SAME", (1, 1))
    shapes = image, filters, (*op.places(image, filters[:2]), filters[-1])
    given = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    found = _gradients(op, *given)
    monkeypatch.setattr(direct, "_has", lambda dtype: False)
    unit = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-13}[dtype]
    for one, another in zip(found, _gradients(op, *given), strict=True):
        assert one.dtype == another.dtype == dtype
        np.testing.assert_allclose(one, another, rtol=0, atol=unit * float(np.abs(another).max()))


def test_images_in_another_order_are_convolved_too():
    rng = np.random.default_rng(4)
    op = Convolution((1, 1), "SAME", (1, 1))
    x = rng.standard_normal((4, 9, 8, 2)).astype("float32").transpose(3, 1, 2, 0)
    kernel = rng.standard_normal((10, 4, 3, 3)).astype("float32").transpose(2, 3, 1, 0)
    np.testing.assert_array_equal(op.eval(x, kernel), op.eval(x.copy(), kernel.copy()))
    np.testing.assert_allclose(op.eval(x, kernel), op.by_numpy(x, kernel), atol=1e-4)


def test_without_a_compiler_numpy_convolves(monkeypatch):
    def missing(dtype):
        raise UnavailableError("native runtime: llvmlite cannot be imported")

    monkeypatch.setattr(direct._routines(), "has_steps", missing)
    direct._has.cache_clear()
    try:
        y = gd.nn.conv2d(gd.ones([1, 3, 3, 1]), gd.ones([3, 3, 1, 1]), 1, "SAME")
        assert not direct._has(np.dtype("float32"))
    finally:
        direct._has.cache_clear()
    np.testing.assert_array_equal(y.numpy()[0, :, :, 0], [[4, 6, 4], [6, 9, 6], [4, 6, 4]])


def test_a_function_has_the_bits_of_its_eager_call():
    rng = np.random.default_rng(5)
    x, kernel = (
        gd.constant(rng.standard_normal(shape).astype("float32")) for shape in ((2, 8, 8, 8), (3, 3, 8, 4))
    )

    def gradients(x, kernel):
        with gd.GradientTape() as tape:
            tape.watch([x, kernel])
            y = gd.nn.conv2d_transpose(gd.nn.conv2d(x, kernel, 2, "SAME"), kernel, x.shape, 2, "SAME")
        return [y, *tape.gradient(y, [x, kernel])]

    step = gd.function(gradients)
    want = gradients(x, kernel)
    for _ in range(20):
        for found, one in zip(step(x, kernel), want, strict=True):
            np.testing.assert_array_equal(found.numpy(), one.numpy())
