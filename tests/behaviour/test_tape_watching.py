"""What tapes watch, as users of TensorFlow rely on it."""

import numpy as np
import pytest

import graphad as tf


def plainly(f):
    return f


WAYS = pytest.mark.parametrize("way", [plainly, tf.function], ids=["eager", "function"])


@WAYS
@pytest.mark.parametrize("trainable", [True, False])
def test_trainable_variables_are_watched_when_read(way, trainable):
    v = tf.Variable(2.0, trainable=trainable)

    @way
    def f():
        with tf.GradientTape() as tape:
            y = v * v
        return tape.gradient(y, v)

    g = f()
    assert (g is None) if not trainable else float(g) == 4.0


@WAYS
def test_a_variable_that_is_not_trained_can_be_watched(way):
    v = tf.Variable(2.0, trainable=False)

    @way
    def f():
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = v * v
        return tape.gradient(y, v)

    assert float(f()) == 4.0


@WAYS
def test_nothing_is_watched_unasked_without_watch_accessed_variables(way):
    a, b = tf.Variable(2.0), tf.Variable(3.0)

    @way
    def f():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(a)
            y = a * b
        return tape.gradient(y, [a, b])

    da, db = f()
    assert float(da) == 3.0
    assert db is None


@WAYS
def test_watch_takes_nests_and_is_for_one_tape(way):
    @way
    def f(x, y):
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            inner.watch({"x": x, "list": [y, (x,)]})
            z = x * y
        return inner.gradient(z, [x, y]), outer.gradient(z, x)

    (dx, dy), none = f(tf.constant(2.0), tf.constant(3.0))
    assert (float(dx), float(dy), none) == (3.0, 2.0, None)


@pytest.mark.parametrize("bad", [np.ones(2), 1.0, "x", None])
def test_watch_refuses_what_is_no_tensor(bad):
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=r"Passed in object .* not tf.Tensor"):
        tape.watch(bad)


@WAYS
def test_watching_integers_is_said_and_gives_no_gradient(way):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    with pytest.warns(UserWarning, match="must be floating"):
        assert f(tf.constant(3)) is None


@WAYS
def test_constants_that_nobody_watches_have_no_gradient(way):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            y = x * x
        return tape.gradient(y, x)

    assert f(tf.constant(3.0)) is None


@WAYS
def test_two_constants_with_equal_values_do_not_mix(way):
    @way
    def f():
        a, b = tf.constant(3.0), tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = a * a + 0.0 * b
        return tape.gradient(y, [a, b])

    da, db = f()
    assert (float(da), float(db)) == (6.0, 0.0)


def test_watched_variables_are_in_the_order_of_their_making_and_stay_readable():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = b * a
    watched = tape.watched_variables()
    assert isinstance(watched, tuple)
    assert watched[0] is a and watched[1] is b
    tape.gradient(y, a)
    assert len(tape.watched_variables()) == 2


@WAYS
def test_intermediate_results_can_be_watched_too(way):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tape.watch(y)
            z = y * y
        return tape.gradient(z, [x, y])

    dx, dy = f(tf.constant(2.0))
    assert (float(dx), float(dy)) == (32.0, 8.0)


@WAYS
@pytest.mark.parametrize(
    "op", [tf.identity, lambda x: x + 0, lambda x: x * 1], ids=["identity", "plus", "times"]
)
def test_ops_that_change_nothing_give_tensors_of_their_own(way, op):
    @way
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = op(x)
            z = x * 3.0 + y * 5.0
        return tape.gradient(z, x), tape.gradient(z, y), tape.gradient(y, x)

    assert [float(g) for g in f(tf.constant(2.0))] == [8.0, 5.0, 1.0]


@WAYS
def test_what_was_computed_before_watch_counts_nothing(way):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            before = x * x
            tape.watch(x)
            z = before * x
        return tape.gradient(z, x)

    assert float(f(tf.constant(3.0))) == 9.0
