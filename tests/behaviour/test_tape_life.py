"""The life of a tape as users of TensorFlow rely on it: entered, used up, paused, reset, entered again."""

import warnings

import numpy as np
import pytest

import graphad as tf

USED_UP = "A non-persistent GradientTape can only"


def recorded(persistent=False):
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = x * x
    return tape, x, y


@pytest.mark.parametrize("first", ["gradient", "jacobian", "batch_jacobian"])
@pytest.mark.parametrize("second", ["gradient", "jacobian", "batch_jacobian"])
def test_a_tape_answers_once(first, second):
    tape, x, y = recorded()
    getattr(tape, first)(y, x)
    with pytest.raises(RuntimeError, match=USED_UP):
        getattr(tape, second)(y, x)


def test_a_used_tape_says_so_before_it_looks_at_arguments():
    tape, x, y = recorded()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=USED_UP):
        tape.batch_jacobian(y, [x])
    with pytest.raises(RuntimeError, match=USED_UP):
        tape.gradient(None, x)


def test_a_gradient_within_the_block_uses_the_tape_up():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        g = tape.gradient(y, x)
        z = x * 5.0
    assert float(g) == 6.0
    with pytest.raises(RuntimeError, match=USED_UP):
        tape.gradient(z, x)


def test_a_persistent_tape_records_gradients_taken_within_its_block_and_warns():
    x = tf.Variable(3.0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with tf.GradientTape(persistent=True) as tape:
            y = x * x * x
            g = tape.gradient(y, x)
        assert float(tape.gradient(g, x)) == 18.0
    texts = [str(w.message) for w in said]
    assert sum("on a persistent tape inside its context" in text for text in texts) <= 1


def test_an_active_tape_cannot_be_entered_again():
    tape = tf.GradientTape()
    with tape, pytest.raises(ValueError, match="Tape is still recording"), tape:
        pass


def test_a_tape_that_is_entered_again_goes_on_with_its_record():
    x = tf.Variable(2.0)
    tape = tf.GradientTape()
    with tape:
        y = x * x
    with tape:
        z = y * x
    assert float(tape.gradient(z, x)) == 12.0


def test_reset_empties_the_record_and_what_is_watched():
    v, x = tf.Variable(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        before = v * x
        tape.reset()
        assert tape.watched_variables() == ()
        after = v * x
    assert tape.gradient(before, v) is None
    assert float(tape.gradient(after, v)) == 3.0
    assert tape.gradient(after, x) is None


def test_reset_outside_of_the_block_is_refused():
    tape = tf.GradientTape()
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape.reset()
    with tape:
        pass
    with pytest.raises(ValueError, match="Tape is not recording"):
        tape.reset()


def test_stop_recording_outside_of_the_block_is_refused():
    tape = tf.GradientTape()
    with pytest.raises(RuntimeError, match="which is not recording"), tape.stop_recording():
        pass


def test_only_the_tape_itself_pauses():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner, inner.stop_recording():
        y = x * x
    assert inner.gradient(y, x) is None
    assert float(outer.gradient(y, x)) == 4.0


def test_what_was_recorded_before_a_pause_is_kept_and_its_results_are_constants():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            paused = x * 3.0
        z = y * paused
    assert float(tape.gradient(z, x)) == 24.0


def test_a_pause_ends_with_an_exception():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError("x")
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0


def test_variables_read_in_a_pause_are_not_watched():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape, tape.stop_recording():
        _ = x * 1.0
    assert tape.watched_variables() == ()


def test_a_gradient_taken_in_a_pause_is_not_recorded():
    x = tf.Variable(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
            with tape.stop_recording():
                g = tape.gradient(y, x)
    assert float(g) == 4.0
    assert tape.gradient(g, x) is None


def test_a_persistent_tape_gives_the_same_answers_again():
    tape, x, y = recorded(persistent=True)
    first = tape.gradient(y, [x, x])
    again = tape.gradient(y, x)
    for g in first:
        np.testing.assert_array_equal(g, again)


def test_an_exception_takes_the_tape_off():
    x = tf.Variable(2.0)
    with pytest.raises(KeyError), tf.GradientTape() as broken:
        _ = x * 2.0
        raise KeyError("x")
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0
    assert broken.gradient(y, x) is None


def test_the_same_holds_for_tapes_within_functions():
    x = tf.Variable(2.0)

    @tf.function
    def f():
        with tf.GradientTape(persistent=True) as tape:
            y = x * x
            with tape.stop_recording():
                paused = x * 3.0
        z = tape.gradient(y, x)
        with pytest.raises(ValueError, match="Tape is not recording"):
            tape.reset()
        return z, tape.gradient(paused, x)

    g, none = f()
    assert float(g) == 4.0
    assert none is None


@pytest.mark.parametrize("second", ["gradient", "jacobian"])
def test_a_tape_in_a_function_answers_once(second):
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.gradient(y, x)
        return getattr(tape, second)(y, x)

    with pytest.raises(RuntimeError, match=USED_UP):
        f(tf.constant(2.0))
