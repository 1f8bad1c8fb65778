"""Factorisations are rows of the native call, also in loops, with the bits and the errors of the eager ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import factorising
from graphad.kernels.forms import Factorised
from graphad.tools.explain import explain

_rng = np.random.default_rng(5)
SQUARE: dict[str, Any] = {
    "inv": tf.linalg.inv,
    "det": tf.linalg.det,
    "slogdet": tf.linalg.slogdet,
    "eigh": tf.linalg.eigh,
    "eigvalsh": tf.linalg.eigvalsh,
}
ANY: dict[str, Any] = {
    "qr": tf.linalg.qr,
    "full qr": lambda x: tf.linalg.qr(x, full_matrices=True),
    "svd": tf.linalg.svd,
    "full svd": lambda x: tf.linalg.svd(x, full_matrices=True),
    "svdvals": lambda x: tf.linalg.svd(x, compute_uv=False),
}


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return tf.constant(_rng.normal(size=shape).astype(dtype))


def agrees(function: Any, *given: Any) -> str:
    """The same bits twice. Returns: the units."""
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()
    units: str = explain(f)(*given).units
    assert "host" not in units and "call" not in units and "calls NumPy" not in units, units
    return units


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 4, 4), (2, 1, 40, 40)])
def test_square_matrices(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    assert "routine" in agrees(lambda x: SQUARE[name](x + 1.0), numbers(*shape, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (2, 3, 5, 2), (2, 2, 5), (60, 20)])
def test_matrices_of_any_shape(name: str, shape: tuple[int, ...], dtype: Any) -> None:
    assert "routine" in agrees(lambda x: ANY[name](x * 2.0), numbers(*shape, dtype=dtype))


@pytest.mark.parametrize("name", [*SQUARE, *ANY])
def test_rounds_of_a_loop(name: str) -> None:
    function = {**SQUARE, **ANY}[name]

    def f(x: Any) -> Any:
        first, last = (tf.zeros_like(y) for y in ([*tf.nest.flatten(function(x))] * 2)[:2])
        for i in tf.range(6):
            found = tf.nest.flatten(function(x + tf.cast(i, tf.float32) * 0.125))
            first, last = first * 0.5 + found[0], last * 0.5 + found[1 % len(found)]
        return first, last

    assert "repeat" in agrees(f, numbers(4, 4) + 2.0 * tf.eye(4))


def test_a_transposed_slice_is_an_operand() -> None:
    agrees(lambda x: tf.linalg.qr(tf.transpose(x[1:5, ::2]))[1] * 2.0, numbers(6, 6))


def test_gradients() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            q, r = tf.linalg.qr(x)
            s = tf.linalg.svd(x, compute_uv=False)
            e, _ = tf.linalg.eigh(x + tf.transpose(x))
            value = q[0, 0] * r[0, 1] + s[0] + e[1] + tf.linalg.slogdet(x)[1] + tf.linalg.inv(x)[0, 0]
        return value, tape.gradient(value, x)

    x = numbers(4, 4, dtype=np.float64) + 3.0 * tf.eye(4, dtype=tf.float64)
    wants, found = f(x), tf.function(f, jit_compile=True)(x)
    for want, got in zip(wants, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("place", ["alone", "in a loop"])
def test_what_has_no_answer_is_the_op_s_own_error(place: str) -> None:
    def looped(function: Any) -> Any:
        def f(x: Any) -> Any:
            y = tf.zeros([2, 2])
            for _ in tf.range(3):
                y = y * 0.5 + function(x)
            return y

        return f if place == "in a loop" else lambda x: function(x) * 2.0

    good = tf.constant([[2.0, 1.0], [1.0, 3.0]])
    singular, infinite = tf.ones([2, 2]), tf.constant([[1.0, np.inf], [0.0, 1.0]])
    cases: list[tuple[Any, Any, str]] = [
        (tf.linalg.inv, singular, "not invertible"),
        (lambda x: tf.linalg.eigh(x)[1], infinite, "holds NaN or infinity"),
        (lambda x: tf.linalg.svd(x)[1], infinite, "holds NaN or infinity"),
    ]
    for function, bad, words in cases:
        f = tf.function(looped(function), jit_compile=True)
        want = f(good).numpy()
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                f(bad)
            assert f(good).numpy().tobytes() == want.tobytes()


def test_nan_flows_where_the_op_lets_it() -> None:
    bad = tf.constant([[1.0, np.nan], [0.0, 1.0]])
    f = tf.function(lambda x: (tf.linalg.det(x) * 1.0, tf.linalg.qr(x)[1] * 1.0), jit_compile=True)
    for _ in range(2):
        for want, got in zip((tf.linalg.det(bad), tf.linalg.qr(bad)[1]), f(bad), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", [*SQUARE, *ANY])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_matrices_without_elements(name: str, shape: tuple[int, ...]) -> None:
    function = {**SQUARE, **ANY}[name]
    x = tf.zeros(shape)
    f = tf.function(lambda x: [y * 1.0 for y in tf.nest.flatten(function(x))], jit_compile=True)
    for _ in range(2):
        for want, got in zip(tf.nest.flatten(function(x)), f(x), strict=True):
            assert got.shape == want.shape and got.numpy().tobytes() == want.numpy().tobytes()


def test_sizes_that_are_not_known() -> None:
    spec = tf.TensorSpec([None, None], tf.float32)
    f = tf.function(lambda x: tf.linalg.qr(x)[0] * 1.0, input_signature=[spec], jit_compile=True)
    for shape in ((3, 2), (2, 5), (4, 4), (3, 2)):
        x = numbers(*shape)
        assert f(x).numpy().tobytes() == tf.linalg.qr(x)[0].numpy().tobytes()


def test_nothing_is_assigned_where_there_is_no_answer() -> None:
    v = tf.Variable(tf.zeros([2, 2]))

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        v.assign(v + tf.linalg.inv(x))
        return v + 0.0

    f(tf.eye(2))
    before = v.numpy()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        f(tf.ones([2, 2]))
    assert v.numpy().tobytes() == before.tobytes()


def test_numpys_loops_give_its_bits_here() -> None:
    for name in "getri getrf getrf_log geqrf syevd syevd_values gesdd gesdd_values".split():
        assert factorising.has(Factorised(name)) and factorising.has(Factorised(name, True))
    assert not factorising.has(Factorised("gees"))


@pytest.mark.parametrize("name", ["det", "slogdet"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_determinant_of_a_matrix_with_nan_is_never_0(name: str, dtype: Any) -> None:
    """LAPACK takes some NaN for a pivot of 0."""
    nan, inf = np.nan, np.inf
    matrices = [
        [[nan, 1], [1, 1]],
        [[1, 1], [1, nan]],
        [[0, 0], [0, 0]],
        [[inf, 1], [1, 1]],
        [[2, 1], [1, 1]],
    ]
    x = tf.constant(np.array(matrices, dtype))
    agrees(SQUARE[name], x)
    found = tf.nest.flatten(SQUARE[name](x))
    for part in found:
        assert np.isnan(part.numpy()[0])
        agrees(SQUARE[name], x[0])
    if name == "det":
        np.testing.assert_array_equal(found[0].numpy()[1:], np.array([nan, 0, inf, 1], dtype))
    assert np.isnan(tf.linalg.det(tf.constant(np.array(matrices, np.complex128))).numpy()[0])
