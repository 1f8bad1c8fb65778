"""Ops without native code for sizes that only the run finds are called within the one native call, and sizes that are computed of
such sizes are found too: with the results and errors of eager code, whichever size it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.dims import QUOTIENT, Dim, Relations, UndecidedSize, computed, least, related
from tests.compiler.plan.test_measured import in_python

_rng = np.random.default_rng(3)
X = _rng.normal(size=(24, 3)).astype(np.float32)
COUNTS = (9, 24, 5, 8, 1, 17)
FILTERS = _rng.normal(size=(3, 3, 2)).astype(np.float32)


def _gram(u: Any) -> Any:
    return tf.matmul(u, u, transpose_b=True) + 2.0 * tf.eye(tf.shape(u)[0])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "lu": lambda u: tf.linalg.lu(_gram(u))[0],
    "expm": lambda u: tf.linalg.expm(0.1 * _gram(u)),
    "svd of few columns": lambda u: tf.linalg.svd(u, compute_uv=False),
    "qr of few columns": lambda u: tf.abs(tf.linalg.qr(u)[1]),
    "rfft": lambda u: tf.abs(tf.signal.rfft(u[:, 0])),
    "irfft": lambda u: tf.signal.irfft(tf.signal.rfft(u[:, 0])),
    "frames": lambda u: tf.signal.frame(u[:, 0], 4, 3),
    "spectra": lambda u: tf.abs(tf.signal.stft(u[:, 0], 4, 2)),
    "convolution, in steps": lambda u: tf.nn.conv1d(u[None], FILTERS, 2, "SAME"),
    "convolution, inside": lambda u: tf.nn.conv1d(u[None], FILTERS, 1, "VALID"),
    "largest of pairs": lambda u: tf.nn.max_pool1d(u[None], 2, 2, "VALID"),
    "means": lambda u: tf.nn.avg_pool1d(u[None], 3, 2, "SAME"),
}


def _slope(of: Callable[[Any], Any]) -> Callable[..., Any]:
    def slope(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(of(x[:n]) ** 2)
        return tape.gradient(y, x)

    return slope


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    of = PROGRAMS[name]

    def value(x: Any, n: Any) -> Any:
        return of(x[:n])

    functions = [value] if name in ("qr of few columns", "lu", "expm") else [value, _slope(of)]
    for f in functions:
        compiled = tf.function(f, jit_compile=True)
        for n in COUNTS:
            given = tf.constant(X), tf.constant(n)
            try:
                want = f(*given).numpy()
            except tf.errors.InvalidArgumentError as error:  # a window that covers more than there is
                with pytest.raises(type(error)):
                    compiled(*given)
                continue
            found = compiled(*given).numpy()
            assert found.shape == want.shape
            np.testing.assert_allclose(found, want, 1e-4, 1e-4)
        assert not in_python(compiled, tf.constant(X), tf.constant(COUNTS[0]))


@pytest.mark.parametrize("has_size", [False, True])
def test_an_array_of_so_many_rounds(has_size: bool) -> None:
    def stacked(x: Any, n: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=n if has_size else 0, dynamic_size=not has_size)
        for i in tf.range(n):
            rows = rows.write(i, tf.sin(x[i]))
        return rows.stack() * 2.0

    def slope(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(stacked(x, n) ** 2)
        return tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    value, gradient = tf.function(stacked, jit_compile=True), tf.function(slope, jit_compile=True)
    for n in COUNTS:
        given = tf.constant(X), tf.constant(n)
        np.testing.assert_allclose(value(*given).numpy(), 2 * np.sin(X[:n]), 1e-6)
        want = np.zeros_like(X)
        want[:n] = 8 * np.sin(X[:n]) * np.cos(X[:n])
        np.testing.assert_allclose(gradient(*given).numpy(), want, 1e-5, 1e-6)
    assert not in_python(value, *given) and not in_python(gradient, *given)


def test_a_call_without_an_answer_raises_the_error_of_the_op() -> None:
    f = tf.function(lambda x, n: tf.linalg.expm(tf.linalg.inv(x[:n, :n]) + 1.0), jit_compile=True)
    x = np.eye(6, dtype=np.float32)
    x[3] = 0
    assert f(tf.constant(x), tf.constant(3)).shape == (3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="inv"):
        f(tf.constant(x), tf.constant(4))
    assert f(tf.constant(x), tf.constant(2)).shape == (2, 2)


def test_the_same_quotient_is_one_size() -> None:
    n, found = Dim.run_time(0), Dim.run_time(1)
    with related(Relations()), pytest.raises(UndecidedSize):
        n // 2
    relations = Relations()
    asked: list[Any] = []

    def compute(*what: Any) -> Dim:
        asked.append(what)
        return found

    relations.compute = compute
    with related(relations):
        assert n // 2 == found and n // 2 == found and asked == [(QUOTIENT, n, 2)]
        assert -(-n // 2) == found and asked[-1] == (QUOTIENT, n + 1, 2)  # rounded up
        assert 4 * n // 2 == 2 * n and least(n, n + 1) == n and len(asked) == 2
        relations.compute = None
        assert n // 2 == found and computed(QUOTIENT, n, 3) is None
