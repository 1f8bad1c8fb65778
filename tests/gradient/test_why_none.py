"""`why_none` names the missing link, with the user's line where a path broke."""

from __future__ import annotations

import inspect
import re
import weakref

import numpy as np
import pytest

import graphad as tf
from graphad.gradient import notes


@pytest.fixture
def tape():
    return tf.GradientTape(persistent=True)


def line_of(text):
    """The line in this file, of the calling test, that contains the text."""
    frame = inspect.currentframe().f_back
    lines, first = inspect.getsourcelines(frame.f_code)
    (found,) = [first + i for i, line in enumerate(lines) if text in line and "line_of" not in line]
    return f"{__file__}:{found} in {frame.f_code.co_name}"


def test_dtypes(tape):
    x, n = tf.constant(2.0), tf.constant(2)
    with tape:
        tape.watch(x)
        y = x * 2.0
        k = tf.cast(y, tf.int32)
    assert tape.why_none(y, n) == "the source has dtype int32; only float and complex values have gradients."
    assert tape.why_none(k, x) == "the target has dtype int32; only float and complex values have gradients."


def test_what_is_not_watched(tape):
    x, v, frozen = tf.constant(2.0), tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    with tape:
        y = x * frozen
    assert (
        tape.why_none(y, x) == "the tape does not follow the source; call tape.watch on it before it is used."
    )
    assert "the tape did not see the variable read: nothing inside the `with` block did" in tape.why_none(
        y, v
    )
    assert "trainable=False; call tape.watch on it" in tape.why_none(y, frozen)


def test_a_target_from_outside(tape):
    x = tf.constant(2.0)
    early = x * x
    with tape:
        tape.watch(x)
    assert "the target was computed outside the tape" in tape.why_none(early, x)


def test_an_op_without_a_gradient_is_named_with_its_line(tape):
    x = tf.constant(2.5)
    with tape:
        tape.watch(x)
        y = x * 2.0
        z = tf.round(y)
        w = z * x * 0.0 + z
        only = z * 3.0
    assert tape.gradient(only, x) is None
    text = tape.why_none(only, x)
    assert text.startswith("the path breaks at round at ")
    assert line_of("tf.round(y)") in text
    assert tape.why_none(w, x).startswith("a path connects source and target")


def test_a_cast_to_integers_is_named(tape):
    x = tf.constant(2.5)
    with tape:
        tape.watch(x)
        k = tf.cast(x, tf.int32)
        y = tf.cast(k, tf.float32) * 2.0
    assert tape.gradient(y, x) is None
    text = tape.why_none(y, x)
    assert "the path breaks at cast" in text
    assert line_of("tf.cast(x, tf.int32)") in text


def test_a_stopped_gradient_is_named(tape):
    x = tf.constant(2.5)
    with tape:
        tape.watch(x)
        y = tf.stop_gradient(x * 2.0) * 3.0
    assert tape.gradient(y, x) is None
    text = tape.why_none(y, x)
    assert "the path breaks at stop_gradient" in text
    assert line_of("tf.stop_gradient(") in text


def test_an_assignment_is_named(tape):
    x, v = tf.constant(2.5), tf.Variable(1.0)
    with tape:
        tape.watch(x)
        v.assign(x * 2.0)
        y = v * 3.0
    assert tape.gradient(y, x) is None
    text = tape.why_none(y, x)
    assert "assign" in text
    assert line_of("v.assign(") in text


def test_a_path_cut_inside_a_function_is_traced_to_its_line(tape):
    @tf.function
    def f(x):
        return tf.floor(x * 2.0) + 1.0

    x = tf.constant(2.5)
    with tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x) is None
    text = tape.why_none(y, x)
    assert "the path breaks at floor" in text
    assert f"{__file__}:{f.python_function.__code__.co_firstlineno + 2} in f" in text


def test_unrelated_values(tape):
    x, z = tf.constant(2.0), tf.constant(3.0)
    with tape:
        tape.watch([x, z])
        y = x * 2.0
        w = z * 2.0
    assert tape.why_none(w, x) == "nothing that the tape recorded leads from the tensor to the target."
    assert tape.why_none(y, x).startswith("a path connects source and target")


def test_results_made_in_a_pause(tape):
    x = tf.constant(2.0)
    with tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
        z = y * 2.0
    assert "outside the tape, or while it was paused" in tape.why_none(z, x)


def test_other_objects_are_refused(tape):
    x = tf.constant(2.0)
    with tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match=r"why_none: 3.0 of type float is neither a Tensor nor a Variable"):
        tape.why_none(y, 3.0)


# -- reasons are true, or are not given ------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["gradient", "jacobian"])
def test_after_the_tape_is_used_up_the_reason_is_not_known(use):
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as used:
        used.watch(x)
        y = x * x
    getattr(used, use)(y, x)
    assert "no longer known: a gradient has used up the record of this tape" in used.why_none(y, x)


def _unwatched():
    x = tf.constant(2.0)
    return x, lambda: x * tf.Variable(3.0)


def _cut():
    x = tf.Variable(2.0)
    return x, lambda: tf.stop_gradient(x) * tf.Variable(3.0)


def _through_numpy():
    x = tf.Variable(2.0)
    return x, lambda: tf.constant((x * x).numpy()) * tf.Variable(3.0)


def _elsewhere():
    x = tf.Variable(2.0)
    y = x * x
    return x, lambda: y * tf.Variable(3.0)


def _assigned():
    x, state = tf.Variable(2.0), tf.Variable(0.0)

    def run():
        state.assign_add(x)
        return state * 2.0

    return x, run


@pytest.mark.parametrize("case", [_unwatched, _cut, _through_numpy, _elsewhere, _assigned])
def test_a_tape_that_gave_none_still_knows_why(case):
    x, run = case()
    with tf.GradientTape(persistent=True) as before:
        y = run()
    reason = before.why_none(y, x)
    with tf.GradientTape() as used:
        y = run()
    assert used.gradient(y, x) is None
    said = used.why_none(y, x)
    assert re.sub(r"test_why_none.py:\d+", "", said).startswith(
        re.sub(r"test_why_none.py:\d+", "", reason).rstrip(".")
    )
    assert "no longer known" not in said


def test_a_reason_that_is_kept_holds_no_values():
    x, z = tf.Variable(tf.ones([1000])), tf.Variable(tf.ones([1000]))
    with tf.GradientTape() as used:
        middle = tf.exp(x)
        y = tf.reduce_sum(tf.floor(z) + middle * tf.sin(middle))
    watched = weakref.ref(middle)
    assert used.gradient(y, [x, z])[1] is None
    del middle
    assert watched() is None
    small = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as other:
        y = tf.reduce_sum(tf.floor(small) + tf.exp(x[:2]))
    other.gradient(y, [x, small])
    assert "the path breaks at floor" in other.why_none(y, small)


def test_a_rule_that_gives_none_is_not_called_a_missing_path():
    @tf.custom_gradient
    def cut(x):
        return x * 2.0, lambda upstream: None

    x = tf.Variable(3.0)
    with tf.GradientTape() as used:
        y = cut(x)
    assert used.gradient(y, x) is None
    assert "unless a rule on the way gave none" in used.why_none(y, x)


def test_a_break_on_another_path_is_not_the_reason(tape):
    x, z = tf.constant(2.5), tf.constant(3.0)
    with tape:
        tape.watch([x, z])
        tf.round(x)
        y = z * 2.0
        unrelated = tf.floor(z) * 2.0
    assert tape.why_none(y, x) == "nothing that the tape recorded leads from the tensor to the target."
    assert "round" not in tape.why_none(unrelated, x)
    assert "the path breaks at floor" in tape.why_none(unrelated, z)


def test_the_first_break_of_several_is_named(tape):
    x = tf.constant(2.5)
    with tape:
        tape.watch(x)
        y = tf.floor(tf.cast(tf.round(x * 2.0), tf.float32) + 1.0)
        z = tf.cast(tf.cast(y, tf.int32), tf.float32)
    text = tape.why_none(z, x)
    assert "the path breaks at round" in text
    assert line_of("tf.round(x * 2.0)") in text


def test_a_break_beside_a_followed_value_is_found(tape):
    x, v = tf.constant([2.5] * 1000), tf.Variable([3.0] * 1000)
    with tape:
        tape.watch(x)
        y = v * tf.stop_gradient(x)
    assert "the path breaks at stop_gradient" in tape.why_none(y, x)


def test_variables_that_the_tape_was_told_not_to_follow():
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        y = v * v
    assert "watch_accessed_variables=False; call tape.watch on the variable" in tape.why_none(y, v)


def test_what_a_custom_gradient_does_not_take_is_named(tape):
    x, z = tf.constant(2.0), tf.constant(3.0)

    @tf.custom_gradient
    def f(a):
        return a * z, lambda upstream: upstream

    with tape:
        tape.watch([x, z])
        y = f(x)
    assert tape.gradient(y, z) is None
    assert "the path breaks at custom_gradient" in tape.why_none(y, z)


def leave_by_array(v):
    return tf.constant(np.array([v[0], v[1]]))


def leave_by_float(v):
    return tf.constant([float(v[0] * v[0]), 1.0])


def leave_by_numpy(v):
    return tf.constant(v.numpy())


def leave_by_item(v):
    return tf.constant([v[0].item(), v[1].item()])


def leave_by_list(v):
    return tf.constant((v * 2.0).tolist())


def leave_by_int(v):
    return tf.constant([float(int(v[0])), 1.0])


@pytest.mark.parametrize(
    ("leave", "way"),
    [
        (leave_by_array, "NumPy"),
        (leave_by_float, "float()"),
        (leave_by_numpy, "numpy()"),
        (leave_by_item, "item()"),
        (leave_by_list, "tolist()"),
        (leave_by_int, "int()"),
    ],
)
def test_where_a_path_left_for_python_is_named_with_its_line(tape, leave, way):
    v = tf.Variable([2.0, 3.0])
    with tape:
        y = leave(v) * 3.0
    with pytest.warns(UserWarning, match=f"left the tape by {re.escape(way)} at {__file__}:"):
        assert tape.gradient(y, v) is None
    text = tape.why_none(y, v)
    assert (
        f"left the tape by {way} at {__file__}:{leave.__code__.co_firstlineno + 1} in {leave.__name__}"
        in text
    )


def test_a_printed_number_is_not_the_reason_where_a_path_connects(tape):
    v = tf.Variable([2.0, 3.0])
    with tape:
        loss = tf.reduce_sum(v * v)
        print(float(loss))
    assert tape.why_none(loss, v).startswith("a path connects source and target")


def test_more_breaks_than_are_noted_are_admitted(tape):
    x = tf.constant(2.0)
    with tape:
        tape.watch(x)
        for _ in range(2_100):
            y = tf.round(x)
    assert "the reason is not known: more than 2000 ops" in tape.why_none(y, x)


def test_a_path_cut_in_every_branch_is_traced_to_its_line(tape):
    x = tf.constant(2.5)

    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: tf.round(x * 2.0), lambda: tf.floor(x))

    @tf.function
    def half(x):
        return tf.cond(x > 0.0, lambda: tf.round(x * 2.0), lambda: tf.sin(x))

    with tape:
        tape.watch(x)
        y, z = f(x), half(x)
    assert "the path breaks at round" in tape.why_none(y, x)
    assert tape.why_none(z, x).startswith("a path connects source and target")


def test_notes_end_at_their_limit_and_cost_nothing_more(monkeypatch):
    monkeypatch.setattr(notes, "MOST_NOTES", 5)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        for _ in range(20):
            float(y)
        assert len(tape.notes.exits) == 5 and tape.notes.is_full
        rounded = tf.round(y)
        for _ in range(3):
            rounded = tf.sign(rounded) + 1.0
        assert not tape.notes.after and not tape.notes.marks
        assert not tape._beyond  # ops on what is not followed are not even shown to the tape
    assert "left the tape by float" in tape.why_none(rounded, x)


def test_more_ops_without_a_derivative_than_are_noted_are_told_as_such(monkeypatch):
    monkeypatch.setattr(notes, "MOST_NOTES", 5)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        for _ in range(20):
            last = tf.cast(tf.cast(x, tf.int32), tf.float32)
    assert "more than 5 ops without a derivative were recorded" in tape.why_none(last, x)
