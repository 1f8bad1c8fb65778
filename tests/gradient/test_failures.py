"""What is left of a tape after a derivative failed: first it is computed, then the record is given up."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.gradient.registry import new_op
from graphad.ops.math.exponential import Exp
from tests.support.both import in_both


class Moody:
    """A function whose gradient raises while `angry`."""

    def __init__(self) -> None:
        self.angry = True

    def __call__(self, x):
        @tf.custom_gradient
        def f(x):
            def gradient(upstream):
                if self.angry:
                    raise ArithmeticError("not now")
                return 3.0 * upstream

            return x * 3.0, gradient

        return f(x)


USES = {
    "gradient": lambda tape, y, x: tape.gradient(y, x),
    "jacobian": lambda tape, y, x: tf.reduce_sum(tape.jacobian(y, x), [0, 1]),
    "batch_jacobian": lambda tape, y, x: tf.reduce_sum(tape.batch_jacobian(y, x), 1),
}


@in_both
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("use", USES)
def test_a_tape_can_be_asked_again_after_a_gradient_function_raised(run, use, persistent):
    f = Moody()

    def body(x):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = tf.exp(f(tf.sin(x)) * 0.5) * 2.0
        f.angry = True
        with pytest.raises(ArithmeticError, match="not now"):
            USES[use](tape, y, x)
        f.angry = False
        return USES[use](tape, y, x)

    x = np.array([[0.5, 2.0]], np.float32)
    want = 3.0 * np.cos(x) * np.exp(1.5 * np.sin(x))
    np.testing.assert_allclose(run(body, tf.constant(x)), want, rtol=1e-5)


@pytest.mark.parametrize("use", USES)
def test_a_tape_goes_on_recording_after_a_gradient_function_raised_inside_its_block(use):
    f = Moody()
    x = tf.constant([[2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        with pytest.raises(ArithmeticError):
            USES[use](tape, y, x)
        z = y * x
    f.angry = False
    np.testing.assert_array_equal(USES[use](tape, z, x), [[12.0]])
    assert (tf.constant(1.0) * 2.0).numpy() == 2.0


def test_a_tape_can_be_asked_again_after_a_registered_gradient_raised():
    op = new_op("moody_op", lambda x: x * 2.0)
    angry = [True]

    @tf.RegisterGradient("moody_op")
    def gradient(context, upstream):
        if angry[0]:
            raise ArithmeticError("not now")
        return 2.0 * upstream

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.square(op(x))
    with pytest.raises(ArithmeticError):
        tape.gradient(y, x)
    angry[0] = False
    assert tape.gradient(y, x).numpy() == 24.0
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        tape.gradient(y, x)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_record_that_an_interrupted_gradient_has_cost_is_missed_aloud(monkeypatch, error):
    def interrupted(self, ctx, g):
        raise error("in the middle")

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(tf.exp(x))
    monkeypatch.setattr(Exp, "vjp", interrupted)
    with pytest.raises(error):
        tape.gradient(y, x)
    for call in (tape.gradient, tape.jacobian):
        with pytest.raises(
            RuntimeError, match=r"an earlier gradient of this tape failed \(\w+: .*in the middle"
        ):
            call(y, x)
    assert "no longer known" in tape.why_none(y, x)


def test_a_persistent_tape_and_its_second_derivative_survive_an_error():
    f = Moody()
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x) * x * x
        with pytest.raises(ArithmeticError):
            inner.gradient(y, x)
        f.angry = False
        slope = inner.gradient(y, x)
    assert slope.numpy() == 36.0
    assert outer.gradient(slope, x).numpy() == 36.0


def test_a_context_that_a_rule_keeps_goes_on_showing_its_own_op():
    op = new_op("kept_context_op", lambda x, y: x * y)
    contexts = []

    @tf.RegisterGradient("kept_context_op")
    def gradient(context, upstream):
        contexts.append(context)
        return upstream * context.inputs[1], upstream * context.inputs[0]

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(op(op(tf.sin(x), tf.constant(5.0)), tf.constant(7.0)))
    tape.gradient(y, x)
    assert [float(context.inputs[1]) for context in contexts] == [7.0, 5.0]
    assert [context.op.name for context in contexts] == ["kept_context_op"] * 2
    np.testing.assert_allclose(
        [float(context.outputs[0]) for context in contexts], np.sin(2.0) * np.array([35.0, 5.0]), rtol=1e-6
    )
