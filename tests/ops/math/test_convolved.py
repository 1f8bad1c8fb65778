"""Convolutions and correlations of vectors of many sizes: pieces, the way of few results, rows, and what devices run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.ops.math.convolved import VectorConvolution

RNG = np.random.default_rng(5)
SIZES = [(1, 1), (5, 3), (65, 64), (64, 65), (300, 1), (1000, 1000), (3000, 70), (3000, 2990), (2000, 700)]
DTYPES = ["float16", "float32", "float64", "complex128", "int64"]


def _numbers(dtype: str, *shape: int) -> np.ndarray:
    x = RNG.normal(size=shape) * 5
    return (x + 1j * RNG.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def _within(found: Any, wanted: np.ndarray, size: np.ndarray, dtype: str) -> bool:
    unit = {"int64": 0.0, "float16": 1e-3, "float32": 2e-6}.get(dtype, 1e-14)
    return bool((np.abs(np.asarray(found, wanted.dtype) - wanted) <= unit * size).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_sums_are_those_of_numpy_for_all_sizes_of_pieces(n: int, m: int, dtype: str) -> None:
    a, v = _numbers(dtype, n), _numbers(dtype, m)
    wide = np.complex128 if dtype == "complex128" else np.int64 if dtype == "int64" else np.float64
    A, V = a.astype(wide), v.astype(wide)
    found = bind(VectorConvolution(), tf.constant(a), tf.constant(v)).numpy()
    assert found.dtype == a.dtype
    assert _within(found, np.convolve(A, V), np.convolve(np.abs(A), np.abs(V)), dtype)
    if n >= m:
        found = bind(VectorConvolution(True), tf.constant(a), tf.constant(v)).numpy()
        size = np.correlate(np.abs(A), np.abs(V), "valid")
        assert _within(found, np.correlate(A, V.conj(), "valid"), size, dtype)


@pytest.mark.parametrize("of_first", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("n", "m"), [(3, 1), (300, 1), (1000, 70), (2000, 1900)])
def test_what_is_not_finite_is_in_the_sums_that_it_belongs_to_alone(
    n: int, m: int, value: float, of_first: bool
) -> None:
    a, v = _numbers("float64", n), _numbers("float64", m)
    (a if of_first else v)[m // 3] = value
    for found, wanted in (
        (bind(VectorConvolution(), tf.constant(a), tf.constant(v)), np.convolve(a, v)),
        (bind(VectorConvolution(True), tf.constant(a), tf.constant(v)), np.correlate(a, v, "valid")),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("correlates", [False, True])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_what_devices_run_is_the_same_sums(n: int, m: int, correlates: bool) -> None:
    if correlates and n < m:
        n, m = m, n
    op: Any = VectorConvolution(correlates)
    a, v = tf.constant(_numbers("float64", n)), tf.constant(_numbers("float64", m))
    np.testing.assert_allclose(op.expanded(a, v), op.eval(a.numpy(), v.numpy()), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("correlates", [False, True])
@pytest.mark.parametrize(("n", "m"), [(12, 5), (1200, 500)])
def test_rows_are_convolved_one_by_one_or_at_once(n: int, m: int, correlates: bool) -> None:
    op: Any = VectorConvolution(correlates)
    a, v = _numbers("float64", 4, n), _numbers("float64", 4, m)
    wanted = np.stack([op.eval(x, y) for x, y in zip(a, v, strict=True)])
    np.testing.assert_allclose(op.eval(a, v), wanted, rtol=1e-12, atol=1e-10)
    assert op.eval(a[:0], v[:0]).shape == (0, wanted.shape[1])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_eager_and_traced_bits_are_equal_and_gradients_are_numpys_sums(function: str, mode: str) -> None:
    compute = getattr(gnp, function)
    x, y = tf.constant(_numbers("float32", 700)), tf.constant(_numbers("float32", 90))

    def both(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = compute(x, y, mode)
        return z, *tape.gradient(z, [x, y], output_gradients=tf.cos(z))

    eager, traced = both(x, y), tf.function(both)(x, y)
    assert [z.numpy().tobytes() for z in eager] == [z.numpy().tobytes() for z in traced]
    assert eager[0].numpy().tobytes() == compute(x, y, mode).numpy().tobytes()
    X, Y, g = (z.numpy().astype(np.float64) for z in (x, y, tf.cos(eager[0])))
    numpys = getattr(np, function)
    step = 1e-3
    for bar, at, other in ((eager[1], X, 0), (eager[2], Y, 1)):
        direction = RNG.normal(size=at.size)
        ends = [at + s * step * direction for s in (1, -1)]
        high, low = (numpys(*((end, Y) if other == 0 else (X, end)), mode) for end in ends)
        want = np.sum(g * (high - low)) / (2 * step)  # linear in each
        np.testing.assert_allclose(
            np.sum(bar.numpy() * direction), want, rtol=1e-3, atol=1e-3 * np.abs(g).sum()
        )


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (2, 3)])
def test_vectors_without_elements_or_too_short_are_refused_by_their_numbers(n: int, m: int) -> None:
    with pytest.raises(
        InvalidArgumentError, match=f"vector_convolution: the vectors have {n} and {m} elements"
    ):
        bind(VectorConvolution(True), tf.zeros([n]), tf.zeros([m]))


def test_leading_axes_that_differ_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"a has shape \(2, 3\), v \(3, 3\)"):
        bind(VectorConvolution(), tf.zeros([2, 3]), tf.zeros([3, 3]))
    with pytest.raises(InvalidArgumentError, match="v is a scalar"):
        bind(VectorConvolution(), tf.zeros([2]), tf.zeros([]))


def test_zeros_of_a_polynomial_have_a_gradient_that_stays_finite_where_two_are_equal() -> None:
    zeros = tf.constant([0.5, 0.5, -1.0, 2.0, 0.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(zeros)
        y = gnp.poly(zeros)
    found = tape.jacobian(y, zeros).numpy()
    for k in range(5):
        rest = np.poly(np.delete(zeros.numpy(), k))
        np.testing.assert_allclose(found[:, k], np.concatenate([[0.0], -rest]), atol=1e-12)
