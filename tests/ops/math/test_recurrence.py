"""Linear recurrences of many numbers by a native loop have the bits of NumPy's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import UnavailableError
from graphad.ops import native_steps
from graphad.ops.math.cumulative import Recurrence

EDGES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 3e38, -1.0])


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the loop."""
    found, real = [], native_steps._recurring()

    class Loops:
        @staticmethod
        def recurrence(*given: Any) -> Any:
            found.append(given)
            return real.recurrence(*given)

    monkeypatch.setattr(native_steps, "_recurring", lambda: Loops)
    monkeypatch.setattr(native_steps, "_left", 0)
    return found


def operands(shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        edges = EDGES.astype(dtype)
    pair = []
    for _ in range(2):
        x = rng.normal(size=shape).astype(dtype)
        x.reshape(-1)[rng.integers(0, x.size, 40)] = rng.choice(edges, 40)
        pair.append(x)
    return pair


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5000,), 0),
        ((13, 401), 1),
        ((401, 13), 0),
        ((3, 401, 5), 1),
        ((8, 700), -1),
        ((5000, 1), 1),
        ((3, 1, 2000), 1),
    ],
)
def test_the_loop_has_the_bits_of_rows(
    shape: tuple[int, ...],
    axis: int,
    dtype: str,
    reverse: bool,
    transposed: bool,
    loops: list[Any],
    monkeypatch: Any,
) -> None:
    a, b = operands(shape, dtype)
    op = Recurrence(axis, reverse, transposed)
    with np.errstate(all="ignore"):
        found = op.eval(a, b)
        assert len(loops) == 1
        monkeypatch.setattr(native_steps, "_MANY", 1 << 30)
        wanted = op.eval(a, b)
    assert len(loops) == 1 and found.dtype == wanted.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    is_number = ~np.isnan(wanted)
    word = {"float32": "int32", "float64": "int64"}[dtype]
    np.testing.assert_array_equal(found.view(word)[is_number], wanted.view(word)[is_number])


def test_any_layout_is_taken(loops: list[Any]) -> None:
    a, b = operands((80, 90), "float32")
    with np.errstate(all="ignore"):
        found = Recurrence(1).eval(a.T.copy().T, b[::-1, ::-1])
        wanted = Recurrence(1).eval(a, b[::-1, ::-1].copy())
    assert len(loops) == 2
    np.testing.assert_array_equal(found, wanted)


def test_other_dtypes_and_few_numbers_are_computed_as_before(loops: list[Any]) -> None:
    for dtype, size in (("float16", 5000), ("complex64", 5000), ("float32", 100)):
        x = np.ones(size, dtype)
        Recurrence(0).eval(x, x)
    assert not loops


@pytest.mark.parametrize("error", [UnavailableError("no llvmlite"), ImportError("no llvmlite")])
def test_without_the_compiler_rows_are_computed(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(native_steps, "_recurring", refuse)
    monkeypatch.setattr(native_steps, "_left", 0)
    x = np.full((60, 100), 0.5)
    np.testing.assert_array_equal(Recurrence(1).eval(x, x)[:, :3], np.tile([0.5, 0.75, 0.875], (60, 1)))


def test_the_gradient_of_a_running_product_takes_it(loops: list[Any]) -> None:
    x = tf.constant(np.random.default_rng(2).uniform(0.9, 1.1, (40, 200)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.cumprod(x, axis=1)
    found = tape.gradient(y, x).numpy()
    assert loops
    sums = np.cumsum(y.numpy()[:, ::-1], 1)[:, ::-1]
    np.testing.assert_allclose(found, sums / x.numpy(), rtol=1e-12)
