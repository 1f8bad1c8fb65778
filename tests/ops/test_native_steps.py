"""Large arrays of eager code are computed by the steps of compiled code, with the bits that NumPy's way has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops import native_steps
from graphad.ops.random import philox

rng = np.random.default_rng(5)


def _numbers(*shape: int, dtype: Any = np.float32) -> Any:
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)
    x.reshape(-1)[:3] = 0.0, -0.0, np.inf
    return tf.constant(x.astype(dtype))


def _indices(high: int, *shape: int, dtype: Any = np.int32) -> Any:
    return tf.constant(rng.integers(0, high, shape).astype(dtype))


def _gradient(function: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, output_gradients=_ramp(y))


def _ramp(y: Any) -> Any:
    return tf.constant(np.linspace(-3, 5, y.numpy().size).reshape(y.shape).astype(y.numpy().dtype))


MATRIX, WIDE, WHOLE = _numbers(90, 60), _numbers(90, 60, dtype=np.float64), _indices(1000, 90, 60)
ROWS, SORTED = _numbers(500, 12), tf.constant(np.sort(rng.integers(0, 40, 500)).astype(np.int32))
IDS, SOME, LONG = _indices(30, 500), tf.constant(rng.integers(-1, 40, 500)), _indices(40, 500, dtype=np.int64)
PLACES, UPDATES = _indices(9, 700, 2), _numbers(700, 7)
CUBE, OF_BATCH = _numbers(6, 30, 40), _indices(25, 6, 30)

CASES: dict[str, Callable[[], Any]] = {
    "cumsum": lambda: tf.cumsum(MATRIX, 1),
    "cumsum of columns": lambda: tf.cumsum(WIDE, 0),
    "cumsum of integers": lambda: tf.cumsum(WHOLE, -1),
    "cumsum from the end, exclusive": lambda: tf.cumsum(MATRIX, 0, exclusive=True, reverse=True),
    "cumprod": lambda: tf.math.cumprod(WIDE, 1, exclusive=True),
    "segment_sum": lambda: tf.math.segment_sum(ROWS, SORTED),
    "segment_max": lambda: tf.math.segment_max(ROWS, SORTED),
    "unsorted_segment_sum": lambda: tf.math.unsorted_segment_sum(ROWS, IDS, 41),
    "unsorted_segment_sum with ids below 0": lambda: tf.math.unsorted_segment_sum(ROWS, SOME, 40),
    "unsorted_segment_max": lambda: tf.math.unsorted_segment_max(ROWS, LONG, 45),
    "unsorted_segment_min": lambda: tf.math.unsorted_segment_min(ROWS, SOME, 40),
    "segments of two axes": lambda: tf.math.unsorted_segment_sum(CUBE, OF_BATCH, 25),
    "scatter_nd": lambda: tf.scatter_nd(PLACES, UPDATES, [9, 10, 7]),
    "band_part": lambda: tf.linalg.band_part(CUBE, 3, -1),
    "gradient of gather": lambda: _gradient(lambda x: tf.gather(x, IDS, axis=1), CUBE),
    "gradient of gather_nd": lambda: _gradient(lambda x: tf.gather_nd(x, PLACES), _numbers(9, 9, 8)),
}


def _with(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_steps, "_left", left)
    monkeypatch.setattr(native_steps, "_RUNTIME", "none" if left else "sys")


@pytest.mark.parametrize("name", CASES)
def test_a_step_gives_the_bits_of_numpys_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    answers: list[Any] = []
    usual = native_steps._steps().evaluated

    def noted(*given: Any) -> Any:
        answers.append(usual(*given))
        return answers[-1]

    monkeypatch.setattr(native_steps._steps(), "evaluated", noted)
    state = rng.bit_generator.state
    _with(1 << 40, monkeypatch)
    want = CASES[name]().numpy()
    assert not answers
    rng.bit_generator.state = state
    _with(0, monkeypatch)
    found = CASES[name]().numpy()
    assert any(answer is not None for answer in answers)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))


def test_an_index_outside_is_refused_in_the_words_of_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    for left in (1 << 40, 0):
        _with(left, monkeypatch)
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.math.unsorted_segment_sum(ROWS, IDS, 3)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_steps_are_loaded_once_many_numbers_have_come_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_steps, "_RUNTIME", "none")
    monkeypatch.setattr(native_steps, "_left", 3 * 5400 - 1)
    asked: list[Any] = []
    monkeypatch.setattr(native_steps, "_steps", lambda: asked.append(1) or _Nothing)
    for _ in range(3):
        tf.cumsum(MATRIX, 1)
    assert not asked
    tf.cumsum(MATRIX, 1)
    tf.cumsum(MATRIX[:2], 1)  # too few to ask
    assert len(asked) == 1


class _Nothing:
    @staticmethod
    def evaluated(*_: Any) -> None:
        """No step."""


def test_a_few_numbers_are_drawn_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(0, monkeypatch)
    monkeypatch.setattr(native_steps, "_steps", lambda: pytest.fail("a step was asked for"))
    assert philox.uniform(np.array([1, 2]), 100, np.dtype(np.float32)).shape == (100,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "lead, of_right, n, k",
    [
        ((), (), 1, 1),
        ((), (), 5, 3),
        ((7,), (7,), 32, 6),
        ((3, 2), (3, 2), 48, 1),
        ((), (6,), 10, 4),
        ((6,), (), 10, 4),
        ((2, 1), (1, 3), 9, 2),
    ],
)
def test_small_triangles_have_the_same_solutions_by_steps_and_in_functions(
    dtype: Any, lead: Any, of_right: Any, n: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = (rng.standard_normal((*lead, n, n)) + 3 * np.eye(n)).astype(dtype)
    b = rng.standard_normal((*of_right, n, k)).astype(dtype)
    for lower in (True, False):
        for adjoint in (True, False):

            def solved(x: Any, y: Any, lower: bool = lower, adjoint: bool = adjoint) -> Any:
                return tf.linalg.triangular_solve(x, y, lower, adjoint)

            found = []
            for left in (1 << 40, 0):
                _with(left, monkeypatch)
                found.append(solved(a, b).numpy())
            found.append(tf.function(solved)(tf.constant(a), tf.constant(b)).numpy())
            triangle = (np.tril if lower else np.triu)(a).astype(np.longdouble)
            triangle = np.swapaxes(triangle, -1, -2) if adjoint else triangle
            np.testing.assert_allclose(triangle @ found[0], np.broadcast_to(b, found[0].shape), 1e-3, 1e-5)
            for other in found[1:]:
                np.testing.assert_array_equal(found[0], other)


def test_a_zero_on_the_diagonal_of_a_triangle_is_an_error_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for left in (1 << 40, 0):
        _with(left, monkeypatch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
            tf.linalg.triangular_solve([[1.0, 0.0], [2.0, 0.0]], [[1.0], [1.0]])
