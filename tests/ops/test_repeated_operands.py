"""Cotangents of operands that were repeated along each other's axes, in any order of these: sums without an array of products."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.ops.repeated import _by_matrix

RNG = np.random.default_rng(3)
SIZES = (2, 3, 4, 5)
OWNERS = [owners for owners in itertools.product("ab", repeat=4) if len(set(owners)) == 2]


def _operands(owners: Any) -> list[np.ndarray]:
    """One array for each owner, of size 1 along the axes of the other."""
    return [
        RNG.uniform(0.5, 2, [n if owner == mine else 1 for n, owner in zip(SIZES, owners, strict=True)])
        for mine in "ab"
    ]


@pytest.mark.parametrize("owners", OWNERS, ids="".join)
def test_gradients_are_sums_over_the_axes_of_the_other(owners: tuple[str, ...]) -> None:
    a, b = _operands(owners)
    g = RNG.normal(size=SIZES)
    axes = [tuple(k for k, owner in enumerate(owners) if owner != mine) for mine in "ab"]
    for op, slopes in (("mul", (b, a)), ("div", (1 / b, -a / b**2))):
        function = {"mul": tf.multiply, "div": tf.divide}[op]
        x, y = tf.constant(a), tf.constant(b)
        with tf.GradientTape() as outer:
            outer.watch([x, y])
            with tf.GradientTape() as tape:
                tape.watch([x, y])
                z = function(x, y)
            bars = tape.gradient(z, [x, y], output_gradients=tf.constant(g))
            total = tf.reduce_sum(bars[0] * bars[0]) + tf.reduce_sum(bars[1] ** 2)
        seconds = outer.gradient(total, [x, y])
        for bar, slope, axis in zip(bars, slopes, axes, strict=True):
            np.testing.assert_allclose(bar, np.sum(g * slope, axis, keepdims=True), rtol=1e-12, atol=1e-12)

        def value(a: Any, b: Any) -> Any:
            first, second = (g / b, -g * a / b**2) if op == "div" else (g * b, g * a)  # noqa: B023
            return sum(np.sum(np.sum(p, k) ** 2) for p, k in zip((first, second), axes, strict=True))

        step = 1e-6
        for second, at in zip(seconds, (a, b), strict=True):
            direction = RNG.normal(size=at.shape)
            ends = [
                value(*((at + s * step * direction, b) if at is a else (a, at + s * step * direction)))
                for s in (1, -1)
            ]
            want = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(np.sum(np.asarray(second) * direction), want, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_a_kronecker_product_is_the_sum_of_its_blocks() -> None:
    a, b = tf.constant(RNG.normal(size=(6, 7))), tf.constant(RNG.normal(size=(5, 4)))
    g = RNG.normal(size=(30, 28))
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = gnp.kron(a, b)
    a_bar, b_bar = tape.gradient(y, [a, b], output_gradients=tf.constant(g))
    G = g.reshape(6, 5, 7, 4)
    np.testing.assert_allclose(a_bar, np.einsum("ipjq,pq->ij", G, b.numpy()), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b_bar, np.einsum("ipjq,ij->pq", G, a.numpy()), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("owners", OWNERS, ids="".join)
def test_such_sums_are_products_with_a_matrix(owners: tuple[str, ...]) -> None:
    a, b = map(tf.constant, _operands(owners))
    g = tf.constant(RNG.normal(size=SIZES))
    assert _by_matrix(g, b, a.dims) is not None
    assert _by_matrix(g, a, a.dims) is None
    assert _by_matrix(g, g, a.dims) is None
