"""What a tape follows: variables by themselves, tensors on request, and the identity of each."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphad as tf
from graphad.gradient import tape as tape_module
from tests.support.both import in_both


@in_both
def test_trainable_variables_are_watched_when_read(run):
    v, unread = tf.Variable(3.0), tf.Variable(1.0)

    def body():
        with tf.GradientTape() as tape:
            y = v * v
        assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
        return tape.gradient(y, [v, unread])

    of_v, of_unread = run(body)
    assert of_v.numpy() == 6.0
    assert of_unread is None


@pytest.mark.parametrize(
    "read", [lambda v: v.value(), lambda v: v.read_value(), lambda v: v + 0.0, tf.identity]
)
@in_both
def test_every_way_of_reading_a_variable_counts(run, read):
    v = tf.Variable(3.0)

    def body():
        with tf.GradientTape() as tape:
            value = read(v)
            y = value * value
        return tape.gradient(y, v)

    assert run(body).numpy() == 6.0


@in_both
def test_other_variables_are_watched_on_request_only(run):
    v = tf.Variable(3.0, trainable=False)

    def body():
        with tf.GradientTape() as tape:
            y = v * v
        assert tape.watched_variables() == ()
        assert tape.gradient(y, v) is None
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = v * v
        assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
        return tape.gradient(y, v)

    assert run(body).numpy() == 6.0


@in_both
def test_automatic_watching_can_be_turned_off(run):
    v, w = tf.Variable(3.0), tf.Variable(2.0)

    def body():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            y = v * v * w
        assert [u.ref() for u in tape.watched_variables()] == [v.ref()]
        return tape.gradient(y, [v, w])

    of_v, of_w = run(body)
    assert of_v.numpy() == 12.0
    assert of_w is None


@in_both
def test_watch_takes_nests_and_affects_one_tape(run):
    v = tf.Variable(2.0, trainable=False)

    def body(a, b):
        with tf.GradientTape() as other, tf.GradientTape() as tape:
            tape.watch({"a": a, "rest": [b, (v,)]})
            y = a * b * v
        assert other.gradient(y, [a, b, v]) == [None, None, None]
        return tape.gradient(y, [a, b, v])

    assert [float(g) for g in run(body, tf.constant(3.0), tf.constant(5.0))] == [10.0, 6.0, 15.0]


@pytest.mark.parametrize("thing", [np.float32(1.0), np.ones(2), 1.0, "x", None, [1.0], object()])
def test_only_tensors_and_variables_can_be_watched(thing):
    with tf.GradientTape() as tape:
        with pytest.raises(ValueError, match=r"not tf\.Tensor or tf\.Variable or ExtensionType") as caught:
            tape.watch(thing)
    if not isinstance(thing, list):
        assert f"of type '{type(thing).__name__}'" in str(caught.value)


@pytest.mark.parametrize("values", [[1, 2], [True, False]])
def test_watching_integers_warns_and_gives_none(values, monkeypatch):
    monkeypatch.setattr(tape_module, "_dtype_warnings", 5)
    x = tf.constant(values)
    with tf.GradientTape() as tape:
        with pytest.warns(UserWarning, match=r"must be floating \(e.g. tf.float32\), got tf\."):
            tape.watch(x)
        y = tf.cast(x, tf.float32) * 2.0
    assert tape.gradient(y, x) is None


def test_the_warning_about_dtypes_comes_five_times_at_most(monkeypatch):
    monkeypatch.setattr(tape_module, "_dtype_warnings", 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with tf.GradientTape() as tape:
            for _ in range(9):
                tape.watch(tf.constant(1))
    assert len(caught) == 5


@in_both
def test_watching_before_the_tape_is_entered_counts(run):
    def body(x):
        tape = tf.GradientTape()
        tape.watch(x)
        with tape:
            y = x * x
        return tape.gradient(y, x)

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_constants_have_no_gradient(run):
    def body(x):
        with tf.GradientTape() as tape:
            y = x * tf.constant(2.0)
        assert tape.gradient(y, x) is None
        return y

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_equal_constants_are_different_tensors(run):
    def body():
        a, b = tf.constant(2.0), tf.constant(2.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([a, b])
            y = a * a * b
            z = 3.0 * b
        assert tape.gradient(z, a) is None
        return tape.gradient(y, [a, b])

    assert [float(g) for g in run(body)] == [8.0, 4.0]


@in_both
def test_watched_variables_come_in_the_order_of_their_making(run):
    a, b, c = tf.Variable(2.0), tf.Variable(3.0), tf.Variable(4.0)

    def body():
        with tf.GradientTape() as tape:
            y = c * b * a
        before = tape.watched_variables()
        g = tape.gradient(y, a)
        after = tape.watched_variables()
        assert isinstance(before, tuple)
        assert [v.ref() for v in before] == [v.ref() for v in after] == [a.ref(), b.ref(), c.ref()]
        return g

    assert run(body).numpy() == 12.0


@in_both
def test_intermediate_values_can_be_sources(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tape.watch(y)
            z = y * y
        return tape.gradient(z, [x, y])

    assert [float(g) for g in run(body, tf.constant(3.0))] == [108.0, 18.0]


@pytest.mark.parametrize(
    "same", [tf.identity, lambda x: x + 0.0, lambda x: x * 1.0, lambda x: tf.reshape(x, [2])]
)
@in_both
def test_ops_that_change_nothing_give_tensors_of_their_own(run, same):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = same(x)
            z = y * y
            w = x * 3.0
        assert tape.gradient(w, y) is None
        return tape.gradient(z, [x, y]), tape.gradient(y, x), tape.gradient(y, y)

    (by_x, by_y), of_y, of_itself = run(body, tf.constant([2.0, 5.0]))
    np.testing.assert_array_equal(by_x, [4.0, 10.0])
    np.testing.assert_array_equal(by_y, [4.0, 10.0])
    np.testing.assert_array_equal(of_y, [1.0, 1.0])
    np.testing.assert_array_equal(of_itself, [1.0, 1.0])


@in_both
def test_a_variable_and_its_value_are_different_things(run):
    v = tf.Variable([2.0, 5.0])

    def body():
        with tf.GradientTape(persistent=True) as tape:
            value = tf.convert_to_tensor(v)
            first = value * value
            second = v * 3.0
        return tape.gradient(first, [v, value]), tape.gradient(second, [v, value])

    (by_v, by_value), (second_by_v, second_by_value) = run(body)
    np.testing.assert_array_equal(by_v, [4.0, 10.0])
    np.testing.assert_array_equal(by_value, [4.0, 10.0])
    np.testing.assert_array_equal(second_by_v, [3.0, 3.0])
    assert second_by_value is None


@in_both
def test_ops_before_watch_are_not_recorded(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
            tape.watch(x)
            z = y * x
        assert tape.gradient(y, x) is None
        return tape.gradient(z, x)

    assert run(body, tf.constant(3.0)).numpy() == 9.0


M = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
NOTHING_TO_DO = {
    "squeeze": (tf.squeeze, M),
    "squeeze of a scalar": (tf.squeeze, M[0, 0]),
    "reduce_sum of a scalar": (tf.reduce_sum, M[0, 0]),
    "reduce_sum over no axes": (lambda x: tf.reduce_sum(x, axis=[]), M),
    "reduce_mean over no axes": (lambda x: tf.reduce_mean(x, axis=[]), M),
    "reduce_max over no axes": (lambda x: tf.reduce_max(x, axis=[]), M),
    "pow": (lambda x: x**1, M),
    "plus": (lambda x: +x, M),
    "einsum": (lambda x: tf.einsum("ij->ij", x), M),
    "reshape": (lambda x: tf.reshape(x, [2, 2]), M),
    "transpose": (lambda x: tf.transpose(x, [0, 1]), M),
    "broadcast_to": (lambda x: tf.broadcast_to(x, [2, 2]), M),
    "identity": (tf.identity, M),
    "assert_scalar": (tf.debugging.assert_scalar, M[0, 0]),
    "vectorized_map": (lambda x: tf.vectorized_map(lambda row: row, x), M),
    "function": (tf.function(lambda x: x), M),
    "everything": (lambda x: x[...], M),
}


@in_both
@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_an_op_with_nothing_to_do_gives_another_tensor(run, name):
    op, value = NOTHING_TO_DO[name]

    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with tape.stop_recording():
                unseen = op(x)
            y = unseen * 3.0
            seen = op(x)
            z = seen * 3.0
        assert tape.gradient(y, x) is None
        return tape.gradient(z, x), tape.gradient(z, seen)

    for slope in run(body, tf.constant(value)):
        np.testing.assert_array_equal(slope, np.full_like(value, 3.0))


@in_both
@pytest.mark.parametrize(
    "read",
    [
        tf.convert_to_tensor,
        tf.constant,
        tf.squeeze,
        tf.math.real,
        tf.math.conj,
        lambda v: +v,
        lambda v: tf.cast(v, tf.float32),
        lambda v: tf.saturate_cast(v, tf.float32),
        lambda v: tf.reduce_sum(v, axis=[]),
        lambda v: tf.nn.dropout(v, 0.0),
    ],
)
def test_what_is_read_from_a_variable_is_not_the_variable(run, read):
    v = tf.Variable([2.0, 5.0])

    def body():
        with tf.GradientTape(persistent=True) as tape:
            x = read(v)
            y = x * v
        return tape.gradient(y, [x, v])

    of_x, of_v = run(body)
    np.testing.assert_array_equal(of_x, [2.0, 5.0])
    np.testing.assert_array_equal(of_v, [4.0, 10.0])
