"""`check_gradients` passes right derivatives, and names the element of wrong ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import graphad as tf
from graphad.debugging import check_gradients
from graphad.errors import GradientMismatchError


def wrong_at(k, by=0.1):
    """The sum of squares, whose derivative by element k is off."""

    @tf.custom_gradient
    def squares(x):
        slopes = 2.0 * x + by * tf.one_hot(k, 3, dtype=x.dtype)
        return tf.reduce_sum(x * x), lambda g: g * slopes

    return squares


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "f",
    [
        tf.tanh,
        tf.math.lgamma,
        tf.math.log,
        lambda x: tf.nn.softmax(x) * tf.reduce_sum(x),
        tf.function(lambda x: tf.reduce_prod(x)),
        lambda x: {"a": x[0] * x[1], "b": [tf.sin(x), 3, "text"]},
    ],
)
def test_right_derivatives_pass(f, order, dtype):
    found = check_gradients(f, order)(tf.constant([0.6, 1.2, 2.0], dtype))
    assert found.compared > 0 and found.kinks == found.unsure == []
    assert found.modes == ("reverse", "forward")
    assert found.largest_error < (1e-7 if dtype is tf.float64 else 2e-3)
    assert str(found).startswith(f"{found.compared} derivatives agree")


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32])
@pytest.mark.parametrize("k", [0, 2])
def test_the_element_that_is_off_is_named(k, dtype):
    f = wrong_at(k)

    def loss(y, x):
        return tf.stack([y, f(x) + y])

    with pytest.raises(GradientMismatchError) as raised:
        check_gradients(loss)(tf.constant(1.0, dtype), tf.constant([1.0, 2.0, 3.0], dtype))
    said = str(raised.value)
    assert "of loss differ from differences" in said and f"d result[1] / d x[{k}] is " in said
    assert {m.argument for m in raised.value.mismatches} == {f"x[{k}]"}
    assert {m.result for m in raised.value.mismatches} == {"result[1]"}
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, AssertionError)


def test_small_errors_are_found_in_float64_and_allowed_by_rtol():
    x = tf.constant([1.0, 2.0, 3.0], tf.float64)
    with pytest.raises(GradientMismatchError):
        check_gradients(wrong_at(1, 1e-4))(x)
    check_gradients(wrong_at(1, 1e-4), rtol=1e-3)(x)


def test_second_derivatives_are_checked():
    @tf.custom_gradient
    def cube(x):
        @tf.custom_gradient
        def slope(x):
            return 3.0 * x * x, lambda g: g * 5.0 * x

        return x * x * x, lambda g: g * slope(x)

    x = tf.constant([1.0, 2.0], tf.float64)
    check_gradients(cube)(x)
    with pytest.raises(GradientMismatchError, match="of the gradient of cube"):
        check_gradients(cube, order=2)(x)


def test_a_cut_path_is_found():
    with pytest.raises(
        GradientMismatchError, match=r"d result / d x is 2 \(reverse mode\), differences give 4"
    ):
        check_gradients(lambda x: tf.stop_gradient(x) * x)(2.0)


def test_at_a_kink_any_slope_between_passes_and_others_do_not():
    found = check_gradients(tf.nn.relu)(tf.constant([0.0, 1.0, 0.01, -2.0]))
    assert found.kinks == ["features[0]"]

    @tf.custom_gradient
    def steep(x):
        return tf.nn.relu(x), lambda g: g * 1.5

    with pytest.raises(GradientMismatchError):
        check_gradients(steep)(tf.constant([0.0]))


def test_edges_of_the_domain_are_not_compared():
    found = check_gradients(tf.math.log)(tf.constant([0.0, 1.0, 1e-4], tf.float64))
    assert found.unsure == ["result[0]"]
    assert found.compared == 2 * 6  # rows 1 and 2 by all of x, in both modes


def test_variables_and_records_are_arguments_and_keep_their_values():
    @dataclasses.dataclass(frozen=True)
    class Pair:
        a: object
        b: object

    v = tf.Variable([1.0, 2.0])
    pair = Pair(tf.constant([0.5, 1.5]), 3)
    found = check_gradients(lambda v, p: tf.reduce_sum(v * p.a) ** 2 * float(p.b))(v, pair)
    assert found.compared == 2 * 4
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])


def test_one_tensor_given_twice_is_two_arguments():
    x = tf.constant([1.0, 2.0], tf.float64)
    assert check_gradients(lambda a, b: a * a * b)(x, x).compared == 2 * 8


def test_large_arguments_are_sampled():
    found = check_gradients(tf.sin, elements=5)(tf.random.normal([40, 50], dtype=tf.float64))
    assert found.compared == 2 * 25


@pytest.mark.parametrize(
    "f, args, said",
    [
        (tf.sin, (3,), "no argument is a real tensor"),
        (tf.shape, (tf.ones([3]),), "shape gives no real tensor"),
        (lambda x: tf.random.normal([2]) * x, (1.0,), "gives other numbers for the same arguments"),
    ],
)
def test_what_cannot_be_compared_is_refused(f, args, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"check_gradients: .*{said}"):
        check_gradients(f)(*args)


def test_wrong_uses_are_refused():
    with pytest.raises(ValueError, match="has no value yet; call it outside of functions"):
        tf.function(lambda x: check_gradients(tf.sin)(x) and x)(tf.ones([2]))
    with pytest.raises(TypeError, match="check_gradients: 3 cannot be called"):
        check_gradients(3)
    with pytest.raises(ValueError, match="the order is 0; it is 1 or 2"):
        check_gradients(tf.sin, order=0)
