"""Steps that are written over intermediate results give the bits of steps that are not, and touch nothing that is somebody's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core import bind as door
from graphad.ops import overwrite as written
from graphad.ops.math.arithmetic import ADD, MUL, NEG, RECIPROCAL

_N = 20_000


def _numbers(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(_N)
    x[:12] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, 3e38, 0.0, np.nan, 2.0]
    return np.asarray(rng.permutation(x).astype(dtype))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "divide_no_nan": tf.math.divide_no_nan,
    "subtract": lambda x, y: x - y,
    "negative": lambda x, y: -x,
    "add": lambda x, y: x + y,
    "square": lambda x, y: tf.square(x),
    "squared_difference": tf.math.squared_difference,
    "abs": lambda x, y: tf.abs(x),
    "log": lambda x, y: tf.math.log(x),
    "log1p": lambda x, y: tf.math.log1p(x),
    "log2": lambda x, y: tf.math.log2(x),
    "atan2": tf.math.atan2,
    "pow": tf.pow,
    "sqrt": lambda x, y: tf.sqrt(x),
    "rsqrt": lambda x, y: tf.math.rsqrt(x),
    "reciprocal": lambda x, y: tf.math.reciprocal(x),
    "multiply_no_nan": tf.math.multiply_no_nan,
    "minimum": tf.minimum,
    "where": lambda x, y: tf.where(x > 0.0, x, y) + tf.where(tf.zeros_like(x) > 1.0, x, y),
    "reduce_max": lambda x, y: tf.reduce_max(tf.reshape(x, [100, -1]), 1),
    "transpose": lambda x, y: tf.transpose(tf.reshape(x, [100, -1]) * 3.0),
    "reverse": lambda x, y: tf.reverse(tf.reshape(x, [100, -1]), [1]),
    "slice": lambda x, y: tf.reshape(x, [100, -1])[3:90, 5:],
    "concat": lambda x, y: tf.concat([x[:9000], y[:9000]], 0),
    "stack": lambda x, y: tf.stack([x[:9000], y[:9000]]),
    "pad": lambda x, y: tf.pad(x[:9000], [[3, 4]]),
    "tile": lambda x, y: tf.tile(x[:4000], [4]),
    "broadcast_to": lambda x, y: tf.broadcast_to(x[:200], [90, 200]),
    "diagonal": lambda x, y: tf.linalg.diag_part(tf.reshape(x, [2, 100, 100])) * 2.0,
    "squeeze": lambda x, y: tf.squeeze(x[None, :, None]) + tf.reshape(y[None], [-1]),
    "sums of rows": lambda x, y: tf.reshape(x, [100, -1]) + y[:200] + y[:100, None],
    "cumprod": lambda x, y: tf.math.cumprod(tf.reshape(x, [100, -1]), 1),
}


def _gradients(function: Callable[..., Any], x: Any, y: Any, upstream: Any, by: Any = None) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = function(x, y)
    found = tape.gradient(
        z, [x, y], None if upstream is None else upstream[: z.shape.num_elements()].reshape(z.shape)
    )
    return [None if g is None else np.asarray(g) for g in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_gradients_are_the_same_bits_with_and_without(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, upstream = (_numbers(dtype, seed) for seed in (1, 2, 3))
    a, b = tf.constant(x), tf.constant(y)
    monkeypatch.setattr(door, "VERIFY", False)
    for given in (None, upstream):
        found = _gradients(FUNCTIONS[name], a, b, given)
        with monkeypatch.context() as patch:
            patch.setattr(written, "_MANY", 1 << 60)
            expected = _gradients(FUNCTIONS[name], a, b, np.ones(_N, dtype) if given is None else given)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(b.numpy(), y)


def test_the_operand_is_overwritten_where_it_can_be_and_else_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "VERIFY", False)
    x = np.arange(_N, dtype=np.float32)
    with np.errstate(all="raise"):
        assert np.array_equal(
            written.overwrite(RECIPROCAL, tf.constant(x) * 1.0).numpy(), np.append(np.inf, 1 / x[1:])
        )
    fresh = tf.constant(x) * 1.0
    assert written.overwrite(NEG, fresh).data is fresh.data
    fresh = tf.reshape(tf.constant(x), [100, -1]) * 1.0
    row, column = tf.ones([_N // 100]), tf.ones([100, 1])
    assert written.overwrite(MUL, fresh, row).data is fresh.data
    assert written.overwrite(ADD, fresh, column).data is fresh.data
    larger = tf.ones([2, 100, _N // 100])
    assert written.overwrite(MUL, fresh, larger).shape == [2, 100, _N // 100]
    with tf.GradientTape() as tape:
        tape.watch(fresh)
        y = written.overwrite(MUL, fresh, row)
    assert y.data is not fresh.data
    assert tape.gradient(y, fresh) is not None


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("ties", ["none", "two", "NaN"])
def test_the_gradient_of_an_extreme_is_the_same_bits_as_that_which_is_recorded(
    ties: str, axis: Any, keepdims: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "VERIFY", False)
    x = np.random.default_rng(5).permutation(_N).reshape(100, -1).astype(np.float32)
    if ties != "none":
        x[3, 4] = np.nan if ties == "NaN" else x.max()
    for extreme in (tf.reduce_max, tf.reduce_min):
        found = []
        for outer in (False, True):
            with tf.GradientTape() as around:
                v = tf.constant(x)
                around.watch(v)
                with tf.GradientTape() as tape:
                    tape.watch(v)
                    y = extreme(v, axis, keepdims)
                upstream = tf.reshape(tf.linspace(-2.0, 3.0, int(tf.size(y))), y.shape)
                if outer:
                    found.append(tape.gradient(y, v, upstream).numpy())
            if not outer:
                found.append(tape.gradient(y, v, upstream).numpy())
        assert found[0].tobytes() == found[1].tobytes()
