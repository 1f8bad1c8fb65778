"""Threads work on streams of their own, and nobody reads what is not yet written or what was given away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.devices import streams
from tests.devices import fake_streams

pytestmark = pytest.mark.usefixtures("late_streams")
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


def aside(work: Callable[[], Any]) -> Any:
    """What some work in another thread gives."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def test_work_is_late() -> None:
    y = there(X) + 1.0
    assert not np.array_equal(y.array.held._memory, X + 1), "nobody has asked for it"
    np.testing.assert_array_equal(y.numpy(), X + 1)


def test_every_thread_has_a_stream() -> None:
    x = there(X)
    mine = (x + 1.0).array.stream
    first, second = aside(lambda: (x + 1.0).array.stream), aside(lambda: (x + 1.0).array.stream)
    assert mine.ptr == 0 and first.ptr and second.ptr and first is not second


def test_a_stream_that_a_program_chose_stays() -> None:
    from graphad.devices.library import library

    x = there(X)

    def work() -> Any:
        with library().cuda.Stream() as chosen:
            return (x + 1.0).array.stream, chosen

    stream, chosen = aside(work)
    assert stream is chosen


def programs() -> dict[str, Callable[[Any], Any]]:
    plan = tf.function(lambda x: tf.tanh(x @ tf.transpose(x)) * 2.0 + tf.reduce_sum(x), jit_compile=True)
    return {
        "ops": lambda x: tf.reduce_sum(tf.sin(x) * 2.0 + x, axis=0),
        "views": lambda x: tf.transpose(tf.reshape(x, (4, 3)))[:, ::-1] + 1.0,
        "a plan": plan,
        "the host": lambda x: tf.argsort(x),
    }


@pytest.mark.parametrize("name", ["ops", "views", "a plan", "the host"])
def test_arrays_go_from_thread_to_thread(name: str) -> None:
    f = programs()[name]
    want = f(f(tf.constant(X)) if name != "the host" else tf.constant(X))
    want = [want, f(tf.constant(X))]
    x = there(X)
    y = aside(lambda: f(x))
    z = f(y) if name != "the host" else f(x)
    again = aside(lambda: f(x))
    np.testing.assert_allclose(z.numpy(), want[0].numpy(), rtol=1e-5)
    np.testing.assert_allclose(again.numpy(), want[1].numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", ["ops", "views", "a plan"])
def test_memory_is_given_away_when_other_streams_have_read_it(name: str) -> None:
    f = programs()[name]
    want = f(tf.constant(X)).numpy()
    held = [there(X) * 1.0]
    y = aside(lambda: f(held[0]))
    held.clear()
    others = [there(np.full_like(X, k)) * 1.0 for k in range(3)]
    for k, other in enumerate(others):
        np.testing.assert_array_equal(other.numpy(), np.full_like(X, k))
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-5)


def test_without_the_waits_these_tests_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "wait_for", lambda stream, other: None)
    x = there(X)
    y = aside(lambda: x + 1.0)
    assert not np.array_equal(aside(lambda: y * 1.0).numpy(), X + 1)


def test_a_plan_goes_from_thread_to_thread_with_its_memory() -> None:
    f = tf.function(lambda x: tf.reduce_sum(tf.nn.softmax(x @ tf.transpose(x)) * 3.0, 0), jit_compile=True)
    want = [f(tf.constant(X * k)).numpy() for k in range(4)]
    found = [aside(lambda k=k: f(there(X * k))) if k % 2 else f(there(X * k)) for k in range(4)]
    for y, z in zip(reversed(found), reversed(want), strict=True):
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-5)


def test_a_variable_that_threads_assign_to() -> None:
    with tf.device("cuda"):
        v = tf.Variable(np.zeros(3, np.float32))
    step = tf.function(lambda x: v.assign_add(x), jit_compile=True)
    x = there(np.ones(3, np.float32))
    for k in range(4):
        aside(lambda: step(x)) if k % 2 else step(x)
    np.testing.assert_array_equal(v.numpy(), np.full(3, 4.0, np.float32))
    assert fake_streams.deferred
