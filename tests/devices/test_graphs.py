"""What a plan does again with the same addresses is a CUDA graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cuda import captures
from tests.devices import fake_driver

X = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


def runs(f: Any, *given: Any, times: int = 8) -> list[tuple[np.ndarray, int]]:
    """Results of calls, and how many graphs each launched."""
    found = []
    for _ in range(times):
        fake_driver.graph_launches.clear()
        found.append((f(*given).numpy(), len(fake_driver.graph_launches)))
    return found


@pytest.fixture(autouse=True)
def same_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for results as CuPy's pool gives it to a loop that drops them: always the same."""
    kept: dict[Any, Any] = {}
    from graphad.compiler.cuda.backend import Cuda

    fresh = Cuda.fresh

    def same(self: Cuda, shape: Any, dtype: Any, stream: Any) -> Any:
        made = fresh(self, shape, dtype, stream)
        return kept.setdefault((shape, dtype), made)

    monkeypatch.setattr(Cuda, "fresh", same)


def test_a_plan_becomes_a_graph_when_its_addresses_come_again() -> None:
    f = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ x) @ x), jit_compile=True)
    want = f(tf.constant(X)).numpy()
    x, other = there(X), there(X * 2)
    found = runs(f, x)
    assert [count for _, count in found] == [0] * (captures.SEEN - 1) + [1] * (9 - captures.SEEN)
    for y, _ in found:
        np.testing.assert_allclose(y, want, rtol=1e-5)
    ((y, count),) = runs(f, other, times=1)
    assert count == 0
    np.testing.assert_allclose(y, f(tf.constant(X * 2)).numpy(), rtol=1e-5)
    assert runs(f, x, times=1)[0][1] == 1, "the graph is kept"


def test_a_loop_of_known_length_is_part_of_the_graph() -> None:
    def f(x: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.scan(lambda h, row: tf.tanh(h @ w + row), x, initializer=tf.zeros((1, 4)))
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, w)

    f = tf.function(f, jit_compile=True)
    x = X.reshape(4, 1, 4)
    want = f(tf.constant(x), tf.constant(X)).numpy()
    found = runs(f, there(x), there(X), times=4)
    assert found[-1][1] == 1 and fake_driver.graph_launches[-1] > 12
    for y, _ in found:
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-6)


def test_rounds_of_a_loop_that_waits_are_graphs() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, n: Any) -> Any:
        k = tf.zeros((), tf.int32)
        while k < n:
            x, k = tf.nn.softmax(x @ x), k + 1
        return x

    five, two = there(np.int32(5)), there(np.int32(2))
    x = there(X)
    found = runs(f, x, five, times=4)
    for y, _ in found:
        np.testing.assert_allclose(y, f(tf.constant(X), tf.constant(5)).numpy(), rtol=1e-5)
    assert [count for _, count in found] == [0, 0, 5, 5]
    ((y, count),) = runs(f, x, two, times=1)
    np.testing.assert_allclose(y, f(tf.constant(X), tf.constant(2)).numpy(), rtol=1e-5)
    assert count == 0


def test_the_driver_may_refuse_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.devices.library import library

    def refuse(*_: Any) -> int:
        raise RuntimeError("cudaErrorStreamCaptureUnsupported")

    f = tf.function(lambda x: tf.tanh(x @ x), jit_compile=True)
    monkeypatch.setattr(library().cuda.runtime, "graphInstantiate", refuse)
    found = runs(f, there(X), times=5)
    for y, count in found:
        np.testing.assert_allclose(y, np.tanh(X @ X), rtol=1e-4, atol=1e-6)
        assert count == 0


def test_nothing_is_captured_while_a_fault_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    f = tf.function(lambda x: tf.tanh(x @ x), jit_compile=True)
    assert not any(count for _, count in runs(f, there(X)))


@pytest.mark.usefixtures("late_streams")
def test_graphs_of_late_streams() -> None:
    f = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ x) @ x), jit_compile=True)
    x = there(X)
    for y, _ in runs(f, x):
        np.testing.assert_allclose(y, f(tf.constant(X)).numpy(), rtol=1e-5)
    assert fake_driver.graph_launches


def test_a_look_for_an_answer_comes_behind_the_graph() -> None:
    f = tf.function(lambda x, i: tf.tanh(tf.gather(x, i) @ x), jit_compile=True)
    x, i, wrong = there(X), there(np.array([3, 0, 3], np.int32)), there(np.array([3, 4, 0], np.int32))
    want = np.tanh(X[[3, 0, 3]] @ X)
    for y, count in runs(f, x, i)[captures.SEEN - 1 :]:
        assert count == 1
        np.testing.assert_allclose(y, want, rtol=1e-5)
    for _ in range(captures.SEEN + 1):
        with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
            f(x, wrong)
        ((y, count),) = runs(f, x, i, times=1)
        assert count == 1
        np.testing.assert_allclose(y, want, rtol=1e-5)
