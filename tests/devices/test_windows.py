"""Convolutions and pools on a device are packed windows, products and loops in the plan's native call, with both gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from tests.devices import fake_driver

NUMBERS = np.random.default_rng(0)


def made(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return NUMBERS.normal(size=shape).astype(dtype)


def conv(strides: Any, padding: Any, dilations: Any = 1) -> Any:
    return lambda x, k: tf.nn.convolution(x, k, strides=strides, padding=padding, dilations=dilations)


IMAGE, FILTERS = (2, 6, 5, 4), (3, 2, 4, 3)
CONVOLUTIONS = {
    "valid": (conv(1, "VALID"), IMAGE, FILTERS),
    "same": (conv(1, "SAME"), IMAGE, FILTERS),
    "strides": (conv(2, "SAME"), IMAGE, FILTERS),
    "dilations": (conv(1, "SAME", [2, 1]), IMAGE, FILTERS),
    "one element": (conv(1, "VALID"), IMAGE, (1, 1, 4, 3)),
    "one element with strides": (conv(2, "VALID"), IMAGE, (1, 1, 4, 3)),
    "one axis": (conv(1, "SAME"), (2, 7, 3), (3, 3, 2)),
    "three axes": (conv([1, 2, 1], "VALID"), (1, 3, 4, 3, 2), (2, 2, 2, 2, 3)),
    "groups": (conv(1, "SAME"), IMAGE, (3, 2, 2, 6)),
    "groups with strides": (conv(2, "VALID"), IMAGE, (3, 2, 2, 6)),
    "depthwise": (lambda x, k: tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "SAME"), IMAGE, (3, 2, 4, 2)),
    "explicit": (lambda x, k: tf.nn.conv2d(x, k, 1, [[0, 0], [4, 0], [0, 1], [0, 0]]), IMAGE, FILTERS),
    "transposed": (
        lambda x, k: tf.nn.conv2d_transpose(x, k, (2, 12, 10, 3), 2, "SAME"),
        (2, 6, 5, 4),
        (3, 2, 3, 4),
    ),
    "empty batch": (conv(1, "SAME"), (0, 6, 5, 4), FILTERS),
}


def native(f: Any, given: list[Any], all_of_it: bool = True) -> None:
    """All units of the plan for the device are in the native call."""
    concrete = f.get_concrete_function(*given)
    found = [sizes.bound for sizes in executable_of(concrete.graph, "cuda:0")._sizes.values() if sizes.bound]
    assert found
    hosts = [unit for bound in found for unit in bound.partition.units if unit.kind == "host"]
    assert not hosts, [node.op.name for unit in hosts for node in unit.nodes]


def compare(function: Any, *arrays: np.ndarray, rtol: float = 2e-5) -> None:
    """Values and gradients, first and second, of a plan on the device beside the CPU's."""

    @tf.function(jit_compile=True)
    def both(*xs: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(xs)
            with tf.GradientTape() as tape:
                tape.watch(xs)
                y = function(*xs)
                loss = tf.reduce_sum(tf.sin(y))
            first = tape.gradient(loss, xs)
            square = tf.add_n([tf.reduce_sum(tf.cos(g)) for g in first])
        return [y, *first, *outer.gradient(square, xs)]

    want = both(*map(tf.constant, arrays))
    with tf.device("cuda"):
        given = [tf.constant(x) for x in arrays]
    fake_driver.launches.clear()
    found = both(*given)
    assert not arrays[0].size or fake_driver.launches
    for mine, other in zip(found, want, strict=True):
        assert mine.location == "cuda:0" and mine.dtype == other.dtype and mine.shape == other.shape
        # Sums in another order differ by roundings of their largest numbers.
        atol = max(1e-4, 5e-6 * np.abs(other.numpy()).max(initial=0.0))
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=rtol, atol=atol)
    native(both, given)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    function, image, filters = CONVOLUTIONS[name]
    compare(function, made(*image), made(*filters))


POOLS = {
    "max": lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    "max, overlapping": lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
    "mean": lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
    "mean, overlapping": lambda x: tf.nn.avg_pool2d(x, [3, 2], 1, "SAME"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", POOLS)
def test_pools(name: str, dtype: Any) -> None:
    compare(POOLS[name], made(2, 5, 6, 3, dtype=dtype))


def test_the_first_of_equal_maxima_and_nan_are_picked_as_on_the_cpu() -> None:
    x = np.zeros((1, 4, 4, 2), np.float32)
    x[0, 1, 2, 0] = x[0, 3, 1, 1] = np.nan
    x[0, 0, 0, 1] = -np.inf

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(x, 3, 1, "SAME")
        return y, tape.gradient(y, x)

    with tf.device("cuda"):
        given = tf.constant(x)
    for mine, other in zip(f(given), f(tf.constant(x)), strict=True):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())


def test_a_batch_of_unknown_size() -> None:
    kernel = made(3, 3, 2, 4)

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 6, 6, 2], tf.float32)])
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(
                tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")), 2, 2, "VALID") ** 2
            )
        return y, tape.gradient(y, x)

    for n in (1, 3, 2):
        x = made(n, 6, 6, 2)
        with tf.device("cuda"):
            given = tf.constant(x)
        for mine, other in zip(f(given), f(tf.constant(x)), strict=True):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
    native(f, [given])


def test_half_precision_runs_as_its_op_does() -> None:
    x, k = made(2, 5, 5, 2, dtype=np.float16), made(3, 3, 2, 2, dtype=np.float16)
    f = tf.function(lambda x, k: tf.nn.conv2d(x, k, 1, "SAME"), jit_compile=True)
    with tf.device("cuda"):
        found = f(tf.constant(x), tf.constant(k))
    np.testing.assert_allclose(found.numpy(), f(tf.constant(x), tf.constant(k)).numpy(), rtol=1e-2)


def test_a_convolution_within_a_loop_is_native() -> None:
    kernel = made(3, 3, 2, 2)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        for _ in tf.range(4):
            x = tf.tanh(tf.nn.conv2d(x, kernel, 1, "SAME"))
        return x

    x = made(2, 4, 4, 2)
    with tf.device("cuda"):
        given = tf.constant(x)
    np.testing.assert_allclose(f(given).numpy(), f(tf.constant(x)).numpy(), rtol=1e-4, atol=1e-5)
    native(f, [given])


def test_a_network_that_is_compiled_in_a_block_of_its_device_is_native() -> None:
    losses = {}
    for place in ("cpu", "cuda"):
        numbers = np.random.default_rng(1)
        x, k, w = (numbers.normal(size=s).astype(np.float32) for s in ((2, 6, 6, 2), (3, 3, 2, 3), (27, 2)))
        with tf.device(place):
            kernel, weights, x = tf.Variable(k), tf.Variable(w), tf.constant(x)

            @tf.function(jit_compile=True)
            def step(x: Any, kernel: Any = kernel, weights: Any = weights) -> Any:
                with tf.GradientTape() as tape:
                    y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME")), 2, 2, "VALID")
                    mean = tf.nn.avg_pool2d(y, 2, 1, "SAME")
                    loss = tf.reduce_mean((tf.reshape(y + mean, (2, 27)) @ weights) ** 2)
                for v, g in zip((kernel, weights), tape.gradient(loss, (kernel, weights)), strict=True):
                    v.assign_sub(0.01 * g)
                return loss

            losses[place] = [float(step(x)) for _ in range(4)]
    np.testing.assert_allclose(losses["cuda"], losses["cpu"], rtol=1e-4)
    native(step, [x])
