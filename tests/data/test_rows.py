"""Data sets as graphs: traced functions go through slices of their own tensors, and through what memory holds."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

Dataset = tf.data.Dataset
X = np.arange(14, dtype=np.float32).reshape(7, 2)


def listed(rows):
    """The elements of a data set as text, which shows dtypes and shapes."""
    return [repr(tf.nest.map_structure(lambda x: x.numpy(), element)) for element in rows]


def seen(f, *arguments):
    """What the loop over `f(*arguments)` in a traced function sees, element by element."""
    found = []

    def note(structure):
        return lambda *parts: found.append(
            repr(tf.nest.pack_sequence_as(structure, [part.numpy() for part in parts]))
        )

    @tf.function(input_signature=[tf.TensorSpec([None, *np.shape(x)[1:]], x.dtype) for x in arguments])
    def walk(*tensors):
        for element in f(*tensors):
            tf.py_function(note(element), tf.nest.flatten(element), [])

    walk(*[tf.constant(x) for x in arguments])
    return found


STEPS = {
    "slices": lambda rows: rows,
    "batches": lambda rows: rows.batch(3),
    "whole batches": lambda rows: rows.batch(3, drop_remainder=True),
    "batches of batches": lambda rows: rows.batch(2, drop_remainder=True).batch(2),
    "batches of batches that happen to be whole": lambda rows: rows.batch(2).take(3).batch(2),
    "batches of the last batch": lambda rows: rows.batch(2).skip(3).batch(1).batch(2),
    "no batches of batches": lambda rows: rows.take(0).batch(2).batch(3),
    "numbered": lambda rows: rows.enumerate(5).batch(4),
    "taken": lambda rows: rows.skip(2).take(3),
    "all taken": lambda rows: rows.take(-1).take(100),
    "all skipped": lambda rows: rows.skip(-1),
    "more skipped than there are": lambda rows: rows.skip(9),
    "sharded": lambda rows: rows.shard(3, 1),
    "sharded beyond": lambda rows: rows.shard(9, 8),
    "repeated": lambda rows: rows.repeat(2).batch(4),
    "side by side": lambda rows: Dataset.zip((rows, {"n": Dataset.range(5, 20, 3)})),
    "prefetched": lambda rows: rows.cache().prefetch(2).batch(7),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_data_set_of_traced_tensors_has_the_elements_of_one_from_memory(name):
    step = STEPS[name]
    wanted = listed(step(Dataset.from_tensor_slices(X)))
    assert seen(lambda x: step(Dataset.from_tensor_slices(x)), X) == wanted


@pytest.mark.parametrize("name", STEPS)
def test_a_data_set_from_memory_has_the_same_elements_where_it_is_captured(name):
    rows = STEPS[name](Dataset.from_tensor_slices({"x": X, "y": X[:, 0]}))
    assert rows.__graphad_elements__ is not None
    assert seen(lambda: rows) == listed(rows)


def test_functions_of_elements_are_traced_and_see_their_parts():
    def made(x, y):
        pairs = Dataset.from_tensor_slices((x, {"y": y}))
        return pairs.map(lambda a, b: (a * 2, b["y"] - 1)).batch(3)

    assert seen(made, X, X[:, 1]) == listed(made(X, X[:, 1]))


def test_the_shuffled_elements_are_all_there_in_another_order_each_time():
    @tf.function
    def order(x):
        out = tf.TensorArray(tf.float32, tf.shape(x)[0])
        for i, row in Dataset.from_tensor_slices(x).shuffle(tf.size(x), seed=3).enumerate():
            out = out.write(tf.cast(i, tf.int32), row)
        return out.stack()

    x = tf.range(40.0)
    first, other = order(x).numpy(), order(x).numpy()
    assert sorted(first) == sorted(other) == x.numpy().tolist()
    assert first.tolist() != other.tolist() and first.tolist() != x.numpy().tolist()


@pytest.mark.parametrize("make", [Dataset.from_tensor_slices, lambda v: Dataset.from_tensors([v, v])])
def test_slices_of_a_variable_are_those_when_a_traced_function_makes_the_data_set(make):
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def f():
        rows, total = make(v), 0.0
        for row in rows:
            v.assign(v * 2.0)
            total += tf.reduce_sum(row)
        for row in rows:
            total += tf.reduce_sum(row)
        return total

    steps = len(make(v))
    for _ in range(2):
        wanted = 2 * sum(float(tf.reduce_sum(row)) for row in make(v))
        before = v.numpy()
        assert float(f()) == wanted
        np.testing.assert_array_equal(v, before * 2**steps)


@pytest.mark.parametrize("seed", [None, 4])
def test_an_order_that_is_not_to_change_is_one_for_all_loops_and_repetitions(seed):
    @tf.function
    def orders(x):
        rows = Dataset.from_tensor_slices(x).shuffle(30, seed=seed, reshuffle_each_iteration=False)
        first, other = tf.zeros([0]), tf.zeros([0])
        for row in rows:
            first = tf.concat([first, [row]], 0)
        for row in rows.repeat(2):
            other = tf.concat([other, [row]], 0)
        return first, other

    x = tf.range(30.0)
    first, other = orders(x)
    assert sorted(first.numpy()) == x.numpy().tolist() != first.numpy().tolist()
    np.testing.assert_array_equal(other, np.tile(first, 2))
    assert (orders(x)[0].numpy().tolist() == first.numpy().tolist()) is (seed is not None)


def test_what_int64_or_the_dtype_does_not_count_is_left_to_the_host():
    @tf.function
    def first(rows):
        total = tf.zeros([])
        for row in rows:
            total += tf.cast(row, tf.float32)
            if total > 7.0:
                break
        return total

    assert float(first(Dataset.range(3).repeat(2**62))) == 9
    assert float(first(Dataset.range(2**63, 2**63 + 2, output_type="uint64"))) == 2.0**63
    with pytest.raises(ValueError, match="out of range"):
        first(Dataset.range(256, 258, output_type="uint8"))


def test_gradients_go_through_the_slices_of_a_traced_tensor():
    @tf.function
    def f(x):
        total = tf.zeros([])
        for a, b in Dataset.from_tensor_slices((x, x * x)).batch(2):
            total += tf.reduce_prod(a) * tf.reduce_sum(b)
        return total

    x = tf.constant([1.0, 2.0, -3.0])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
    a, b, c = x.numpy()  # a b (a^2 + b^2) + c^3
    assert float(y) == a * b * (a * a + b * b) + c**3
    np.testing.assert_allclose(slope, [3 * a * a * b + b**3, 3 * b * b * a + a**3, 3 * c * c])
    np.testing.assert_allclose(outer.jacobian(slope, x)[2], [0, 0, 6 * c])


def test_a_reduction_and_an_epoch_of_a_saved_function(tmp_path):
    class Fit(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.zeros([2]))

        @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None])])
        def epoch(self, x, y):
            loss = 0.0
            for a, b in Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a / 8, b)).batch(3):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((tf.linalg.matvec(a, self.w) - b) ** 2)
                self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
            return loss

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def total(self, x):
            return Dataset.from_tensor_slices(x).reduce(0.0, lambda before, e: before * 0.5 + e)

    model, y = Fit(), X[:, 1]
    tf.saved_model.save(model, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    for _ in range(3):
        assert float(loaded.epoch(X, y)) == float(model.epoch(X, y))
    np.testing.assert_array_equal(loaded.w, model.w)
    assert float(loaded.total(tf.constant([1.0, 2.0, 4.0]))) == 0.25 + 1 + 4


def test_shapes_of_variables_may_change_as_in_other_loops_over_data_sets():
    rows = Dataset.from_tensor_slices(X).batch(4)

    @tf.function
    def last():
        kept = tf.zeros([1, 2])
        for row in rows:
            kept = row
        return kept

    np.testing.assert_array_equal(last(), X[4:])


def test_a_loop_that_may_take_no_step_gives_no_variable_its_first_value():
    rows = Dataset.range(3).skip(3)

    @tf.function
    def last():
        for row in rows:
            found = row
        return found

    with pytest.raises(ValueError, match="must iterate at least once"):
        last()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda rows: rows.filter(lambda e: e[0] > 0), "filter: the data set is of tensors"),
        (lambda rows: rows.window(2), "window: the data set is of tensors"),
        (lambda rows: rows.repeat(), "repeat: .* cannot be repeated without end"),
        (lambda rows: rows.shuffle(9).repeat(2), "repeat: a shuffled data set .* shuffle behind repeat"),
        (lambda rows: rows.batch(2).batch(2), "batch: the batches .* drop_remainder=True"),
        (lambda rows: rows.shard(2, 2), "shard: index is 2"),
        (lambda rows: rows.batch(0), "batch: batch_size is 0; it must be positive"),
        (lambda rows: Dataset.zip((rows, Dataset.range(3).filter(lambda i: i > 0))), "zip: .*the host gives"),
        (
            lambda rows: Dataset.from_tensor_slices(
                (tf.ones([2, 1]) * rows._rows().at(tf.constant(0, tf.int64))[0], tf.ones(3))
            ),
            "sizes 2, 3",
        ),
    ],
)
def test_what_a_graph_does_not_take_is_refused_while_the_function_is_traced(made, words):
    @tf.function
    def f(x):
        for row in made(Dataset.from_tensor_slices(x)):
            tf.print(row)

    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        f(tf.constant(X))


def test_specs_and_counts_of_traced_data_sets():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def f(x):
        rows = Dataset.from_tensor_slices({"x": x}).batch(2)
        assert isinstance(rows, Dataset)
        assert rows.element_spec == {"x": tf.TensorSpec([None, 2])}
        with pytest.raises(TypeError, match="not known before the function runs"):
            rows.__len__()
        return rows.cardinality(), Dataset.from_tensors(x).cardinality(), len(rows)

    assert [int(n) for n in f(X)] == [4, 1, 4]


def test_first_axes_of_different_sizes_are_found_when_the_function_runs():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def f(x, y):
        total = 0.0
        for a, b in Dataset.from_tensor_slices((x, y)):
            total += a * b
        return total

    assert float(f([1.0, 2.0], [3.0, 4.0])) == 11.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="the first axes have different sizes"):
        f([1.0, 2.0], [3.0])


@pytest.mark.parametrize("is_new_each_time", [True, False])
def test_the_buffer_of_a_shuffle_that_the_function_computes(is_new_each_time):
    @tf.function
    def order(x, n):
        out = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        rows = Dataset.from_tensor_slices(x).shuffle(n, reshuffle_each_iteration=is_new_each_time)
        for i, row in rows.enumerate():
            out = out.write(tf.cast(i, tf.int32), row)
        return out.stack()

    x = tf.range(40.0)
    for n in (40, 3, tf.data.UNKNOWN_CARDINALITY):
        found = order(x, tf.constant(n)).numpy().tolist()
        assert sorted(found) == x.numpy().tolist() != found
    assert order(x, tf.constant(1)).numpy().tolist() == x.numpy().tolist()
    for n in (0, -1, -7):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"shuffle: buffer_size is {n}; it must be positive"
        ):
            order(x, tf.constant(n))


def test_numbers_that_are_sizes_of_tensors_of_known_shape():
    @tf.function
    def total(x, y):
        rows = Dataset.from_tensor_slices(x).take(tf.size(y)).batch(tf.shape(y)[0])
        return rows.reduce(0.0, lambda found, row: found + tf.reduce_sum(row))

    assert total(tf.range(9.0), tf.zeros([4])).numpy() == 6.0
