"""Formats of diagonals, choices of eigenvalues, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

COMPACT = np.array([[1.0, 2.0, np.nan], [4.0, 5.0, 6.0], [np.nan, 1.0, 2.0]])
FULL = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])


def test_formats_of_diagonals_agree_and_what_lies_outside_is_not_read() -> None:
    b = np.array([1.0, 2.0, 3.0])
    wanted = np.linalg.solve(FULL, b)
    outside = FULL + np.array([[0.0, 0.0, 7.0], [0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    short = [COMPACT[0, :2], COMPACT[1], COMPACT[2, 1:]]
    for diagonals, form in (
        (COMPACT, "compact"),
        (list(COMPACT), "sequence"),
        (short, "sequence"),
        (outside, "matrix"),
    ):
        diagonals = (
            [tf.constant(d) for d in diagonals] if isinstance(diagonals, list) else tf.constant(diagonals)
        )
        np.testing.assert_allclose(tf.linalg.tridiagonal_solve(diagonals, tf.constant(b), form), wanted)
        product = tf.linalg.tridiagonal_matmul(diagonals, tf.constant(b[:, None]), form)
        np.testing.assert_allclose(product[:, 0], FULL @ b)


def test_a_tridiagonal_product_has_the_same_bits_with_and_without_a_tape() -> None:
    rng = np.random.default_rng(2)
    for dtype in ("float32", "float64", "complex64", "float16"):
        for batch, size, columns in (((), 1, 2), ((), 5, 3), ((2, 3), 4, 1), ((2,), 0, 2)):
            d = tf.cast(rng.standard_normal((*batch, 3, size)), dtype)
            x = tf.cast(rng.standard_normal((*batch, size, columns)), dtype) * tf.constant(0.0, dtype)
            x = tf.concat([x[..., :1, :] - 1, x[..., 1:, :]], -2) if size else x
            plain = tf.linalg.tridiagonal_matmul(d, x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                recorded = tf.linalg.tridiagonal_matmul(d, x)
            assert plain.shape == recorded.shape == x.shape
            assert plain.numpy().tobytes() == recorded.numpy().tobytes()
    with pytest.raises(ValueError, match="shape"):
        tf.linalg.tridiagonal_matmul(tf.ones([3, 3]), tf.ones([4, 2]))
    repeated = tf.linalg.tridiagonal_matmul(tf.ones([3, 3]), tf.ones([2, 3, 1]))
    assert repeated.numpy().ravel().tolist() == [2, 3, 2] * 2


def test_the_right_side_may_be_transposed_and_conjugated() -> None:
    b = np.array([[1.0 + 1j, 2.0, 3.0], [0.0, 1.0, 2.0 - 1j]])
    diagonals = tf.constant(np.nan_to_num(COMPACT).astype(complex))
    found = tf.linalg.tridiagonal_solve(diagonals, tf.constant(b), transpose_rhs=True, conjugate_rhs=True)
    np.testing.assert_allclose(found, np.linalg.solve(FULL, np.conj(b).T))


@pytest.mark.parametrize(("size", "columns"), [(0, 2), (1, 2), (3, 0)])
def test_small_systems(size: int, columns: int) -> None:
    found = tf.linalg.tridiagonal_solve(tf.ones([3, size]), tf.ones([size, columns]))
    assert found.shape == (size, columns) and np.all(found.numpy() == 1)


def test_eigenvalues_are_chosen_by_number_and_by_size() -> None:
    alpha, beta = tf.constant([1.0, 2.0, 3.0], "float64"), tf.constant([0.5, 0.6], "float64")
    every, vectors = tf.linalg.eigh_tridiagonal(alpha, beta, eigvals_only=False)
    full = np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1)
    np.testing.assert_allclose(full @ vectors.numpy(), vectors.numpy() * every.numpy())
    some = tf.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, 1))
    np.testing.assert_allclose(some, every[:2])
    some, columns = tf.linalg.eigh_tridiagonal(alpha, beta, False, "v", (1.0, 2.5))
    np.testing.assert_allclose(some, every[1:2])
    assert columns.shape == (3, 1)
    ends = tf.linalg.eigh_tridiagonal(alpha, beta, select="v", select_range=(every[0], every[1]))
    np.testing.assert_array_equal(ends, every[:2])  # both ends count
    hermitian = tf.linalg.eigh_tridiagonal(
        tf.constant([1.0, 2.0], "complex128"), tf.constant([1.0j], "complex128")
    )
    np.testing.assert_allclose(hermitian, np.linalg.eigvalsh([[1.0, -1j], [1j, 2.0]]))


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (2, 3, 5), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("has_scipy", [True, False])
def test_eigenvalues_of_two_diagonals_are_those_of_the_full_matrix(
    shape: tuple[int, ...], dtype: str, has_scipy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_scipy:
        monkeypatch.setattr("graphad.ops.library.lapack", lambda: None)
    rng = np.random.default_rng(0)
    alpha = tf.constant(rng.normal(size=shape), dtype)
    beta = tf.constant(rng.normal(size=(*shape[:-1], max(shape[-1] - 1, 0))), dtype)

    def by_full_matrix(a: Any, b: Any) -> Any:
        return tf.linalg.eigvalsh(tf.linalg.set_diag(tf.linalg.set_diag(tf.linalg.diag(a), b, k=1), b, k=-1))

    found = {}
    for way in (
        (tf.linalg.eigh_tridiagonal, by_full_matrix) if shape[-1] > 1 else (tf.linalg.eigh_tridiagonal,)
    ):
        with tf.GradientTape() as tape:
            tape.watch([alpha, beta])
            y = way(alpha, beta)
            z = tf.reduce_sum(y * tf.range(shape[-1], dtype=dtype))
        found[way] = [y, *tape.gradient(z, [alpha, beta])]
        assert y.dtype == dtype and y.shape == shape
    one, *others = found.values()
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, *(2e-5, 2e-5) if dtype == "float32" else (1e-12, 1e-12))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.linalg.tridiagonal_solve(np.zeros((3, 2)), np.ones((2, 1))), "not invertible"),
        (
            lambda: tf.linalg.tridiagonal_solve(np.zeros((2, 2)), np.ones((2, 1))),
            r"diagonals have shape \(2, 2\)",
        ),
        (lambda: tf.linalg.tridiagonal_solve(np.ones((3, 2)), np.ones((3, 1))), "must equal rhs.shape"),
        (lambda: tf.linalg.tridiagonal_solve(COMPACT, np.ones(3), "rows"), "'rows'; it is 'compact'"),
        (lambda: tf.linalg.tridiagonal_solve(COMPACT, np.ones(3), perturb_singular=True), "perturb_singular"),
        (
            lambda: tf.linalg.banded_triangular_solve(np.ones((0, 2)), np.ones((2, 1))),
            "the number of diagonals",
        ),
        (lambda: tf.linalg.eigh_tridiagonal(np.ones(2), np.ones(1), select="v"), "select_range is None"),
        (
            lambda: tf.linalg.eigh_tridiagonal(np.ones(3), np.ones(3)),
            r"beta \(3,\); beta must have one element less",
        ),
        (lambda: tf.linalg.eigh_tridiagonal(np.float64(3), np.ones(3)), "rank 1 at least"),
        (lambda: tf.linalg.eigh_tridiagonal([1.0, np.nan], [1.0]), "NaN or infinity"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()


def test_a_stack_of_banded_systems_is_what_each_of_them_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are solved as one system; what is not finite stays where it is."""
    rng = np.random.default_rng(0)
    bands, b = rng.normal(size=(2, 3, 3, 5)), rng.normal(size=(2, 1, 5, 2))
    each = np.stack(
        [[tf.linalg.tridiagonal_solve(bands[i, j], b[i, 0]).numpy() for j in range(3)] for i in range(2)]
    )
    shared = np.stack([tf.linalg.tridiagonal_solve(bands[0, 0], b[i, 0]).numpy() for i in range(2)])[:, None]
    bad = bands.copy()
    bad[1, 0, 1, 2] = np.nan
    import scipy.linalg

    calls, usual = [], scipy.linalg.solve_banded

    def counted(*given: Any, **options: Any) -> Any:
        calls.append(1)
        return usual(*given, **options)

    monkeypatch.setattr(scipy.linalg, "solve_banded", counted)
    np.testing.assert_allclose(tf.linalg.tridiagonal_solve(bands, b), each, rtol=1e-12)
    np.testing.assert_allclose(tf.linalg.tridiagonal_solve(bands[:1, :1], b), shared, rtol=1e-12)
    assert len(calls) == 2
    found = tf.linalg.tridiagonal_solve(bad, b).numpy()
    assert np.isnan(found[1, 0]).any()
    others = np.ones((2, 3), bool)
    others[1, 0] = False
    np.testing.assert_allclose(found[others], each[others], rtol=1e-12)


@pytest.mark.parametrize("partial_pivoting", [True, False])
def test_a_singular_system_of_one_row_is_refused_as_any_other(partial_pivoting) -> None:
    for diagonals, b in (
        ([[0.0], [0.0], [0.0]], [[1.0, 2.0]]),
        ([[3.0, 0.0], [1.0, 3.0], [0.0, 1.0]], [[1.0], [2.0]]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            tf.linalg.tridiagonal_solve(tf.constant(diagonals), b, partial_pivoting=partial_pivoting)
