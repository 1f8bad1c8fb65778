"""What tapes, Jacobians, forward mode and custom gradients are not given, or not asked for, and what they say of it."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.core.spec import TensorSpec
from graphad.errors import (
    ArgumentTypeError,
    DTypeError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
)
from graphad.gradient.reverse import pullback_of
from graphad.trace.tracer import trace_flat

X = tf.constant([1.0, 2.0])


def recorded(f):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = f(X)
    return tape, y


def test_there_is_a_need_for_each_input():
    graph = trace_flat(lambda x: [tf.sin(x)], [TensorSpec((2,), "float32")]).graph
    with pytest.raises(InternalError, match="2 needs for 1 inputs"):
        pullback_of(graph, [True, False], None)


def test_gradients_are_registered_by_name():
    with pytest.raises(ArgumentTypeError, match="RegisterGradient: op_type must be a string, got 3"):
        tf.RegisterGradient(3)


def test_a_gradient_function_with_variables_returns_two_things():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        def gradient(g, variables):
            return g * 2.0

        return x * v, gradient

    tape, y = recorded(f)
    with pytest.raises(ArgumentTypeError, match="takes `variables` and must return"):
        tape.gradient(y, X)


def test_forward_mode_of_a_record_runs_no_effect_twice():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        v.assign_add(1.0)
        return x * 2.0

    with pytest.raises(FailedPreconditionError, match="would run the effects of the called function twice"):
        tf.linearize(f, X)[1](tf.ones_like(X))


@pytest.mark.parametrize("primal", ["x", 1.0, np.ones(2, np.float32)])
def test_primals_are_tensors_or_variables(primal):
    with pytest.raises(InvalidArgumentError, match="is neither a Tensor nor a Variable"):
        tf.autodiff.ForwardAccumulator(primal, tf.ones(2))


def test_an_accumulator_is_entered_once():
    accumulator = tf.autodiff.ForwardAccumulator(X, tf.ones_like(X))
    with accumulator, pytest.raises(InvalidArgumentError, match="it is already recording"):
        accumulator.__enter__()
    with accumulator:  # after its block it may be
        y = tf.square(X)
    np.testing.assert_array_equal(accumulator.jvp(y), 2.0 * X)


def test_sources_and_targets_of_jacobians_are_tensors():
    tape, y = recorded(tf.sin)
    with pytest.raises(ArgumentTypeError, match=r"tape\.jacobian: source 'x' of type str"):
        tape.jacobian(y, "x")
    with pytest.raises(
        ArgumentTypeError, match=r"tape\.batch_jacobian: target must be a single Tensor, got list"
    ):
        tape.batch_jacobian([y], X)
    with pytest.raises(
        ArgumentTypeError, match=r"tape\.batch_jacobian: source must be a single Tensor, got list"
    ):
        tape.batch_jacobian(y, [X])


def test_upstream_gradients_fit_their_targets():
    tape, y = recorded(tf.sin)
    with pytest.raises(InvalidArgumentError, match=r"output_gradients\[0\] is None"):
        tape.gradient([y], X, output_gradients=[None])
    with pytest.raises(DTypeError, match="output_gradients do not fit their target"):
        tape.gradient([y], X, output_gradients=[tf.ones(2, tf.float64)])
    with pytest.raises(InvalidArgumentError, match="2 output_gradients for 1 targets"):
        tape.gradient([y], X, output_gradients=[X, X])


def test_a_host_function_gives_what_it_promises():
    with pytest.raises(ArgumentTypeError, match="func returned None where Tout names float32"):
        tf.numpy_function(lambda x: [x, None], [X], [tf.float32, tf.float32])


def test_upstream_gradients_of_integers_are_refused_in_a_graph():
    @tf.function
    def f(x):
        return tf.gradients([tf.cast(x, tf.int32)], [x], grad_ys=[tf.ones(2, tf.int32)])

    with pytest.raises(DTypeError, match="belongs to a tensor of dtype int32, which has no gradient"):
        f(X)
