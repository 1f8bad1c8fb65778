"""Constants of a function with equal numbers are values apart for `gradients`, and one value in its graph."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


def test_each_of_equal_constants_has_its_own_gradient() -> None:
    @tf.function
    def slopes() -> list[tf.Tensor]:
        a, b = tf.constant(1.0), tf.constant(1.0)
        return tf.gradients(3.0 * a * b + b, [a, b])

    assert [g.numpy() for g in slopes()] == [3, 4]
    graph = slopes.get_concrete_function().graph
    assert len({(x.dtype.str, x.tobytes()) for x in graph.constants}) == len(graph.constants)


def test_numbers_of_rules_do_not_count_as_an_equal_source() -> None:
    @tf.function
    def slopes(y: tf.Tensor) -> list[tf.Tensor]:
        x = tf.constant(0.0, tf.float64)
        return tf.gradients(tf.math.xlog1py(x, y), [x, y])

    assert [g.numpy() for g in slopes(tf.constant(3.1, tf.float64))] == [0, 0]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_stopped_constant_stops_no_equal_one(stopped: bool) -> None:
    @tf.function
    def slope() -> tf.Tensor:
        x, y = tf.constant(2.0), tf.constant(2.0)
        return tf.gradients(x * y, x, stop_gradients=[y] if stopped else None)[0]

    assert slope().numpy() == 2


def test_second_derivatives_by_a_constant_that_is_an_exponent_too() -> None:
    @tf.function
    def second() -> tf.Tensor:
        x = tf.constant(3.0)
        return tf.hessians(x**3.0 + 3.0 * x, [x])[0]

    assert np.isclose(second().numpy(), 18)
