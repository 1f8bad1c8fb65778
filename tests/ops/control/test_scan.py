"""`scan`, `map_fn`, `foldl`, `foldr`: eager and traced agree with plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = np.array([1.0, -2.0, 3.0, 0.5], np.float32)


def runs(f):
    return (f, tf.function(f))


def test_scan_without_initializer_is_a_running_sum():
    for run in runs(lambda x: tf.scan(lambda a, b: a + b, x)):
        np.testing.assert_allclose(run(tf.constant(X)), np.cumsum(X))


def test_reverse_scan():
    for run in runs(lambda x: tf.scan(lambda a, b: a * 0.5 + b, x, reverse=True)):
        want, total = [], 0.0
        for x in X[::-1]:
            total = total * 0.5 + x
            want.append(total)
        np.testing.assert_allclose(run(tf.constant(X)), want[::-1])
    for run in runs(lambda x: tf.scan(lambda a, b: a + b, x, initializer=tf.constant(10.0), reverse=True)):
        np.testing.assert_allclose(run(tf.constant(X)), 10.0 + np.cumsum(X[::-1])[::-1])


def test_scan_over_nests():
    def f(x):
        return tf.scan(
            lambda a, b: (a[0] + b[0], a[1] * b[1]),
            (x, x + 1.0),
            initializer=(tf.constant(0.0), tf.constant(1.0)),
        )

    for run in runs(f):
        total, product = run(tf.constant(X))
        np.testing.assert_allclose(total, np.cumsum(X))
        np.testing.assert_allclose(product, np.cumprod(X + 1.0))


def test_folds():
    for run in runs(lambda x: (tf.foldl(lambda a, b: a - b, x), tf.foldr(lambda a, b: a - b, x))):
        left, right = run(tf.constant(X))
        assert left.numpy() == 1.0 + 2.0 - 3.0 - 0.5
        assert right.numpy() == 0.5 - 3.0 + 2.0 - 1.0
    for run in runs(lambda x: tf.foldl(lambda a, b: a * 2.0 + b, x, initializer=1.0)):
        assert run(tf.constant(X)).numpy() == ((((1 * 2 + 1) * 2 - 2) * 2 + 3) * 2) + 0.5


def test_map_fn_with_rows_and_nests():
    rows = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    for run in runs(
        lambda x: tf.map_fn(
            lambda r: {"sum": tf.reduce_sum(r), "row": r * 2.0},
            x,
            fn_output_signature={"sum": tf.float32, "row": tf.float32},
        )
    ):
        out = run(tf.constant(rows))
        np.testing.assert_allclose(out["sum"], rows.sum(1))
        np.testing.assert_allclose(out["row"], rows * 2)


def test_map_fn_over_several_and_to_another_dtype():
    for run in runs(
        lambda a, b: tf.map_fn(lambda p: tf.cast(p[0] + p[1], tf.int32), (a, b), fn_output_signature=tf.int32)
    ):
        out = run(tf.constant(X), tf.constant(X))
        assert out.dtype is tf.int32
        np.testing.assert_array_equal(out, (2 * X).astype(np.int32))


def test_unknown_length():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        return tf.scan(lambda a, b: a + b, x), tf.map_fn(lambda b: b * b, x)

    for n in (1, 3, 4):
        total, squares = f(tf.constant(X[:n]))
        np.testing.assert_allclose(total, np.cumsum(X[:n]))
        np.testing.assert_allclose(squares, X[:n] ** 2)


def test_what_is_refused():
    with pytest.raises(ValueError, match="scalars"):
        tf.map_fn(lambda x: x, tf.constant(1.0))
    with pytest.raises(TypeError, match="fn must be callable"):
        tf.map_fn(tf.constant([1.0]), lambda x: x)
    with pytest.raises(ValueError, match="first sizes"):
        tf.map_fn(lambda p: p[0], (tf.constant([1.0]), tf.constant([1.0, 2.0])))
    with pytest.raises(ValueError, match="no elements and no initializer"):
        tf.foldl(lambda a, b: a, tf.zeros([0]))
    with pytest.raises(ValueError, match="'initializer' has shape"):
        tf.function(lambda x: tf.scan(lambda a, b: tf.concat([a, a], 0), x, initializer=tf.zeros([1])))(
            tf.constant(X)
        )


def test_no_elements():
    for run in runs(lambda x: tf.scan(lambda a, b: a + b, x, initializer=tf.zeros([2]))):
        assert run(tf.zeros([0, 2])).shape == (0, 2)
    for run in runs(lambda x: tf.foldl(lambda a, b: a + b, x, initializer=tf.constant(3.0))):
        assert run(tf.zeros([0])).numpy() == 3.0


def test_unequal_structures_are_shown_with_dtypes_and_shapes():
    with pytest.raises(
        TypeError, match=r"structured as \(float32\(\), float32\(\)\), .* structured as float32\(\)\."
    ):
        tf.scan(lambda a, x: (a, x), tf.ones([3]), tf.constant(0.0))
    with pytest.raises(ValueError):
        tf.scan(lambda a, x: (a, x), tf.ones([3]), tf.constant(0.0))
