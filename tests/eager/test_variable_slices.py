"""What variables do to their slices, and with what they are made: at once, traced, compiled, from several threads."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import graphad as tf

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
PLACES = np.array([2, 0, 2], np.int32)
VALUES = np.array([[2.0, 4.0], [1.0, 8.0], [5.0, 0.5]], np.float32)


def applied(ufunc):
    out = ROWS.copy()
    ufunc.at(out, PLACES, VALUES)
    return out


METHODS = {
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_div": np.divide,
    "scatter_max": np.maximum,
    "scatter_min": np.minimum,
}


@pytest.mark.parametrize("way", ["eager", "traced", "compiled", "unknown sizes"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_are_combined_with_repeats(method, way):
    v = tf.Variable(ROWS)

    def step(places, values):
        assert getattr(v, method)(tf.IndexedSlices(values, places)) is v
        return v.read_value()

    if way == "unknown sizes":
        step = tf.function(step, input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec(None)])
    elif way != "eager":
        step = tf.function(step, jit_compile=way == "compiled")
    after = step(tf.constant(PLACES), tf.constant(VALUES))
    np.testing.assert_allclose(after, applied(METHODS[method]), rtol=1e-6)
    np.testing.assert_array_equal(v.numpy(), after.numpy())


@pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_slices_of_batches_and_by_coordinates(way):
    v = tf.Variable(ROWS)
    way(lambda i, x: v.batch_scatter_update(tf.IndexedSlices(x, i)))(
        tf.constant([[1], [0], [1]]), tf.constant([[9.0], [8.0], [7.0]])
    )
    np.testing.assert_array_equal(v, [[1, 9], [8, 4], [5, 7]])
    way(lambda i, x: v.scatter_nd_max(i, x))(tf.constant([[0, 0], [0, 0]]), tf.constant([4.0, 2.0]))
    way(lambda i, x: v.scatter_nd_min(i, x))(tf.constant([[1]]), tf.constant([[5.0, 5.0]]))
    np.testing.assert_array_equal(v, [[4, 9], [5, 4], [5, 7]])
    assert v.gather_nd([[0, 1]]).numpy().tolist() == [9.0]
    assert v.sparse_read([1]).numpy().tolist() == [[5.0, 4.0]]


def test_slices_may_be_made_of_lists():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v.batch_scatter_update(tf.IndexedSlices([[9.0], [8.0]], [[0], [1]]))
    v.scatter_add(tf.IndexedSlices([[1.0, 1.0]], [1]))
    np.testing.assert_array_equal(v, [[9.0, 2.0], [4.0, 9.0]])


def test_integers_divide_down_and_never_by_zero():
    v = tf.Variable([7, -7])
    v.scatter_div(tf.IndexedSlices(tf.constant([2, 2]), tf.constant([0, 1])))
    assert v.numpy().tolist() == [3, -4]
    with pytest.raises(ValueError, match="Integer division by zero"):
        v.scatter_div(tf.IndexedSlices(tf.constant([0]), tf.constant([0])))
    assert v.numpy().tolist() == [3, -4]


def test_what_does_not_fit_is_refused_and_changes_nothing():
    v = tf.Variable(ROWS)
    for delta, error in (
        (3.0, TypeError),
        (tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([3])), ValueError),
        (tf.IndexedSlices(tf.constant([[1.0, 2.0, 3.0]]), tf.constant([0])), ValueError),
        (tf.IndexedSlices(tf.constant([[1, 2]]), tf.constant([0])), ValueError),
    ):
        for method in ("scatter_update", *METHODS):
            with pytest.raises(error):
                getattr(v, method)(delta)
    np.testing.assert_array_equal(v, ROWS)


def test_steps_of_several_threads_all_count():
    v = tf.Variable(np.ones(3, np.int64))
    one = tf.IndexedSlices(tf.constant([2], tf.int64), tf.constant([1]))

    def work():
        for _ in range(10):
            v.scatter_mul(one)
            v[2:].assign(v[2:])
            v.scatter_nd_add([[0]], tf.constant([1], tf.int64))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy().tolist() == [41, 2**40, 1]


def test_gradients_stop_at_what_a_variable_was_assigned():
    v, x = tf.Variable(ROWS), tf.constant(VALUES)
    with tf.GradientTape() as tape:
        tape.watch(x)
        before = tf.reduce_sum(v * v)
        v.scatter_max(tf.IndexedSlices(x, tf.constant(PLACES)))
        after = tf.reduce_sum(v * v)
    of_v, of_x = tape.gradient([before, after], [v, x])
    np.testing.assert_allclose(of_v, 2 * ROWS + 2 * v.numpy())
    assert of_x is None


def unit(w):
    return tf.clip_by_value(w, -1.0, 1.0)


@pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_optimizers_apply_constraints(way):
    v = tf.Variable([0.5, -0.5], constraint=unit)
    optimizer = tf.optimizers.SGD(1.0)
    way(lambda: optimizer.apply_gradients([(tf.constant([-3.0, 0.25]), v)]))()
    np.testing.assert_allclose(v, [1.0, -0.75])


def test_copies_and_pickles_keep_what_a_variable_was_made_with():
    mean = tf.VariableAggregation.MEAN
    v = tf.Variable([0.5], constraint=unit, aggregation=mean, trainable=False, name="w")
    for other in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert (other.constraint, other.aggregation, other.trainable, other.name) == (
            unit,
            mean,
            False,
            "w:0",
        )
        other.assign([2.0])
    assert v.numpy().tolist() == [0.5]


def test_arguments_of_graphs_built_by_hand_are_refused():
    for name in ("variable_def", "import_scope"):
        with pytest.raises(RuntimeError, match="give an initial value"):
            tf.Variable(1.0, **{name: "x"})
    with pytest.raises(RuntimeError, match="initial value is not kept"):
        tf.Variable(1.0).initial_value
