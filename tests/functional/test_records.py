"""Objects that stand for the values in their fields are differentiated, pushed forward and batched as the nests that they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.composites import flatten_records


@dataclasses.dataclass
class Params:
    """Two tensors, and a number that belongs to the form."""

    w: Any
    bias: Any
    n: int = 2


def _params() -> Params:
    return Params(tf.constant([1.0, 2.0]), {"b": tf.constant(3.0)}, 3)


def _loss(p: Params) -> Any:
    assert p.n == 3
    return tf.reduce_sum(p.w**p.n) * p.bias["b"]


def test_the_gradient_with_respect_to_a_dataclass_is_one() -> None:
    found = tf.grad(_loss)(_params())
    assert type(found) is Params
    assert found.n == 3
    np.testing.assert_allclose(found.w, [9.0, 36.0])
    np.testing.assert_allclose(found.bias["b"], 9.0)
    value, same = tf.value_and_grad(_loss)(_params())
    np.testing.assert_allclose(value, 27.0)
    np.testing.assert_array_equal(same.w, found.w)


def test_grad_gives_what_a_tape_gives_for_a_dataclass_among_other_arguments() -> None:
    x, p = tf.constant([2.0, 5.0]), _params()

    def f(x: Any, p: Params) -> Any:
        return tf.reduce_sum(x * p.w) + _loss(p)

    by_x, by_p = tf.grad(f, argnums=(0, 1))(x, p)
    with tf.GradientTape() as tape:
        tape.watch([x, p])
        y = f(x, p)
    want = tape.gradient(y, [x, p])
    np.testing.assert_array_equal(by_x, want[0])
    np.testing.assert_array_equal(by_p.w, want[1].w)
    np.testing.assert_array_equal(by_p.bias["b"], want[1].bias["b"])
    traced = tf.function(lambda x: tf.grad(f, argnums=1)(x, p))(x)
    np.testing.assert_array_equal(traced.w, by_p.w)


def test_jacobians_jvp_and_vjp_of_dataclasses() -> None:
    p = Params(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))

    def f(p: Params) -> Params:
        return Params(p.w * p.bias, p.w + 0.0 * p.bias, p.n)

    rows = tf.jacrev(f)(p)
    np.testing.assert_allclose(rows.w.w, np.diag([3.0, 4.0]))
    np.testing.assert_allclose(rows.w.bias, np.diag([1.0, 2.0]))
    np.testing.assert_allclose(rows.bias.w, np.eye(2))
    ones = Params(tf.ones(2), tf.ones(2))
    y, y_dot = tf.jvp(f, (p,), (ones,))
    np.testing.assert_allclose(y.w, [3.0, 8.0])
    np.testing.assert_allclose(y_dot.w, [4.0, 6.0])
    _, pullback = tf.vjp(f, p)
    (p_bar,) = pullback(ones)
    np.testing.assert_allclose(p_bar.w, [4.0, 5.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="tangents hold 1 tensors, the primals 2"):
        tf.jvp(f, (p,), (Params(tf.ones(2), 1.0),))


def test_vmap_takes_and_gives_dataclasses() -> None:
    p = Params(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([5.0, 6.0]))
    found = tf.vmap(lambda p: Params(tf.reduce_sum(p.w) * p.bias, p.w, p.n))(p)
    np.testing.assert_allclose(found.w, [15.0, 42.0])
    np.testing.assert_allclose(found.bias, p.w)
    half = tf.vmap(lambda p, x: p.w + x, in_axes=(None, 0))(Params(tf.ones(2), 0.0), tf.ones([3, 2]))
    np.testing.assert_allclose(half, np.full((3, 2), 2.0))


def test_minimize_takes_a_dataclass_as_its_starting_point() -> None:
    pytest.importorskip("scipy")
    start = Params(tf.constant([1.0, 2.0], tf.float64), tf.constant(0.0, tf.float64))
    found = tf.optimize.minimize(lambda p: tf.reduce_sum((p.w - p.n) ** 2) + (p.bias - 1.0) ** 2, start)
    np.testing.assert_allclose(found.x.w, [2.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(found.x.bias, 1.0, atol=1e-5)


def test_a_dataclass_of_numbers_alone_is_refused_with_the_reason() -> None:
    with pytest.raises(
        TypeError, match=r"grad: argument 0 is Params\(.*which holds no tensor; .* make those tensors"
    ):
        tf.grad(lambda p: p.w * p.bias)(Params(1.0, 2.0))


def test_a_flat_list_of_plain_values_is_its_own_leaves_and_a_record_in_it_is_opened() -> None:
    x, v = tf.constant(1.0), tf.Variable(2.0)
    for nest in ([x, v, 1.5], (x, None, "name")):
        leaves, rebuild = flatten_records(nest)
        assert len(leaves) == 3
        assert all(a is b for a, b in zip(leaves, nest, strict=True))
        again = rebuild([1, 2, 3])
        assert again == type(nest)([1, 2, 3])
    assert len(flatten_records([x, Params(x, v)])[0]) == 3
    assert len(flatten_records([x, [v, x]])[0]) == 3
