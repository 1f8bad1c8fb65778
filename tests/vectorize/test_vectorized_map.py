"""The batch level: maps in maps, tapes in maps, maps in tapes and functions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(8).standard_normal((4, 3))


def test_a_map_equals_a_loop():
    out = tf.vectorized_map(
        lambda r: {"norm": tf.norm(r), "sorted": [tf.cumsum(r), tf.constant(7.0)]}, tf.constant(X)
    )
    np.testing.assert_allclose(out["norm"], np.linalg.norm(X, axis=1))
    np.testing.assert_allclose(out["sorted"][0], np.cumsum(X, 1))
    np.testing.assert_array_equal(out["sorted"][1], np.full(4, 7.0))


def test_maps_nest():
    out = tf.vectorized_map(lambda r: tf.vectorized_map(lambda a: a * tf.reduce_sum(r), r), tf.constant(X))
    np.testing.assert_allclose(out, X * X.sum(1, keepdims=True))


def test_a_tape_inside_a_map_gives_gradients_per_row():
    def slope(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = tf.reduce_prod(row)
        return tape.gradient(y, row)

    np.testing.assert_allclose(tf.vectorized_map(slope, tf.constant(X)), X.prod(1, keepdims=True) / X)


def test_a_tape_around_a_map_differentiates_it():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda r: tf.reduce_sum(r**3), x)
    np.testing.assert_allclose(tape.gradient(y, x), 3 * X**2)


def test_an_outer_value_gets_one_gradient_per_row():
    w = tf.constant([1.0, 2.0, 3.0], tf.float64)

    def slope(row):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(w * w * row)
        return tape.gradient(y, w)

    np.testing.assert_allclose(tf.vectorized_map(slope, tf.constant(X)), 2 * w.numpy() * X)


def test_maps_inside_functions_with_unknown_rows_after_specialisation():
    @tf.function
    def mapped(x):
        return tf.vectorized_map(lambda r: tf.linalg.solve(tf.linalg.diag(r), r[:, None])[:, 0], x)

    np.testing.assert_allclose(mapped(X), np.ones((4, 3)))


def test_functions_inside_maps():
    @tf.function
    def f(r):
        return tf.sin(r) * tf.reduce_sum(r)

    np.testing.assert_allclose(tf.vectorized_map(f, tf.constant(X)), np.sin(X) * X.sum(1, keepdims=True))


def test_rows_must_agree():
    with pytest.raises(ValueError, match="numbers of rows differ"):
        tf.vectorized_map(lambda p: p[0] + p[1], (tf.ones([3]), tf.ones([4])))
    with pytest.raises(ValueError, match="leading axis"):
        tf.vectorized_map(lambda r: r, tf.constant(1.0))


def test_an_only_row_goes_with_all_rows_of_the_others():
    x, one = tf.constant(X), tf.constant(X[:1] + 2.0)

    def f(pair):
        return tf.sin(pair["a"]) * pair["b"]

    want = np.sin(X[:1] + 2.0) * X
    unknown = tf.function(
        lambda a, b: tf.vectorized_map(f, {"a": a, "b": b}),
        input_signature=[tf.TensorSpec([1, None], x.dtype), tf.TensorSpec([None, None], x.dtype)],
    )
    for mapped in (lambda a, b: tf.vectorized_map(f, {"a": a, "b": b}), unknown):
        with tf.GradientTape() as tape:
            tape.watch((one, x))
            y = mapped(one, x)
        np.testing.assert_allclose(y, want, rtol=1e-6)
        by_one, by_x = tape.gradient(y, (one, x))
        np.testing.assert_allclose(by_one, (np.cos(X[:1] + 2.0) * X).sum(0, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(by_x, np.broadcast_to(np.sin(X[:1] + 2.0), X.shape), rtol=1e-6)
        assert mapped(one, x[:0]).shape == (0, 3)
        np.testing.assert_allclose(mapped(one, one), np.sin(X[:1] + 2.0) * (X[:1] + 2.0), rtol=1e-6)


def test_variables_cannot_differ_per_row():
    v = tf.Variable(0.0)
    with pytest.raises(RuntimeError, match="assign"):
        tf.vectorized_map(lambda r: v.assign(r), tf.ones([3]))


def test_a_row_does_not_leave_its_map():
    kept = []
    tf.vectorized_map(lambda r: kept.append(r) or r, tf.ones([3]))
    with pytest.raises(TypeError, match="cannot be used outside"):
        kept[0] + 1.0


@pytest.mark.parametrize("is_known", [True, False])
def test_none_in_a_result_stays_none(is_known):
    def checked(row):
        tf.debugging.assert_positive(row)

    def with_none(row):
        return {"none": None, "row": (2.0 * row, None)}

    for fn in (checked, with_none):
        mapped = lambda x, fn=fn: tf.vectorized_map(fn, x)  # noqa: E731
        if not is_known:
            mapped = tf.function(mapped, input_signature=[tf.TensorSpec([None, None])])
        y = mapped(tf.constant([[1.0], [2.0]]))
        if fn is checked:
            assert y is None
            with pytest.raises(tf.errors.InvalidArgumentError, match="-2"):
                mapped(tf.constant([[1.0], [-2.0]]))
        else:
            assert y["none"] is None and y["row"][1] is None
            np.testing.assert_array_equal(y["row"][0], [[2.0], [4.0]])
