"""`vectorized_map` while sizes, or even ranks, are unknown: one op that becomes a batched graph once they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


def cell(r):
    return tf.cond(r > 0, lambda: tf.sqrt(r), lambda: r * r)


def test_unknown_number_of_rows_to_second_order():
    w = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        return tf.vectorized_map(lambda r: cell(r) * w, x)

    for values in ([1.0, -2.0, 4.0], [9.0]):
        x = tf.constant(values)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            dx, dw = tape.gradient(y, [x, w])
        v = np.array(values)
        root = np.sqrt(np.abs(v))
        np.testing.assert_allclose(y, 2 * np.where(v > 0, root, v * v))
        np.testing.assert_allclose(dx, 2 * np.where(v > 0, 0.5 / root, 2 * v))
        np.testing.assert_allclose(dw, np.where(v > 0, root, v * v).sum())
        np.testing.assert_allclose(outer.gradient(dx, x), 2 * np.where(v > 0, -0.25 / root**3, 2), rtol=1e-6)


def test_unknown_rank():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x):
        return tf.vectorized_map(lambda r: tf.reduce_sum(r * r), x)

    np.testing.assert_allclose(f(tf.constant([[1.0, 2.0], [3.0, 4.0]])), [5.0, 25.0])
    np.testing.assert_allclose(f(tf.constant([1.0, 2.0, 3.0])), [1.0, 4.0, 9.0])


def test_maps_in_maps():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x):
        return tf.vectorized_map(lambda r: tf.vectorized_map(cell, r), x)

    x = tf.constant([[1.0, -2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(y, [[1.0, 4.0], [np.sqrt(3.0), 2.0]], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(y, x), [[0.5, -4.0], [0.5 / np.sqrt(3.0), 0.25]], rtol=1e-6)


def test_a_function_of_unknown_size_mapped_over_rows():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    rows = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(tf.vectorized_map(f, tf.constant(rows)), rows**3)
    np.testing.assert_allclose(jacobian(tf.constant(rows[1])), np.diag(3 * rows[1] ** 2))


def test_own_steps_and_gradients_inside():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)])
    def f(x, n):
        def row(pair):
            x, n = pair
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (0, x))[1]
            return y, tape.gradient(y, x)

        return tf.vectorized_map(row, (x, n))

    y, dy = f(tf.constant([1.0, -2.0, 4.0]), tf.constant([0, 1, 2]))
    np.testing.assert_allclose(y, [1.0, 4.0, 64.0])
    np.testing.assert_allclose(dy, [1.0, -4.0, 48.0])


def test_forward_mode():
    w = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        return tf.vectorized_map(lambda r: cell(r) * w, x)

    x, t = tf.constant([4.0, -3.0]), tf.constant([1.0, 0.5])
    with tf.autodiff.ForwardAccumulator((x, w), (t, tf.constant(10.0))) as accumulator:
        y = f(x)
    np.testing.assert_allclose(accumulator.jvp(y), [0.5 * 1.0 + 20.0, -12.0 * 0.5 + 90.0])


def test_what_is_refused():
    with pytest.raises(ValueError, match="scalar"):
        tf.vectorized_map(lambda r: r, tf.constant(1.0))
    with pytest.raises(ValueError, match="numbers of rows differ"):
        tf.vectorized_map(lambda r: r[0], (tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 2.0])))


def masked_rows(x: Any, mask: Any) -> Any:
    return tf.vectorized_map(lambda row: tf.reduce_sum(tf.boolean_mask(row, mask) ** 2), x)


WRAPPED = [
    lambda f: f,
    tf.function,
    lambda f: tf.function(f, jit_compile=True),
    lambda f: tf.function(
        f, input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.bool)]
    ),
    lambda f: tf.function(
        f, input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec([None], tf.bool)]
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrap", WRAPPED)
def test_rows_whose_sizes_come_from_values_are_mapped_and_differentiated_at_every_order(wrap: Any) -> None:
    x = tf.constant(np.array([[-1.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    mask = np.array([True, False, True])
    f = wrap(masked_rows)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x, tf.constant(mask))
            column = y[:, None]
        first = tape.gradient(y, x)
        total = tf.reduce_sum(first**2)
    numbers = x.numpy()
    np.testing.assert_allclose(y, (numbers**2 * mask).sum(1))
    np.testing.assert_allclose(first, 2 * numbers * mask)
    np.testing.assert_allclose(outer.gradient(total, x), 8 * numbers * mask)
    np.testing.assert_allclose(tape.batch_jacobian(column, x)[:, 0], 2 * numbers * mask)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rank", [2, None])
def test_the_jacobian_of_a_function_sees_what_a_mask_lets_through(rank: int | None) -> None:
    """The pullback of the call has sizes that only a run knows, also when its cotangents are stacked."""

    def f(x: Any) -> Any:
        kept = tf.boolean_mask(x, tf.abs(x) < 1.0)
        return tf.reduce_sum(tf.sin(kept)) * x[:, 0]

    x = tf.constant(np.array([[-0.7, 0.3], [-1.3, -0.4], [-1.4, -1.2]]))
    spec = tf.TensorSpec(None if rank is None else [None, 2], tf.float64)
    found = []
    for function in (f, tf.function(f), tf.function(f, input_signature=[spec])):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = function(x)
            jacobian = tape.jacobian(y, x)
            total = tf.reduce_sum(jacobian**2)
        by_rows = tape.jacobian(y, x, experimental_use_pfor=False)
        np.testing.assert_allclose(jacobian, by_rows)
        found.append((jacobian.numpy(), outer.gradient(total, x).numpy()))
    for jacobian, second in found[1:]:
        np.testing.assert_allclose(jacobian, found[0][0])
        np.testing.assert_allclose(second, found[0][1])


def test_a_row_that_counts_its_own_entries_is_mapped_in_a_function() -> None:
    f = tf.function(
        lambda x: tf.vectorized_map(
            lambda row: tf.reduce_sum(row * tf.cast(tf.range(tf.shape(row)[0]), tf.float32)), x
        )
    )
    assert f(tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).numpy().tolist() == [8.0, 17.0]


def test_rows_that_branch_to_second_order():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.vectorized_map(
                    lambda r: tf.cond(tf.reduce_sum(r) > 0, lambda: r * r * r, lambda: tf.sin(r * r) * r), x
                )
            first = tape.gradient(y, x)
        return outer.gradient(first, x)

    for rows in ([[1.0, 2.0], [-1.0, 0.5], [0.5, 0.1]], [[-1.0, 0.3]]):
        x = np.array(rows, np.float32)
        bent = 6 * x * np.cos(x * x) - 4 * x**3 * np.sin(x * x)
        want = np.where(x.sum(1, keepdims=True) > 0, 6 * x, bent)
        np.testing.assert_allclose(second(tf.constant(x)), want, rtol=2e-4, atol=1e-5)


def test_sizes_that_come_from_the_data_of_each_row_or_of_all():
    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        return tf.vectorized_map(lambda r: tf.reduce_sum(tf.repeat(r[:n], 2) ** 2), x)

    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for n in (0, 1, 2, 3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(n))
        kept = np.arange(3) < n
        np.testing.assert_allclose(y, (2 * kept * x.numpy() ** 2).sum(1))
        np.testing.assert_allclose(tape.gradient(y, x), 4 * kept * x.numpy())

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.boolean_mask(x * x, x > 0)
        return tape.jacobian(y, x)

    np.testing.assert_allclose(jacobian(tf.constant([1.0, -2.0, 3.0])), [[2.0, 0.0, 0.0], [0.0, 0.0, 6.0]])


def test_a_result_of_unknown_size_that_is_the_same_for_all_rows_is_repeated() -> None:
    y = tf.constant([1.0, 2.0, 3.0])
    f = tf.function(
        lambda x: tf.vectorized_map(lambda row: (row, tf.slice(y, [0], tf.stack([tf.size(y) - 1]))), x)
    )
    rows, same = f(tf.constant([[1.0], [2.0]]))
    assert rows.numpy().tolist() == [[1.0], [2.0]]
    assert same.numpy().tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_no_rows_of_a_size_that_only_a_row_would_tell_are_no_rows() -> None:
    """The Jacobian of an empty target: what is batched row by row has no row to take its shape from."""

    def f(x: Any, y: Any) -> Any:
        return tf.add(x, tf.reduce_mean(tf.boolean_mask(x, x < 10.0))), y

    specs = [tf.TensorSpec([2, None], tf.float64), tf.TensorSpec([2], tf.float64)]
    y = tf.constant(np.ones(2))
    for rows in (3, 0):
        x = tf.constant(np.ones((2, rows)))
        for function in (f, tf.function(f), tf.function(f, input_signature=specs)):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([x, y])
                z = function(x, y)[0]
            found = tape.jacobian(z, x)
            assert tuple(found.shape) == (2, rows, 2, rows)
            np.testing.assert_allclose(found.numpy().sum(axis=(2, 3)), np.full((2, rows), 2.0))


@pytest.mark.parametrize("shape", [(0, 2), (0, 0), (1, 2), (3, 2), (2, 2), (2, 0)])
@pytest.mark.parametrize("kind", ["first", "second", "tall"])
def test_a_jacobian_in_each_row_of_unknown_size_is_that_of_eager_rows(kind: str, shape: Any) -> None:
    def row(r: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(r)
            with tf.GradientTape() as inner:
                inner.watch(r)
                y = r * r * tf.reduce_sum(r)
            if kind == "second":
                y = inner.gradient(y, r)
            elif kind == "tall":
                y = tf.concat([y, y, y], 0)
        return tape.jacobian(y, r)

    def mapped(x: Any) -> Any:
        return tf.vectorized_map(row, x)

    def gradient(f: Any) -> Any:
        def of(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(x) ** 2)
            return tape.gradient(y, x)

        return of

    x = tf.constant(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape))
    value, slope = mapped(x), gradient(mapped)(x)
    for sizes in (None, [None, None]):
        signature = [tf.TensorSpec(sizes, tf.float64)]
        f = tf.function(mapped, input_signature=signature)
        for found in (f(x), tf.function(mapped)(x)):
            assert found.shape == value.shape
            np.testing.assert_allclose(found, value)
        for g in (gradient(f), tf.function(gradient(mapped), input_signature=signature)):
            assert g(x).shape == slope.shape
            np.testing.assert_allclose(g(x), slope)


def growing(x: Any) -> Any:
    """A loop whose carry has another number of rows in each step, so that what it keeps are slices of several shapes."""
    return tf.while_loop(
        lambda i, p: i < 2,
        lambda i, p: (i + 1, tf.concat([tf.sin(p), p * 2.0], 0)),
        (tf.constant(0), x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
    )[1]


@pytest.mark.parametrize("rows", [3, 1, 0])
def test_the_jacobian_outside_of_a_loop_that_changes_its_shape_is_that_of_eager_steps(rows: int) -> None:
    f = tf.function(growing, input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    x = tf.constant(np.linspace(-1.0, 2.0, rows * 2).reshape(rows, 2))
    found = []
    for function in (growing, f):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x) ** 2
        found.append(tape.jacobian(y, x).numpy())
    assert found[1].shape == (4 * rows, 2, rows, 2)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_a_loop_that_changes_its_shape_is_mapped_over_rows_to_second_order() -> None:
    f = tf.function(growing, input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    x = tf.constant(np.linspace(-1.0, 2.0, 12).reshape(3, 2, 2))
    weights = tf.constant(np.linspace(0.5, 1.5, 16).reshape(8, 2))
    found = []
    for mapped in (lambda x: tf.map_fn(growing, x), lambda x: tf.vectorized_map(f, x)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = mapped(x) ** 2 * weights
            first = inner.gradient(y, x)
            squared = first * first
        found.append((y.numpy(), first.numpy(), outer.gradient(squared, x).numpy()))
    for ours, theirs in zip(found[1], found[0]):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("rows", [3, 1, 0])
@pytest.mark.parametrize("ranked", [True, False])
def test_what_rows_with_their_own_steps_share_has_its_slope_whatever_its_size(
    rows: int, ranked: bool
) -> None:
    def of_row(row: Any, w: Any) -> Any:
        return tf.while_loop(
            lambda i, p: tf.reduce_sum(tf.abs(p)) < 10.0,
            lambda i, p: (i + 1, p * 1.5 + tf.sin(w) * p + 0.3),
            (tf.constant(0), row),
        )[1]

    shapes = ([None, None], [None]) if ranked else (None, None)
    specs = [tf.TensorSpec(shape, tf.float64) for shape in shapes]
    f = tf.function(lambda x, w: tf.vectorized_map(lambda row: of_row(row, w), x), input_signature=specs)

    def one_by_one(x: Any, w: Any) -> Any:
        return tf.stack([of_row(x[i], w) for i in range(rows)]) if rows else x * tf.reduce_sum(w)

    x = tf.constant(np.linspace(-1.0, 2.0, rows * 3).reshape(rows, 3))
    w = tf.constant([0.3, 0.5, 0.7], tf.float64)
    found = []
    for function in (f, one_by_one):
        with tf.GradientTape() as outer:
            outer.watch([x, w])
            with tf.GradientTape() as inner:
                inner.watch([x, w])
                y = tf.reduce_sum(function(x, w) ** 2)
            first = inner.gradient(y, [x, w])
            total = tf.reduce_sum(first[0] * first[0]) + tf.reduce_sum(first[1])
        found.append([*first, *outer.gradient(total, [x, w])])
    for ours, theirs in zip(*found):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
