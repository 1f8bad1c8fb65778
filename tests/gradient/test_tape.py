"""The life of a tape: used once, paused, reset, entered again, and what its errors say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphad as tf
from graphad.gradient.backward import backward
from graphad.gradient.transforms import TRANSFORMS
from tests.support.both import in_both

USED = "A non-persistent GradientTape can only be used to compute one set of gradients"


def used_tape():
    x = tf.constant([[3.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    return tape, x, y


@pytest.mark.parametrize("method", ["gradient", "jacobian"])
def test_a_tape_that_is_not_persistent_serves_once(method):
    tape, x, y = used_tape()
    with pytest.raises(RuntimeError, match=USED):
        getattr(tape, method)(y, x)


def test_a_used_tape_refuses_a_batch_jacobian():
    tape, x, y = used_tape()
    with pytest.raises(RuntimeError, match=r"A non-persistent GradientTape can only"):
        tape.batch_jacobian(y, x)


def test_jacobians_use_the_tape_up_too():
    x = tf.constant([[3.0]])
    for method in ("jacobian", "batch_jacobian"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        np.testing.assert_array_equal(np.ravel(getattr(tape, method)(y, x)), [6.0])
        with pytest.raises(RuntimeError, match=r"non-persistent"):
            tape.gradient(y, x)


@pytest.mark.parametrize(("target", "sources"), [(None, [3.0]), ([1.0], [None]), ("no", object())])
def test_reuse_is_noticed_before_bad_arguments(target, sources):
    tape, _, _ = used_tape()
    with pytest.raises(RuntimeError, match=USED):
        tape.gradient(target, sources)
    with pytest.raises(RuntimeError, match=r"A non-persistent GradientTape can only"):
        tape.batch_jacobian(target, sources)


def test_a_tape_that_was_never_entered_is_refused():
    x = tf.constant(1.0)
    with pytest.raises(RuntimeError, match=r"A non-persistent GradientTape can only"):
        tf.GradientTape().gradient(x, x)


@in_both
def test_a_gradient_inside_the_block_ends_recording(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            g = tape.gradient(y, x)
            z = y * x
            with pytest.raises(RuntimeError, match=USED):
                tape.gradient(z, x)
        with pytest.raises(RuntimeError, match=USED):
            tape.gradient(z, x)
        return g

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_a_persistent_tape_records_its_own_gradients_and_warns_once(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x**3
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                g = tape.gradient(y, x)
                h = tape.gradient(g, x)
                i = tape.gradient(h, x)
        messages = [str(w.message) for w in caught]
        assert len(messages) == 1
        assert (
            "Calling GradientTape.gradient on a persistent tape inside its context is significantly less"
            in messages[0]
        )
        return g, h, i

    assert [float(v) for v in run(body, tf.constant(2.0))] == [12.0, 12.0, 6.0]


@in_both
def test_an_active_tape_cannot_be_entered_again(run):
    def body(x):
        with tf.GradientTape() as tape:
            with pytest.raises(
                ValueError, match=r"Tape is still recording, This can happen if you try to re-enter"
            ):
                with tape:
                    pass
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_recording_resumes_when_a_tape_is_entered_again(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        unseen = y * 2.0
        with tape:
            z = y * x
        assert unseen is not None
        return tape.gradient(z, x)

    assert run(body, tf.constant(2.0)).numpy() == 12.0


@in_both
def test_ops_between_two_blocks_are_not_seen(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        between = y * 2.0
        with tape:
            z = between * x
        return tape.gradient(z, x)

    assert run(body, tf.constant(2.0)).numpy() == 8.0


@in_both
def test_reset_empties_record_and_watch_list(run):
    v = tf.Variable(2.0)
    w = tf.Variable(5.0)

    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            early = x * v * w
            tape.reset()
            assert tape.watched_variables() == ()
            late = x * v
        assert [u.ref() for u in tape.watched_variables()] == [v.ref()]
        assert tape.gradient(early, v) is None
        assert tape.gradient(late, x) is None
        return tape.gradient(late, v)

    assert run(body, tf.constant(3.0)).numpy() == 3.0


def test_a_tensor_watched_again_after_reset_counts():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.reset()
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_reset_outside_the_block_is_refused():
    tape = tf.GradientTape()
    with pytest.raises(ValueError, match=r"Tape is not recording"):
        tape.reset()
    with tape:
        pass
    with pytest.raises(ValueError, match=r"Tape is not recording"):
        tape.reset()


def test_stop_recording_before_the_block_is_refused():
    with pytest.raises(RuntimeError, match=r"Trying to stop recording a tape which is not recording"):
        with tf.GradientTape().stop_recording():
            pass


def test_stop_recording_of_a_tape_that_has_stopped_is_refused():
    with pytest.raises(RuntimeError, match=r"^Trying to stop recording a tape which is not recording\."):
        with used_tape()[0].stop_recording():
            pass
    with tf.GradientTape() as left:
        pass
    with pytest.raises(ValueError, match=r"^Tape is not recording\."):
        with left.stop_recording():
            pass
    with tf.GradientTape() as tape, tape.stop_recording():
        with pytest.raises(ValueError, match=r"^Tape is not recording\."):
            with tape.stop_recording():
                pass


@in_both
def test_only_the_tape_that_stops_recording_pauses(run):
    def body(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                with inner.stop_recording():
                    y = x * x
        assert inner.gradient(y, x) is None
        return outer.gradient(y, x)

    assert run(body, tf.constant(2.0)).numpy() == 4.0


@in_both
def test_results_of_a_pause_are_constants_and_the_earlier_record_is_kept(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = x * x
            with tape.stop_recording():
                b = x * x
            y = a * b
        return tape.gradient(y, x)

    assert run(body, tf.constant(3.0)).numpy() == 54.0


@in_both
def test_recording_goes_on_after_an_exception_in_a_pause(run):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with pytest.raises(KeyError):
                with tape.stop_recording():
                    raise KeyError("stop")
            y = x * x
        return tape.gradient(y, x)

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_variables_read_in_a_pause_are_not_watched(run):
    v = tf.Variable(2.0)

    def body():
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                y = v * v
        assert tape.watched_variables() == ()
        return y

    assert run(body).numpy() == 4.0


@in_both
def test_a_gradient_in_a_pause_is_not_recorded_and_warns_of_nothing(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x**3
            with tape.stop_recording(), warnings.catch_warnings():
                warnings.simplefilter("error")
                g = tape.gradient(y, x)
        assert tape.gradient(g, x) is None
        return g

    assert run(body, tf.constant(2.0)).numpy() == 12.0


@in_both
def test_gradients_of_a_persistent_tape_are_independent(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = y * y
        return (
            tape.gradient(z, x),
            tape.gradient(z, x),
            tape.gradient(y, x),
            tape.gradient(z, [x, x]),
            tape.gradient(z, y),
        )

    first, again, of_y, twice, by_y = run(body, tf.constant(3.0))
    assert (float(first), float(again), float(of_y), float(by_y)) == (108.0, 108.0, 6.0, 18.0)
    assert [float(g) for g in twice] == [108.0, 108.0]


@in_both
def test_a_tape_left_by_an_exception_is_gone(run):
    def body(x):
        with pytest.raises(KeyError):
            with tf.GradientTape() as broken:
                broken.watch(x)
                raise KeyError("stop")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert not broken.entries
        return tape.gradient(y, x)

    assert run(body, tf.constant(3.0)).numpy() == 6.0


@in_both
def test_tapes_may_overlap_without_nesting(run):
    def body(x):
        a, b = tf.GradientTape(), tf.GradientTape()
        a.__enter__()
        a.watch(x)
        y = x * x
        b.__enter__()
        b.watch(y)
        z = y * x
        a.__exit__(None, None, None)
        w = z * y
        b.__exit__(None, None, None)
        assert b.gradient(w, x) is None
        return a.gradient(z, x)

    assert run(body, tf.constant(2.0)).numpy() == 12.0


@in_both
def test_an_overlapping_tape_goes_on_after_the_other_was_left(run):
    def body(x):
        a, b = tf.GradientTape(), tf.GradientTape()
        with a:
            a.watch(x)
            y = x * x
            b.__enter__()
            b.watch(y)
            z = y * x
        w = z * y
        b.__exit__(None, None, None)
        v = w * y
        assert a.gradient(v, x) is None
        return b.gradient(w, y)

    assert run(body, tf.constant(2.0)).numpy() == 16.0


@in_both
def test_derivatives_of_any_order_from_nested_tapes(run):
    def body(x):
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = x**5
                g = first.gradient(y, x)
            h = second.gradient(g, x)
        return g, h, third.gradient(h, x)

    assert [float(v) for v in run(body, tf.constant(2.0))] == [80.0, 160.0, 240.0]


@in_both
def test_iterated_gradients_from_one_persistent_tape(run):
    def body(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x**4
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for _ in range(3):
                    y = tape.gradient(y, x)
        return y

    assert run(body, tf.constant(2.0)).numpy() == 48.0


@pytest.mark.parametrize("persistent", [False, True])
def test_a_pause_inside_of_a_row_ends_on_the_tape(persistent):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)

        def row(r):
            with tape.stop_recording():
                paused = 2.0 * r
            return r * r + paused

        y = tf.vectorized_map(row, x)
        z = 3.0 * x
    np.testing.assert_array_equal(tape.gradient([y, z], x), 2.0 * x + 3.0)


def test_masked_marks_are_marks_of_what_is_followed():
    x = tf.constant([1.0, -1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        tf.where(x > 0, x - 1.0, 0.0)
    minus, select = tape.entries
    bars = {select[4][0]: tf.ones([2])}
    masked = set()
    backward([minus, select], bars, {minus[3][0]}, TRANSFORMS, masked=masked)
    assert masked == {
        minus[3][0],
        minus[4][0],
    }  # and not the None of a constant, which every other constant has
