"""Data sets and their iterators in traced functions: a `for` statement goes through them while the function runs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import graphad as tf

Dataset = tf.data.Dataset
numbers = Dataset.range(5)


@tf.function
def total(elements):
    out = tf.constant(0, tf.int64)
    for x in elements:
        out += x
    return out


def test_each_call_begins_anew_and_one_trace_serves_all():
    rows = Dataset.range(4).map(lambda x: x * x)
    before = total.experimental_get_tracing_count()
    assert [int(total(rows)) for _ in range(3)] == [14, 14, 14]
    assert total.experimental_get_tracing_count() == before + 1


def test_every_run_is_shuffled_anew():
    rows = Dataset.range(50).shuffle(50, seed=3)

    @tf.function
    def listed():
        out = tf.TensorArray(tf.int64, size=50)
        for i, x in enumerate(rows):
            out = out.write(tf.cast(i, tf.int32), x)
        return out.stack()

    first, second = listed().numpy(), listed().numpy()
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def with_break(rows):
    out = tf.constant(0, tf.int64)
    for x in rows:
        if x == 1:
            continue
        out += x
        if x > 2:
            break
    return out


def with_return(rows):
    for x in rows:
        if x > 2:
            return x * 100
    return tf.constant(-1, tf.int64)


def nested(rows):
    out = tf.constant(0, tf.int64)
    for a in rows:
        for b in rows:
            if b > a:
                break
            out += a * b
    return out


def counted(rows):
    out = tf.constant(0, tf.int64)
    for i, (x, y) in enumerate(zip(rows, rows.map(lambda x: x + 1), strict=False)):
        out += i * x * y
    return out


def by_hand(rows):
    iterator = iter(rows)
    first = next(iterator)
    out = first * 0
    for x in iterator:
        out += x * (first + 2)
    return out


@pytest.mark.parametrize("f", [with_break, with_return, nested, counted, by_hand])
def test_a_loop_means_what_it_means_eagerly(f):
    traced = tf.function(f)
    for rows in (numbers, Dataset.range(2), numbers.skip(1)):
        assert [int(traced(rows)) for _ in range(2)] == [int(f(rows))] * 2


def test_no_elements():
    assert total(Dataset.range(0)) == 0
    assert tf.function(with_return)(Dataset.range(0)) == -1


def test_elements_with_parts_train_a_variable():
    x = np.random.default_rng(1).normal(size=(20, 3)).astype("float32")
    y = x @ np.array([1.0, 2.0, 3.0], "float32")
    rows = Dataset.from_tensor_slices({"x": x, "y": y}).shuffle(20).batch(6)
    weight = tf.Variable(tf.zeros(3))

    @tf.function
    def epoch():
        steps = 0
        for row in rows:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.linalg.matvec(row["x"], weight) - row["y"]) ** 2)
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
            steps += 1
        return steps

    assert [int(epoch()) for _ in range(60)] == [4] * 60
    np.testing.assert_allclose(weight, [1.0, 2.0, 3.0], rtol=1e-3)


def test_derivatives_of_the_loop():
    def polynomial(rows, x):
        y = x
        for c in rows:
            y = y * x + tf.cast(c, tf.float64)
        return y

    x = tf.constant(1.5, tf.float64)
    found = []
    for f in (polynomial, tf.function(polynomial)):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(numbers, x)
            slope = inner.gradient(y, x)
        found.append([float(y), float(slope), float(outer.gradient(slope, x))])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_an_iterator_goes_on_where_it_was_left():
    @tf.function
    def two(iterator):
        return next(iterator), iterator.get_next()

    iterator = iter(numbers)
    assert [int(x) for x in two(iterator)] == [0, 1]
    assert int(next(iterator)) == 2
    assert total(iterator) == 7
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        two(iterator)


def test_an_error_in_the_loop_leaves_nothing_behind():
    @tf.function
    def checked(limit):
        for x in numbers:
            tf.debugging.assert_less(x, limit)

    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            checked(tf.constant(2, tf.int64))
    checked(tf.constant(9, tf.int64))
    gc.collect()
    streams = [x for x in gc.get_objects() if type(x).__name__ == "Stream"]
    assert all(len(stream._running) <= 1 for stream in streams)


@pytest.mark.parametrize("use", [list, lambda rows: [x * 2 for x in rows], lambda rows: sum(iter(rows))])
def test_only_a_statement_goes_through_it(use):
    with pytest.raises(ValueError, match="only a `for` statement"):
        tf.function(lambda: use(numbers))()
    with pytest.raises(ValueError, match="only a `for` statement"):
        tf.function(lambda rows: use(rows))(iter(numbers))


class Model(tf.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows, self.weight = rows, tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def weighted(self, x):
        for row in self.rows:
            x += tf.reduce_sum(tf.cast(row, tf.float32)) * self.weight
        return x


def test_a_function_that_asks_the_host_for_elements_is_not_saved(tmp_path):
    model = Model(numbers.map(lambda x: x + 1))
    assert float(model.weighted(1.0)) == 31.0
    words = (
        r"^save: weighted: .*is a loop over a data set, which runs Python, .* pass the tensors as arguments and make the data "
        r"set of them in the function, where it is also mapped and shuffled\.$"
    )
    with pytest.raises(ValueError, match=words):
        tf.saved_model.save(model, tmp_path / "m")


def test_a_function_that_goes_through_a_data_set_from_memory_is_saved(tmp_path):
    rows = Dataset.from_tensor_slices(np.arange(7, dtype=np.float32)).skip(1).batch(4).repeat(2)
    model = Model(rows)
    tf.saved_model.save(model, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    with tf.GradientTape() as tape:
        y = loaded.weighted(tf.constant(1.0))
    assert float(y) == float(model.weighted(1.0)) == 1.0 + 2 * 2 * 21
    assert float(tape.gradient(y, loaded.weight)) == 42.0


def growing(rows):
    out = tf.zeros([0], tf.int64)
    for x in rows:
        out = tf.concat([out, [x]], 0)
    return out


def deeper(rows):
    out = tf.zeros([], tf.int64)
    for x in rows:
        out = out[tf.newaxis] + x
    return out


@pytest.mark.parametrize("f", [growing, deeper])
def test_shapes_may_change_from_step_to_step(f):
    """In loops over tensors they may not: see `set_loop_options`."""
    traced = tf.function(f)
    for rows in (Dataset.range(3), Dataset.range(0), Dataset.range(6).skip(4)):
        np.testing.assert_array_equal(traced(rows), f(rows))
    with pytest.raises(tf.errors.InvalidArgumentError, match="after one iteration"):
        tf.function(f)(tf.range(3, dtype=tf.int64))


def test_a_sum_takes_the_shape_of_what_is_added():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.int64)])
    def weighted(x):
        out = tf.zeros([], tf.int64)
        for row in Dataset.range(4):
            out += row * x
            if tf.reduce_sum(out) > 5:
                break
        return out

    assert weighted(tf.constant([2, 3], tf.int64)).numpy().tolist() == [6, 9]
    assert weighted(tf.constant(1, tf.int64)).numpy() == 6


def test_a_traced_reduction_goes_through_the_data_set_in_every_run():
    rows, weight, seen = Dataset.range(4), tf.Variable(2.0), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def total(x):
        def step(state, i):
            seen.assign_add(i)
            if i > 1:  # a tensor decides
                state = (state[0] + i, state[1] * weight)
            return state

        return rows.reduce((x, tf.constant(1.0)), step)

    for runs in (1, 2):
        with tf.GradientTape() as tape:
            count, product = total(tf.constant(3, tf.int64))
        assert int(count) == 8 and float(product) == 4.0 and int(seen) == 6 * runs
        assert float(tape.gradient(product, weight)) == 4.0
    assert int(tf.function(lambda: rows.reduce(0, lambda s, _: s + 1))()) == 4
    pairs = Dataset.from_tensor_slices((tf.range(3.0), tf.range(3.0)))
    assert float(tf.function(lambda: pairs.reduce(1.0, lambda s, row: s + row[0] * row[1]))()) == 6.0
    with pytest.raises(TypeError, match="int64"):
        tf.function(lambda: rows.reduce(0, lambda s, i: s + i))()
