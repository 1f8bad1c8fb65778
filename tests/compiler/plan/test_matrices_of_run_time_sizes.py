"""Factorisations of n x n matrices and solutions of systems for an n that only the run finds, one call larger and one smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.compiler.plan.test_measured import in_python

_rng = np.random.default_rng(12)
X = _rng.normal(size=(40, 8)).astype(np.float32)
COUNTS = (20, 0, 1, 40, 3, 33, 2, 8, 39)


def _gram(u: Any) -> Any:
    return tf.matmul(u, u, transpose_b=True) + 4.0 * tf.eye(tf.shape(u)[0])


def _complex(u: Any) -> Any:
    return tf.cast(_gram(u), tf.complex64)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda u: tf.linalg.solve(_gram(u), u),
    "complex": lambda u: tf.math.real(tf.linalg.solve(_complex(u), tf.cast(u, tf.complex64))),
    "inv": lambda u: tf.linalg.inv(_gram(u)),
    "det": lambda u: tf.linalg.det(_gram(u) * 0.1),
    "slogdet": lambda u: tf.linalg.slogdet(_gram(u))[1],
    "logdet": lambda u: tf.linalg.logdet(_gram(u)),
    "cholesky": lambda u: tf.linalg.cholesky(_gram(u)),
    "cholesky_solve": lambda u: tf.linalg.cholesky_solve(tf.linalg.cholesky(_gram(u)), u),
    "triangular_solve": lambda u: tf.linalg.triangular_solve(_gram(u), u),
    "eigvalsh": lambda u: tf.linalg.eigvalsh(_gram(u)),
    "svd": lambda u: tf.linalg.svd(_gram(u), compute_uv=False),
    "qr": lambda u: tf.abs(tf.linalg.qr(_gram(u))[1]),
    "diagonal": lambda u: tf.linalg.diag_part(_gram(u)),
    "trace": lambda u: tf.linalg.trace(_gram(u)),
    "process": lambda u: tf.matmul(
        _gram(u), tf.linalg.cholesky_solve(tf.linalg.cholesky(_gram(u)), u[:, :1]), transpose_a=True
    ),
}
SINGLE = ("solve", "inv", "logdet", "cholesky_solve", "process", "complex")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    of = PROGRAMS[name]

    def f(x: Any, mask: Any) -> Any:
        return of(tf.boolean_mask(x, mask))

    compiled = tf.function(f, jit_compile=True)
    for count in COUNTS:
        given = tf.constant(X), tf.constant(_rng.permutation(len(X)) < count)
        found, want = compiled(*given).numpy(), f(*given).numpy()
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, 2e-3, 2e-3)
    assert not in_python(compiled, *given)
    assert "illegal value" not in capfd.readouterr().err  # what LAPACK says of columns of length 0


@pytest.mark.parametrize("name", SINGLE)
def test_gradients(name: str) -> None:
    of = PROGRAMS[name]

    def slope(x: Any, mask: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(of(tf.boolean_mask(x, mask)) ** 2)
        return tape.gradient(y, x)

    compiled = tf.function(slope, jit_compile=True)
    for count in COUNTS:
        given = tf.constant(X), tf.constant(_rng.permutation(len(X)) < count)
        np.testing.assert_allclose(compiled(*given).numpy(), slope(*given).numpy(), 2e-3, 2e-3)
    if name != "complex":
        assert not in_python(compiled, *given)


def test_what_has_no_solution_is_refused() -> None:
    f = tf.function(lambda x, mask: tf.linalg.inv(tf.boolean_mask(x, mask)[:, :3]), jit_compile=True)
    x = np.ones((9, 8), np.float32)
    x[:3, :3] += 2 * np.eye(3, dtype=np.float32)
    mask = np.arange(9) < 3
    np.testing.assert_allclose(
        f(tf.constant(x), tf.constant(mask)).numpy(), np.linalg.inv(x[:3, :3]), rtol=1e-5
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        f(tf.constant(x), tf.constant(~mask & (np.arange(9) < 6)))
