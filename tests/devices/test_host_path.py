"""What the host does in a call whose plan is a graph: a few calls of Python and of the library, however many ops there are."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cuda import captures
from graphad.compiler.cuda.backend import Cuda
from graphad.devices.library import library
from tests.devices import fake_driver

X = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
HOME = str(Path(tf.__file__).parent)


@pytest.fixture(autouse=True)
def same_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for results as CuPy's pool gives it to a loop that drops them."""
    kept: dict[Any, Any] = {}
    fresh = Cuda.fresh

    def same(self: Cuda, shape: Any, dtype: Any, stream: Any) -> Any:
        made = fresh(self, shape, dtype, stream)
        return kept.setdefault((shape, dtype), made)

    monkeypatch.setattr(Cuda, "fresh", same)


def counted(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> tuple[int, Counter[str]]:
    """The calls of graphad's Python functions, and those of the library, of a call whose plan is a graph."""
    for _ in range(captures.SEEN + 2):
        call()
    found: Counter[str] = Counter()
    total = 0
    runtime = library().cuda.runtime
    monkeypatch.setattr(runtime, "graphLaunch", lambda graph, stream: found.update(["graphLaunch"]))
    monkeypatch.setattr(runtime, "getDevice", lambda: found.update(["getDevice"]) or 0)

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal total
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(HOME) or code.co_filename == "<graphad plan>":
            total += 1
        elif code.co_filename.startswith(str(Path(fake_driver.__file__).parent)):
            found.update([code.co_name])

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return total, found


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


def test_a_graph_is_launched_by_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tf.function(lambda x, y: tf.nn.softmax(tf.tanh(x @ y) @ x), jit_compile=True)
    x, y = there(X), there(X + 1)
    total, calls = counted(monkeypatch, lambda: f(x, y))
    assert total <= 26
    assert calls["graphLaunch"] == 1 and calls["getDevice"] == 2
    # Addresses, shapes and dtypes of arguments are read once for each array, not in each call; no event is recorded.
    assert not calls.keys() & {"address_of", "record", "wait_event", "__enter__"}


def test_a_step_that_assigns_adds_few_calls_for_each_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.device("cuda"):
        v, w = tf.Variable(X), tf.Variable(X[0])

    @tf.function(jit_compile=True)
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x @ v + w) ** 2)
        for each, g in zip([v, w], tape.gradient(loss, [v, w]), strict=True):
            each.assign_sub(0.001 * g)
        return loss

    x = there(X)
    # New values have new addresses, but for those that the fixture gives again: then they are a graph.
    total, calls = counted(monkeypatch, lambda: step(x))
    assert total <= 34
    assert calls["graphLaunch"] == 1 and not calls.keys() & {"record", "wait_event", "__getitem__"}


@pytest.mark.usefixtures("late_streams")
def test_arrays_of_two_other_streams_wait_for_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = library().cuda
    f = tf.function(lambda x, y, z: tf.tanh(x) + y * z, jit_compile=True)
    given = [there(X)]
    for k in (1, 2):
        with cuda.Stream(non_blocking=True):
            given.append(there(X * k))
    want = np.tanh(X) + 2 * X * X
    np.testing.assert_allclose(f(*given), want, rtol=1e-5)
    events: list[Any] = []
    record = type(cuda.get_current_stream()).record
    monkeypatch.setattr(
        type(cuda.get_current_stream()), "record", lambda self: events.append(self) or record(self)
    )
    y = f(*given)
    # One of each stream for what it holds, one of the plan's own for both of them.
    assert len(events) == 3
    np.testing.assert_allclose(y, want, rtol=1e-5)


def test_arguments_of_other_kinds_are_seen_though_kinds_are_kept() -> None:
    f = tf.function(lambda x, y: x * 2 + y, jit_compile=True)
    for x in (X, X[:2], X.astype(np.float64), X[::2]):
        y = there(x[0])
        for given in (there(x), tf.transpose(there(x.T.copy()))):  # the second is a view in another order
            for _ in range(captures.SEEN + 1):
                np.testing.assert_allclose(f(given, y), x * 2 + x[0], rtol=1e-6)
