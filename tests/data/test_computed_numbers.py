"""Data sets whose sizes a traced function computes: how many elements are taken, skipped, repeated or batched, and ranges."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

Dataset = tf.data.Dataset

STEPS = {
    "take": lambda rows, n: rows.take(n),
    "skip": lambda rows, n: rows.skip(n),
    "batch": lambda rows, n: rows.batch(abs(n) + 1),
    "batch of whole ones": lambda rows, n: rows.batch(abs(n) + 1, drop_remainder=True),
    "batches of slices": lambda rows, n: rows.skip(1).batch(abs(n) + 2).take(n),
    "repeat": lambda rows, n: rows.repeat(abs(n)),
    "shard": lambda rows, n: rows.shard(abs(n) + 2, abs(n)),
    "enumerate": lambda rows, n: rows.enumerate(n).map(lambda i, x: i * x),
    "map behind take": lambda rows, n: rows.take(n).map(lambda x: x * x),
    "side by side": lambda rows, n: Dataset.zip((rows, Dataset.range(n))).map(lambda x, y: x - y),
    "range": lambda rows, n: Dataset.range(n),
    "range of two ends": lambda rows, n: Dataset.range(n, 5),
    "range with a step": lambda rows, n: Dataset.range(7, n, -2),
    "range whose step is computed": lambda rows, n: Dataset.range(-3, 8, abs(n) + 1, output_type="int32"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_number_that_the_function_computes_counts_as_one_of_python(name, dtype):
    step, rows = STEPS[name], Dataset.range(6).enumerate().map(lambda i, x: x)
    from_memory = Dataset.range(6)

    @tf.function(input_signature=[tf.TensorSpec([], dtype)])
    def walk(n):
        total, seen = tf.constant(0, tf.int64), tf.constant(0, tf.int64)
        for x in step(from_memory, n):
            total = (total * 31 + tf.reduce_sum(tf.cast(x, tf.int64)) * (1 + tf.size(x, tf.int64))) % 1000003
            seen += 1
        return total, seen

    for n in (-2, -1, 0, 1, 4, 9):
        total, seen = 0, 0
        for x in step(rows, n):
            total = (total * 31 + int(x.numpy().sum()) * (1 + x.numpy().size)) % 1000003
            seen += 1
        assert [int(y) for y in walk(n)] == [total, seen], n


def test_a_saved_function_holds_a_range_that_it_computes(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
        def squares(self, n):
            return Dataset.range(n).map(lambda i: i * i).reduce(tf.constant(0, tf.int64), lambda a, b: a + b)

    tf.saved_model.save(Model(), tmp_path)
    assert [int(tf.saved_model.load(tmp_path).squares(n)) for n in (0, 1, 5)] == [0, 0, 30]


@pytest.mark.parametrize(
    ("made", "n", "words"),
    [
        (lambda n: Dataset.range(4).batch(n), 0, "batch: batch_size is 0; it must be positive"),
        (lambda n: Dataset.range(4).shard(n, 2), 2, "shard: index is 2; 0 <= index < num_shards, which is 2"),
        (lambda n: Dataset.range(4).repeat(n), -1, "repeat: .* without end"),
        (lambda n: Dataset.range(0, 4, n), 0, "Dataset.range: the step is 0"),
        (
            lambda n: Dataset.range(4).map(lambda x: x).take(n),
            1,
            "take: an argument is a tensor .*call take before map",
        ),
        (lambda n: Dataset.range(4).take(n[None]), 1, r"take: count has shape \(1,\)"),
        (lambda n: Dataset.range(tf.cast(n, tf.float32)), 1, "range: an argument has .* float32; an integer"),
    ],
)
def test_numbers_that_do_not_do_are_refused(made, n, words):
    @tf.function
    def walk(n):
        for x in made(n):
            tf.print(x)

    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        walk(tf.constant(n))


def test_the_state_of_a_reduction_may_grow():
    grown = []
    for rows in (Dataset.range(4), Dataset.range(4).map(lambda x: x * x)):

        @tf.function
        def listed(rows=rows):
            start = (tf.zeros([0], tf.int64), tf.zeros([1, 1]))
            return rows.reduce(start, lambda s, x: (tf.concat([s[0], [x]], 0), tf.concat([s[1], s[1]], 0)))

        vector, column = listed()
        grown.append(vector.numpy().tolist())
        assert column.shape == (16, 1)
    assert grown == [[0, 1, 2, 3], [0, 1, 4, 9]]


def test_the_state_of_a_reduction_keeps_its_dtype():
    @tf.function
    def f():
        return Dataset.range(3).reduce(tf.constant(0), lambda s, x: x)

    with pytest.raises(TypeError, match="'the state' has dtype int32 before the loop, but dtype int64"):
        f()


def test_what_grows_in_a_reduction_has_a_gradient():
    x = tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def f(x):
        rows = Dataset.from_tensor_slices(x)
        return tf.reduce_sum(rows.reduce(tf.zeros([0]), lambda s, y: tf.concat([s, [y * y]], 0)))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0, 6.0])


@pytest.mark.parametrize(
    "step",
    [lambda rows: rows.take(6), lambda rows: rows.skip(4), lambda rows: rows.shard(2, 0).repeat(3)],
    ids=["take", "skip", "shard and repeat"],
)
def test_numbers_of_python_leave_the_sizes_of_batches_known(step):
    @tf.function
    def sizes():
        for batch in step(Dataset.range(10)).batch(3):
            assert batch.shape == [3]
            tf.print(batch, output_stream="file:///dev/null")

    sizes()


def test_the_length_of_such_a_data_set_is_a_tensor():
    f = tf.function(lambda n: len(Dataset.range(20).take(n).batch(4)))
    assert [int(f(tf.constant(n))) for n in (0, 4, 9, 50, -1)] == [0, 1, 3, 5, 5]
