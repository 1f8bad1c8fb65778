"""Eager ops for which the device's library has no function run by kernels, once these are compiled, and on the CPU until then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import HOT_CALLS
from graphad.core.bind import bind
from graphad.core.tensor import EagerTensor
from graphad.devices import notes, run
from graphad.devices.transfer import moved
from graphad.ops.linalg.banded import BandedSolve
from graphad.ops.linalg.tridiagonal import TridiagonalEigenvalues
from graphad.ops.math.cumulative import Recurrence
from tests.devices import fake_cupy
from tests.devices.conftest import _until_nothing_is_prepared

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def no_ops_seen_before() -> None:
    run._graphs.clear()
    run._lacking.clear()


def there(x: Any) -> Any:
    return moved(EagerTensor(np.asarray(x)), "cuda:0")


def called(op: Any, *given: Any) -> Any:
    return bind(op, *map(there, given))


def by_kernels(op: Any, *given: Any) -> Any:
    """The outputs of a call for which kernels are there: no function runs on the CPU, none of CuPy's but for memory."""
    for _ in range(HOT_CALLS + 2):
        called(op, *given)
    _until_nothing_is_prepared()
    called(op, *given)
    before = dict(notes.runs_on_host)
    given = tuple(map(there, given))
    fake_cupy.calls.clear()
    found = bind(op, *given)
    assert notes.runs_on_host == before and not {*fake_cupy.calls} - {"empty"}
    return found


def diagonals(*lead: int, below: int, above: int, n: int) -> Any:
    """Diagonals of matrices that are far from singular only where rows are exchanged."""
    x = RNG.normal(size=(*lead, below + above + 1, n))
    x[..., above, :] *= 0.05
    return x


def dense(bands: Any, below: int, above: int) -> Any:
    n = bands.shape[-1]
    full = np.zeros((*bands.shape[:-2], n, n))
    for row in range(below + above + 1):
        for i in range(n):
            if 0 <= i + above - row < n:
                full[..., i, i + above - row] = bands[..., row, i]
    return full


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("lead", "right", "below", "above"),
    [((), (), 1, 1), ((2,), (2,), 0, 2), ((3,), (), 2, 1), ((), (2, 2), 2, 0), ((2, 1), (3,), 1, 2)],
)
def test_systems_of_few_diagonals(lead: Any, right: Any, below: int, above: int, dtype: Any) -> None:
    bands = diagonals(*lead, below=below, above=above, n=6).astype(dtype)
    b = RNG.normal(size=(*right, 6, 2)).astype(dtype)
    found = by_kernels(BandedSolve(below, above), bands, b)
    want = np.linalg.solve(dense(bands.astype(float), below, above), b.astype(float))
    assert found.dtype.numpy == dtype and found.shape == want.shape
    np.testing.assert_allclose(found, want, rtol=2e-3 if dtype is np.float32 else 1e-10)


def test_a_singular_system_is_the_error_of_the_cpu() -> None:
    op, b = BandedSolve(1, 1), RNG.normal(size=(3, 2))
    good, bad = np.ones((3, 3)) + np.eye(3), np.zeros((3, 3))
    by_kernels(op, good, b)
    with pytest.raises(tf.errors.InvalidArgumentError, match="singular"):
        called(op, bad, b)
    np.testing.assert_allclose(called(op, good, b), np.linalg.solve(dense(good, 1, 1), b))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrences_have_the_bits_of_the_cpu(reverse: bool, transposed: bool, dtype: Any) -> None:
    a, b = (RNG.normal(size=(3, 5, 2)).astype(dtype) for _ in range(2))
    for axis in (0, 1, 2):
        op = Recurrence(axis, reverse, transposed)
        np.testing.assert_array_equal(by_kernels(op, a, b), bind(op, tf.constant(a), tf.constant(b)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e18])
def test_eigenvalues_of_tridiagonal_matrices(scale: float, dtype: Any) -> None:
    alpha, beta = (
        (scale * RNG.normal(size=(2, 7))).astype(dtype),
        (scale * RNG.normal(size=(2, 6))).astype(dtype),
    )
    beta[1, 2] = 0.0
    alpha[1, :3] = alpha[1, 0]  # equal eigenvalues
    beta[1, :2] = 0.0
    found = by_kernels(TridiagonalEigenvalues(), alpha, beta).numpy()
    full = np.stack(
        [np.diag(a) + np.diag(b, 1) + np.diag(b, -1) for a, b in zip(alpha.astype(float), beta.astype(float))]
    )
    want = np.linalg.eigvalsh(full)
    np.testing.assert_allclose(
        found, want, rtol=0, atol=(4e-16 if dtype is np.float64 else 1e-7) * 8 * abs(want).max()
    )
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("given", [(np.zeros((2, 1)) + 3.0, np.zeros((2, 0))), (np.zeros(4), np.zeros(3))])
def test_eigenvalues_of_one_number_and_of_zeros(given: Any) -> None:
    np.testing.assert_array_equal(by_kernels(TridiagonalEigenvalues(), *given), given[0])


def test_numbers_that_are_not_finite_are_the_error_of_the_cpu() -> None:
    op = TridiagonalEigenvalues()
    by_kernels(op, np.ones(4), np.ones(3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="eigh_tridiagonal"):
        called(op, np.array([1.0, np.inf, 1, 1]), np.ones(3))


def test_other_sizes_ask_for_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    op = Recurrence(0, False, False)
    by_kernels(op, np.ones((5, 3)), np.ones((5, 3)))
    (graph,) = run._graphs.values()
    classes = graph.derived.values()
    for n in (7, 9, 30):
        before = dict(notes.runs_on_host)
        np.testing.assert_array_equal(
            called(op, np.ones((n, 4)), np.ones((n, 4)))[:, 0], np.arange(1.0, n + 1)
        )
        assert notes.runs_on_host == before
    assert len(run._graphs) == 1 and classes


def test_an_op_without_kernels_stays_on_the_cpu_and_derivatives_go_on() -> None:
    with tf.device("cuda"):
        x = tf.constant([0.5, 1.5])
        for _ in range(HOT_CALLS + 2):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.math.special.dawsn(x)
            g = tape.gradient(y, x)
            _until_nothing_is_prepared()
            np.testing.assert_allclose(g, 1 - 2 * x.numpy() * y.numpy(), rtol=1e-6)
            assert y.location == g.location == "cuda:0"


def test_gradients_through_kernels() -> None:
    def slope(place: str) -> Any:
        bands, b = diagonals(2, below=1, above=1, n=4), np.ones((2, 4, 1))
        for _ in range(HOT_CALLS + 3):
            with tf.device(place):
                xs = [tf.constant(bands * 0 + 2 + np.arange(4)), tf.constant(b)]
                with tf.GradientTape() as tape:
                    tape.watch(xs)
                    y = tf.reduce_sum(bind(BandedSolve(1, 1), *xs) ** 2)
                found = [g.numpy() for g in tape.gradient(y, xs)]
            _until_nothing_is_prepared()
        return found

    for x, y in zip(slope("cuda"), slope("cpu"), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)


def test_a_variable_stays_one_for_ops_that_change_it() -> None:
    with tf.device("cuda"):
        v = tf.Variable(tf.ones([3, 2]))
        for k in range(HOT_CALLS + 2):
            v.scatter_nd_add([[0], [2]], tf.ones([2, 2]))
            np.testing.assert_array_equal(v, [[2.0 + k] * 2, [1.0] * 2, [2.0 + k] * 2])
