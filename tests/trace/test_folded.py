"""Sizes, and integers computed from them, are known while a function is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.arange(6.0).reshape(2, 3)


def _weighted(p: Any) -> Any:
    return tf.sin(p * tf.cast(tf.range(tf.shape(p)[-1]), tf.float64))


@pytest.mark.parametrize("unknown_rows", [False, True])
def test_the_body_of_a_loop_may_use_the_sizes_of_what_it_is_given(unknown_rows: bool) -> None:
    def looped(x: Any) -> Any:
        return tf.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, _weighted(p)), (tf.constant(0), x))[1]

    def scanned(x: Any) -> Any:
        return tf.scan(lambda a, row: _weighted(row) + a, x, initializer=tf.zeros([3], tf.float64))

    specs = [tf.TensorSpec([None if unknown_rows else 2, 3], tf.float64)]
    for f in (looped, scanned):
        np.testing.assert_array_equal(tf.function(f, input_signature=specs)(X), f(tf.constant(X)))


def test_a_range_up_to_a_known_size_has_that_size() -> None:
    """So that a carry of size 1 keeps it where a loop's body adds such a range to it."""
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float64), tf.TensorSpec([], tf.int32)])
    def f(x: Any, n: Any) -> Any:
        columns = tf.range(tf.shape(x)[-1])
        seen["columns"] = tf.reverse(columns, [0]).shape.as_list()
        seen["stepped"] = tf.range(1, tf.shape(x)[-1] * 8, 3).shape.as_list()
        seen["rows"] = tf.range(tf.shape(x)[0]).shape.as_list()
        seen["given"] = tf.range(n).shape.as_list()

        def step(i: Any, p: Any) -> Any:
            return i + 1, p * 2.0 + tf.cast(tf.range(5, 5 + tf.shape(p)[-1]), tf.float64)

        return tf.while_loop(lambda i, p: i < n, step, (tf.constant(0), x))[1]

    np.testing.assert_array_equal(f(np.ones((2, 1)), tf.constant(2)), np.full((2, 1), 19.0))
    assert seen == {"columns": [1], "stepped": [3], "rows": [None], "given": [None]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires delta != 0"):
        tf.function(lambda x: tf.range(0, tf.shape(x)[0], tf.size(x) - 2))(np.ones((2, 1)))


@pytest.mark.parametrize("rows", [None, 1])
def test_eager_tensors_of_few_integers_are_sizes_and_so_is_what_is_computed_from_them(
    rows: int | None,
) -> None:
    wide, narrow = tf.constant([20, 16]), tf.constant([10, 8], tf.int64)
    many, seen = tf.range(100), {}

    @tf.function(input_signature=[tf.TensorSpec([rows, 10, 8])])
    def f(x: Any) -> Any:
        short = tf.cast(narrow, tf.int32)
        padded = tf.pad(x, [(0, 0), (0, wide[0] - short[0]), (0, wide[1] - short[1])])
        seen["padded"] = padded.shape.as_list()
        seen["cut"] = padded[:, : short[0] // 2].shape.as_list()
        seen["flat"] = tf.reshape(padded, [-1, tf.reduce_prod(wide)]).shape.as_list()
        seen["in a loop"] = tf.map_fn(lambda row: row[: short[0] - 1], x).shape.as_list()
        seen["too many"] = tf.zeros([tf.reduce_max(many)]).shape.as_list()
        return padded

    assert f(tf.ones([1, 10, 8])).shape == (1, 20, 16)
    assert seen == {
        "padded": [rows, 20, 16],
        "cut": [rows, 5, 16],
        "flat": [rows, 320],
        "in a loop": [rows, 9, 8],
        "too many": [None],
    }


def test_what_is_repeated_as_often_as_is_known_has_a_known_size() -> None:
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64), tf.TensorSpec([], tf.int32)])
    def f(x: Any, n: Any) -> Any:
        seen["all alike"] = tf.repeat(x, 2, axis=1).shape.as_list()
        seen["one by one"] = tf.repeat(x, [1, 2, 0], axis=-1).shape.as_list()
        seen["rows"] = tf.repeat(x, 2, axis=0).shape.as_list()
        seen["given"] = tf.repeat(x, n, axis=1).shape.as_list()
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = tf.unstack(tf.repeat(x, [1, 2, 0], axis=1) ** 2, axis=1)
        return tape.gradient(parts, x)

    for rows in (2, 1, 0):
        x = np.arange(3.0 * rows).reshape(rows, 3)
        np.testing.assert_array_equal(f(x, tf.constant(2)), x * [2.0, 4.0, 0.0])
    assert seen == {
        "all alike": [None, 6],
        "one by one": [None, 3],
        "rows": [None, 3],
        "given": [None, None],
    }


def test_a_shape_put_together_from_known_and_unknown_sizes_keeps_the_known_ones() -> None:
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 3, 4])])
    def f(x: Any) -> Any:
        sizes = tf.shape(x)
        seen["joined"] = tf.reshape(x, tf.concat([sizes[:1], [12]], 0)).shape.as_list()
        seen["listed"] = tf.reshape(x, [sizes[0], sizes[1] * sizes[2]]).shape.as_list()
        seen["open"] = tf.reshape(x, tf.stack([sizes[0] * 3, -1])).shape.as_list()
        seen["whole"] = tf.zeros(sizes).shape.as_list()
        seen["moved"] = tf.zeros(tf.gather(sizes, [2, 1])).shape.rank
        return tf.unstack(tf.reshape(x, tf.concat([sizes[:1], [12]], 0)), axis=1)[5]

    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(f(x), x.reshape(2, 12)[:, 5])
    assert seen == {
        "joined": [None, 12],
        "listed": [None, 12],
        "open": [None, None],
        "whole": [None, 3, 4],
        "moved": 2,
    }
    assert f(np.zeros((0, 3, 4), np.float32)).shape == (0,)


def test_a_block_of_known_and_unknown_sizes_keeps_the_known_ones() -> None:
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def f(x: Any) -> Any:
        sizes = tf.shape(x)
        front = tf.slice(x, [0, 0, 0], tf.concat([sizes[:-1], [2]], 0))
        last = tf.slice(x, tf.stack([0, sizes[1] - 1, 1]), tf.stack([-1, 1, sizes[0]]))
        rest = tf.slice(x, [0, sizes[1] - 1, 1], tf.stack([sizes[0], 0, -1]))
        seen.update(front=front.shape.as_list(), last=last.shape.as_list(), rest=rest.shape.as_list())
        return front, last, rest

    x = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)
    for y, want in zip(f(x), (x[:, :, :2], x[:, 3:, 1:], x[:, :0, 1:])):
        np.testing.assert_array_equal(y, want)
    assert seen == {"front": [None, None, 2], "last": [None, 1, None], "rest": [None, 0, 2]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice"):
        f(x[:, :0])


def test_a_constant_is_known_whatever_number_it_is() -> None:
    lowest = [-(2**31) + 1, -(2**31)]
    f = tf.function(lambda x: x + tf.stack([tf.constant(n) for n in lowest]))
    assert f(tf.constant([0, 0])).numpy().tolist() == lowest


def test_what_cannot_be_computed_while_tracing_is_left_to_the_run() -> None:
    f = tf.function(
        lambda x, go: tf.cond(go, lambda: tf.shape(x)[0] // tf.constant(0), lambda: tf.constant(7))
    )
    assert int(f(tf.ones([2]), tf.constant(False))) == 7


def test_sizes_beside_a_number_that_only_a_run_gives_stay_known() -> None:
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 4, 4]), tf.TensorSpec([None], tf.int32)])
    def f(x: Any, of: Any) -> Any:
        count = tf.reduce_max(of) + 1
        parts = tf.dynamic_partition(x, of, 2)
        places = [tf.where(of == k)[:, 0] for k in range(2)]
        y = tf.dynamic_stitch(places, parts)
        seen["joined"] = tf.zeros(tf.concat([count[None], tf.shape(x)[1:]], 0)).shape.as_list()
        seen["stitched"] = y.shape.as_list()
        return tf.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, tf.dynamic_stitch(places, parts) @ y), (0, y)
        )[1]

    x = np.random.default_rng(0).normal(size=(5, 4, 4)).astype("f")
    np.testing.assert_allclose(f(x, np.array([0, 1, 1, 0, 1])), x @ x @ x @ x, rtol=1e-4)
    assert seen == {"joined": [None, 4, 4], "stitched": [None, 4, 4]}


def test_floats_that_sizes_lead_to_are_known_where_they_become_sizes() -> None:
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([7, None])])
    def f(x: Any) -> Any:
        rows, columns = tf.shape(x)[0], tf.shape(x)[1]
        half = tf.cast(rows / 2, tf.int32)
        share = tf.cast(tf.math.ceil(0.3 * tf.cast(rows, tf.float32)), tf.int32)
        seen["half"] = x[:half].shape.as_list()
        seen["pair"] = tf.zeros([half, share]).shape.as_list()
        seen["range"] = tf.range(0.0, tf.cast(rows, tf.float32) / 2, 0.5).shape.as_list()
        seen["unknown"] = tf.zeros([half, tf.cast(columns / 2, tf.int32)]).shape.as_list()
        seen["read"] = tf.zeros([tf.cast(tf.reduce_sum(x) / 2, tf.int32)]).shape.as_list()
        seen["constants"] = tf.zeros([tf.cast(tf.constant(7.0) / 2, tf.int32)]).shape.as_list()
        return x[:half]

    x = np.arange(28.0, dtype=np.float32).reshape(7, 4) / 50
    np.testing.assert_array_equal(f(x), x[:3])
    assert seen["half"] == [3, None]
    assert (seen["pair"], seen["range"], seen["unknown"]) == ([3, 3], [7], [3, None])
    assert (seen["read"], seen["constants"]) == ([None], [None])


def test_what_is_chosen_by_comparing_known_numbers_is_known() -> None:
    """A place counted from the end, as programs that know no rank write it."""
    seen = {}

    @tf.function
    def f(x: Any, place: Any) -> Any:
        rank = tf.rank(x)
        end = tf.constant(-1)
        last = tf.where(end < 0, rank + end, end)
        moved = tf.concat([tf.range(1, last + 1), [0], tf.range(last + 1, rank)], 0)
        seen["moved"] = tf.transpose(x, moved).shape.as_list()
        both = tf.logical_and(tf.equal(tf.shape(x), 1), tf.logical_not(tf.reduce_all(tf.shape(x) > 1)))
        seen["axes"] = tf.reduce_sum(x, tf.where(both)[:, 0]).shape.as_list()
        seen["given"] = tf.get_static_value(tf.where(place < 0, rank + place, place))
        return tf.transpose(x, moved)

    x = np.arange(6.0).reshape(2, 3, 1)
    np.testing.assert_array_equal(f(x, tf.constant(0)), x.transpose(1, 2, 0))
    assert seen == {"moved": [3, 1, 2], "axes": [2, 3], "given": None}


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "uint64", "float32", "float64", "int64"])
def test_a_size_that_only_the_run_knows_stays_unknown_as_another_dtype(dtype: str) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        sizes = tf.cast(tf.shape(x), dtype)
        few = sizes[0] if dtype == "bool" else tf.minimum(sizes[0], 5)
        return tf.zeros(tf.cast(sizes, "int32")), tf.zeros([tf.cast(few, "int32") + 1])

    for rows in (0, 1, 4):
        as_it_is = min(rows, 1) if dtype == "bool" else rows
        made, more = f(tf.ones([rows, 3]))
        assert made.shape == (as_it_is, 1 if dtype == "bool" else 3) and more.shape == (as_it_is + 1,)


def test_the_axes_along_which_gradients_of_known_shapes_are_summed_are_known() -> None:
    @tf.function
    def f(x: Any, y: Any) -> Any:
        axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(y))
        return tf.reshape(tf.reduce_sum(x * y, axes), tf.shape(x))

    x, y = np.array([1.0, 2.0, 3.0]), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(f(x, y), (x * y).sum(0))
