"""`==` and `!=` in functions whose shapes only a call knows: of shapes that do not broadcast a scalar, as in eager code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

SPECS = {
    "sizes": [tf.TensorSpec([None, None], tf.int32)] * 2,
    "one size": [tf.TensorSpec([None, 3], tf.int32), tf.TensorSpec([2, None], tf.int32)],
    "ranks": [tf.TensorSpec(None, tf.int32)] * 2,
    "nothing": None,
}
SHAPES = [((2, 3), (2, 3)), ((2, 3), (2, 4)), ((1, 3), (2, 3)), ((2, 3), (2, 1)), ((4, 3), (2, 2))]


@pytest.mark.parametrize("jit", [None, False, True])
@pytest.mark.parametrize("name", SPECS)
def test_results_are_those_of_eager_code(name: str, jit: bool | None) -> None:
    def f(x: Any, y: Any) -> Any:
        return x == y, x != y, tf.cast(x == y, tf.float32) * 2

    compiled = tf.function(f, input_signature=SPECS[name], jit_compile=jit)
    for a, b in SHAPES * 2:
        given = [tf.constant(np.arange(np.prod(shape)).reshape(shape) % 4, tf.int32) for shape in (a, b)]
        if name == "one size" and (a[1] != 3 or b[0] != 2):
            continue
        for found, want in zip(compiled(*given), f(*given), strict=True):
            assert found.shape == want.shape and found.dtype == want.dtype
            np.testing.assert_array_equal(found.numpy(), want.numpy())


def test_the_function_refuses_what_it_has_refused() -> None:
    f = tf.function(lambda x, y: tf.equal(x, y), input_signature=SPECS["sizes"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not broadcast together"):
        f(tf.zeros([2, 3], tf.int32), tf.zeros([2, 4], tf.int32))


def test_rank_and_known_sizes_are_those_to_which_operands_broadcast() -> None:
    shapes = []

    @tf.function(input_signature=SPECS["one size"])
    def f(x: Any, y: Any) -> Any:
        shapes.append((x == y).shape.as_list())
        return tf.reduce_mean(tf.cast(x == y, tf.float32), 0)

    found = f(tf.ones([2, 3], tf.int32), tf.ones([2, 3], tf.int32))
    assert shapes == [[2, 3]] and found.shape == [3]


def test_of_sizes_that_the_run_finds() -> None:
    def f(x: Any, p: Any, q: Any) -> Any:
        return tf.boolean_mask(x, p) == tf.boolean_mask(x, q), tf.boolean_mask(x, p) == x[0]

    compiled = tf.function(f, jit_compile=True)
    x = tf.constant([1.0, 2.0, 3.0, 1.0])
    for p, q in (
        ([0, 1, 1, 0], [1, 0, 0, 1]),
        ([0, 1, 0, 0], [1, 0, 0, 1]),
        ([0, 0, 0, 0], [1, 0, 0, 0]),
    ) * 2:
        masks = tf.constant(p) > 0, tf.constant(q) > 0
        for found, want in zip(compiled(x, *masks), f(x, *masks), strict=True):
            np.testing.assert_array_equal(found.numpy(), want.numpy())
            assert found.shape == want.shape
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"equals: operands of shapes \(3,\) and \(2,\) give one of shape \(\)",
    ):
        compiled(x, tf.constant([1, 1, 1, 0]) > 0, tf.constant([1, 1, 0, 0]) > 0)


def test_in_loops_rows_and_derivatives() -> None:
    def loss(x: Any, y: Any) -> Any:
        total = tf.reduce_sum(tf.where(x == y, x * x, y * x))
        for _ in tf.range(2):
            total += tf.reduce_sum(tf.where(x != y, x, x * y))
        return total

    def slope(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(x, y)
        return tape.gradient(value, x)

    specs = [tf.TensorSpec([None]), tf.TensorSpec([None])]
    rows = lambda x, y: tf.vectorized_map(lambda each: each[0] == each[1], (x, y))  # noqa: E731
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, 3.0])
    for f in (loss, slope):
        found = tf.function(f, input_signature=specs)(x, y).numpy()
        np.testing.assert_allclose(found, f(x, y).numpy())
    wide = [tf.TensorSpec([None, None])] * 2
    found = tf.function(rows, input_signature=wide)(x[None] * [[1.0], [2.0]], y[None] * [[1.0], [1.0]])
    np.testing.assert_array_equal(found.numpy(), [[True, False, True], [False, False, False]])
