"""Axes that a tensor names which a function is called with: what is reduced is known only while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(3).normal(size=(3, 1, 4)).astype(np.float32)
SPECS = [tf.TensorSpec([None, None, None]), tf.TensorSpec([], tf.int32)]
OF_ONE: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda x, axis, name=name: getattr(tf, name)(x, axis)
        for name in (
            "reduce_sum",
            "reduce_mean",
            "reduce_max",
            "reduce_min",
            "reduce_prod",
            "reduce_logsumexp",
        )
    },
    "reduce_any": lambda x, axis: tf.reduce_any(x > 0, axis),
    "reduce_all": lambda x, axis: tf.reduce_all(x > 0, axis, keepdims=True),
    "reduce_variance": tf.math.reduce_variance,
    "reduce_std": lambda x, axis: tf.math.reduce_std(x, axis, True),
    "argmax": tf.argmax,
    "argmin": lambda x, axis: tf.argmin(x, axis, tf.int32),
    "cumsum": lambda x, axis: tf.cumsum(x, axis, reverse=True),
    "cumprod": tf.math.cumprod,
    "cumulative_logsumexp": tf.math.cumulative_logsumexp,
    "concat": lambda x, axis: tf.concat([x, x * 2], axis),
    "gather": lambda x, axis: tf.gather(x, [0, 0], axis=axis),
    "roll": lambda x, axis: tf.roll(x, 2, axis),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_axis(name: str) -> None:
    f = OF_ONE[name]
    for jit in (None, True):
        compiled = tf.function(f, input_signature=SPECS, jit_compile=jit)
        for axis in (0, 1, 2, -1, -3, 0):
            want = f(tf.constant(X), axis).numpy()
            found = compiled(tf.constant(X), tf.constant(axis)).numpy()
            assert found.shape == want.shape and found.dtype == want.dtype
            np.testing.assert_allclose(found, want, rtol=1e-6)
        for axis in (3, -4):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"axis {axis} is out of range for x of rank 3"
            ):
                compiled(tf.constant(X), tf.constant(axis))


@pytest.mark.parametrize("size", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("keepdims", [False, True])
def test_of_several_axes(keepdims: bool, size: int | None) -> None:
    specs = [SPECS[0], tf.TensorSpec([size], tf.int64)]
    compiled = tf.function(lambda x, axis: tf.reduce_sum(x, axis, keepdims), input_signature=specs)
    for axes in ((), (1,), (-1,), (0, 2), (2, 0), (-1, 1), (2, 0, 1)):
        if size in (None, len(axes)):
            found = compiled(tf.constant(X), tf.constant(axes, tf.int64)).numpy()
            np.testing.assert_allclose(found, X.sum(axes, keepdims=keepdims), rtol=1e-5)
    if size in (None, 2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="name the same axis twice"):
            compiled(tf.constant(X), tf.constant((1, -2), tf.int64))


def test_reverse() -> None:
    compiled = tf.function(tf.reverse, input_signature=[SPECS[0], tf.TensorSpec([None], tf.int32)])
    for axes in ((), (1,), (-1,), (0, 2), (2, 0, 1)):
        found = compiled(tf.constant(X), tf.constant(axes, tf.int32)).numpy()
        np.testing.assert_array_equal(found, np.flip(X, axes))


def test_derivatives_rows_and_files(tmp_path: Any) -> None:
    def f(x: Any, axis: Any) -> Any:
        return tf.reduce_sum(tf.reduce_max(x * x, axis) ** 2)

    def slope(x: Any, axis: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, axis)
        return tape.gradient(y, x)

    def tangent(x: Any, axis: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.cos(x)) as made:
            y = f(x, axis)
        return made.jvp(y)

    def rows(x: Any, axis: Any) -> Any:
        return tf.vectorized_map(lambda row: tf.reduce_sum(row, axis, keepdims=True), x)

    module = tf.Module()
    functions = {"f": f, "slope": slope, "tangent": tangent, "rows": rows}
    for name, each in functions.items():
        setattr(module, name, tf.function(each, input_signature=SPECS))
    tf.saved_model.save(module, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    for name, each in functions.items():
        for axis in (0, 1, -2) if name == "rows" else (0, 1, 2, -2):
            want = each(tf.constant(X), axis).numpy()
            for made in (module, loaded):
                found = getattr(made, name)(tf.constant(X), tf.constant(axis)).numpy()
                np.testing.assert_allclose(found, want, rtol=1e-5)


def test_what_is_refused_while_tracing() -> None:
    unknown = [tf.TensorSpec(None), SPECS[1]]
    with pytest.raises(tf.errors.GraphadError, match="reduce_sum: axis is a tensor whose value is not known"):
        tf.function(lambda x, a: tf.reduce_sum(x, a), input_signature=unknown).get_concrete_function()
    for dims, axes in (([None] * 6, [None]), ([2, 2], [1, 1])):
        specs = [tf.TensorSpec(dims), tf.TensorSpec(axes, tf.int32)]
        with pytest.raises(tf.errors.GraphadError, match="axis is a tensor whose value is not known"):
            tf.function(lambda x, a: tf.reduce_sum(x, a), input_signature=specs).get_concrete_function()
    with pytest.raises(tf.errors.GraphadError, match="x is a scalar, which has no axes"):
        tf.function(lambda x, a: tf.reduce_sum(x, a))(tf.constant(1.0), tf.constant(0))
