"""Factors of small matrices in native code have the bits of eager code, and so do their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.compiler.plan.test_measured import in_python

pytest.importorskip("scipy")
_rng = np.random.default_rng(9)
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrices(shape: tuple[int, ...], dtype: Any) -> Any:
    x = _rng.normal(size=shape) + (1j * _rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return tf.constant(x.astype(dtype))


@pytest.mark.parametrize("index", [tf.int32, tf.int64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_and_orders(dtype: Any, index: Any) -> None:
    compiled = tf.function(lambda x: tf.linalg.lu(x, output_idx_type=index), jit_compile=True)
    for shape in ((5, 6, 6), (3, 3), (2, 3, 1, 1), (31, 31), (40, 40), (0, 4, 4), (3, 0, 0)):
        x = matrices(shape, dtype)
        for found, want in zip(compiled(x), tf.linalg.lu(x, output_idx_type=index), strict=True):
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found.numpy(), want.numpy())
        if 0 not in shape and shape != (40, 40):
            assert not in_python(compiled, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_has_no_factors(dtype: Any) -> None:
    compiled = tf.function(lambda x: tf.linalg.lu(x), jit_compile=True)
    x = matrices((3, 4, 4), dtype).numpy()
    compiled(tf.constant(x))
    x[1] = 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        compiled(tf.constant(x))
    x[1] = np.nan
    for found, want in zip(compiled(tf.constant(x)), tf.linalg.lu(tf.constant(x)), strict=True):
        np.testing.assert_array_equal(found.numpy(), want.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_and_a_loop(dtype: Any) -> None:
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                factors, order = tf.linalg.lu(y)
                y = tf.linalg.matmul(y, x) * 0.1 + factors + tf.cast(order[..., None], x.dtype)
            loss = tf.reduce_sum(tf.math.real(y * tf.math.conj(y)))
        return tape.gradient(loss, x)

    x = matrices((2, 4, 4), dtype)
    found = tf.function(slope, jit_compile=True)(x).numpy()
    want = slope(x).numpy()
    np.testing.assert_allclose(found, want, 1e-2, 1e-3 * float(np.abs(want).max()))


def test_of_as_many_matrices_as_the_run_finds() -> None:
    f = tf.function(lambda x, m: tf.linalg.lu(tf.boolean_mask(x, m)), jit_compile=True)
    x = matrices((9, 4, 4), np.float32)
    for count in (4, 0, 9, 1, 7):
        m = np.arange(9) < count
        for found, want in zip(f(x, tf.constant(m)), tf.linalg.lu(x.numpy()[m]), strict=True):
            np.testing.assert_array_equal(found.numpy(), want.numpy())
    assert not in_python(f, x, tf.constant(m))
