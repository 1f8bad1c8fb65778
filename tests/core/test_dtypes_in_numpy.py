"""graphad's dtypes where NumPy and SciPy ask for one of theirs."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


def test_a_dtype_is_one_of_numpys_where_numpy_asks() -> None:
    x = tf.constant([1.0], tf.float64)
    assert np.dtype(x.dtype) == np.zeros(2, x.dtype).dtype == np.float64
    assert np.issubdtype(tf.float32, np.floating)
    assert np.can_cast(tf.int8, tf.int16)


def test_solvers_of_scipys_take_functions_that_give_tensors() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    a = tf.constant([1.0, 8.0, 27.0], tf.float64)
    np.testing.assert_allclose(optimize.root(lambda z: z**3 - a, a).x, [1.0, 2.0, 3.0])
    x, y = tf.constant([0.0, 1.0, 2.0], tf.float64), tf.constant([1.0, 3.0, 5.0], tf.float64)
    np.testing.assert_allclose(optimize.curve_fit(lambda s, u, v: u * s + v, x, y)[0], [2.0, 1.0])
    np.testing.assert_allclose(
        optimize.least_squares(lambda z: z[0] * x + z[1] - y, [0.0, 0.0]).x, [2.0, 1.0]
    )


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_sparse_matrices_of_scipy_are_multiplied_by_tensors(kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]])
    matrix, x = getattr(sparse, kind)(dense), np.array([0.5, 1.5, 2.5])
    np.testing.assert_array_equal(matrix @ tf.constant(x), dense @ x)
    np.testing.assert_array_equal(
        matrix @ tf.constant(x[:, None] * [1.0, 2.0]), dense @ (x[:, None] * [1.0, 2.0])
    )
    with pytest.raises(
        TypeError, match=r"^scipy.sparse: .*a derivative is being recorded, and would end here"
    ):
        tf.grad(lambda z: tf.reduce_sum(matrix @ z))(tf.constant(x))
