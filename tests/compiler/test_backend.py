"""Plans on a device whose memory the host cannot follow: the seam between planning and a device holds everything they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.backend import backend_of
from graphad.compiler.partition import partition
from graphad.compiler.plan.executable import Executable
from graphad.compiler.plan.native import Bound, bind
from graphad.compiler.plan.schedule import schedule
from graphad.core.dims import apart_from
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle
from graphad.errors import InternalError, UnavailableError
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.trace.size_class import literal_sizes
from graphad.trace.tracer import trace_flat
from tests.support.fake_device import DeviceArray, DeviceFault, FakeDevice


def real(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def bound_on(device: FakeDevice, graph: Graph, values: Sequence[Any]) -> Bound:
    """The plan of a graph for these values, bound to a device."""
    sizes = Executable(graph).sizes_of(values)
    with apart_from(literal_sizes(graph)):
        made = schedule(partition(sizes.size_class.graph, backend=device))
    return bind(made, sizes.numbers, device.build)


def to_device(device: FakeDevice, value: Any) -> Any:
    if isinstance(value, Handle):
        return Handle(device.to_device(value.data), value.spec, value.trainable)
    return device.to_device(value)


def run_on(device: FakeDevice, graph: Graph, values: Sequence[Any], calls: int = 2) -> list[np.ndarray]:
    bound = bound_on(device, graph, values)
    found: list[Any] = []
    for _ in range(calls):  # the second with the instance of the first
        given = [to_device(device, value) for value in values]
        outputs = bound.call(given)
        assert outputs is not None
        assert all(isinstance(y, DeviceArray) for y in outputs)
        found = [y.values().copy() for y in outputs]
    return found


def mlp_step(x: Any, labels: Any, *weights: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(weights)
        h = tf.tanh(x @ weights[0] + weights[1])
        logits = h @ weights[2] + weights[3]
        picked = tf.reduce_sum(tf.nn.log_softmax(logits) * labels, axis=1)
        loss = -tf.reduce_mean(picked)
    return [loss, *tape.gradient(loss, weights)]


def softmax_loss(x: Any, labels: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, x))
    return [loss, tape.gradient(loss, x)]


def normalised(x: Any, scale: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch((x, scale))
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        spread = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        y = tf.reduce_sum((x - mean) / tf.sqrt(spread + 1e-3) * scale * tf.cos(x))
    return [y, *tape.gradient(y, (x, scale))]


def recurrent(x: Any, w: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch((x, w))
        states = tf.scan(lambda h, row: tf.tanh(h @ w + row), x, initializer=tf.zeros((3, 4)))
        y = tf.reduce_sum(tf.sin(states))
    return [y, *tape.gradient(y, (x, w))]


def counted(x: Any) -> list[Any]:
    i, y = tf.while_loop(
        lambda i, y: tf.reduce_sum(y) < 50.0, lambda i, y: (i + 1, y * 1.5 + 1.0), (tf.constant(0), x)
    )
    return [i, y]


CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "a map and sums": (
        lambda x, y: [tf.sin(x) * y, tf.reduce_sum(x * y, 0), tf.reduce_max(x, 1), tf.reduce_sum(x)],
        [real(5, 7), real(7, seed=1)],
    ),
    "a training step": (
        mlp_step,
        [
            real(6, 5),
            np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 0, 1]],
            real(5, 8),
            real(8),
            real(8, 4),
            real(4),
        ],
    ),
    "a normalisation": (normalised, [real(6, 90), real(90)]),
    "rows of a softmax": (softmax_loss, [real(7, 80), np.abs(real(7, 80, seed=1))]),
    "a scan": (recurrent, [real(5, 3, 4), real(4, 4)]),
    "a while loop": (counted, [real(3)]),
    "a step in Python": (lambda x: [tf.sin(tf.sort(x * 2.0, axis=0)) + 1.0, tf.sort(x)], [real(6, 3)]),
    "views": (
        lambda x: [tf.transpose(x), x[1:, ::2], tf.reshape(tf.sin(x), (-1,))[2:5], x[0, 0], tf.sin(x)[1]],
        [real(4, 6)],
    ),
    "pieces": (lambda x: [tf.concat([x, tf.sin(x)], 1), tf.pad(x, [[1, 0], [0, 2]])], [real(3, 4)]),
    "constants": (
        lambda x: [x + np.arange(4, dtype=np.float32), tf.range(4), tf.sin(x) * 0 + 3],
        [real(3, 4)],
    ),
    "scalars": (lambda x: [tf.sin(x), x * 2 + 1, x], [np.float32(0.5)]),
    "nothing": (lambda x: [tf.sin(x) + 1, tf.reduce_sum(tf.exp(x), 0), tf.reduce_sum(x * x)], [real(0, 4)]),
    "other dtypes": (
        lambda x, k: [tf.cast(x > 0, tf.int32) * k, tf.reduce_any(x > 1, 0), tf.cast(tf.sin(x), tf.float64)],
        [real(3, 4), np.arange(4, dtype=np.int32)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_runs_on_a_device_that_the_host_cannot_look_into(name: str) -> None:
    function, values = CASES[name]
    graph = trace_flat(function, [TensorSpec(np.shape(x), x.dtype) for x in values]).graph
    device = FakeDevice()
    found = run_on(device, graph, values)
    for mine, want in zip(found, evaluate(graph, values), strict=True):
        assert mine.shape == np.shape(want) and mine.dtype == want.dtype
        np.testing.assert_allclose(mine, want, rtol=2e-5, atol=1e-5)
    assert device.steps


def test_sizes_that_are_not_known_run_on_a_device() -> None:
    graph = trace_flat(
        lambda x: [tf.nn.softmax(x) @ tf.transpose(x)], [TensorSpec((None, 4), tf.float32)]
    ).graph
    device = FakeDevice()
    for n in (1, 3, 7):
        x = real(n, 4)
        (found,) = run_on(device, graph, [x])
        np.testing.assert_allclose(found, evaluate(graph, [x])[0], rtol=1e-5, atol=1e-6)


def test_a_variable_stays_on_its_device() -> None:
    variable = tf.Variable(real(3))

    def function() -> list[Any]:
        variable.assign_add(tf.sin(variable))
        return [variable * 2.0]

    traced = tf.function(function).get_concrete_function()
    device = FakeDevice()
    values = [tensor if isinstance(tensor, Handle) else tensor.data for tensor in traced.captured_inputs]
    handles = [to_device(device, value) for value in values]
    (found,) = bound_on(device, traced.graph, values).call(handles) or [None]
    before = real(3)
    after = before + np.sin(before)
    assert isinstance(handles[0].data, DeviceArray)
    np.testing.assert_allclose(handles[0].data.values(), after, rtol=1e-6)
    np.testing.assert_allclose(found.values(), after * 2, rtol=1e-6)


def test_only_steps_in_python_and_constants_cross_over() -> None:
    x = real(8, 3)
    spec = [TensorSpec(x.shape, x.dtype)]
    device = FakeDevice()
    bound = bound_on(device, trace_flat(lambda x: [tf.sin(x) * 2.0 + tf.cos(x)], spec).graph, [x])
    given = [device.to_device(x)]
    before = device.copies
    assert bound.call(given) is not None
    assert device.copies == before
    bound = bound_on(device, trace_flat(lambda x: [tf.sin(tf.sort(tf.cos(x)))], spec).graph, [x])
    before = device.copies
    assert bound.call(given) is not None
    crossings = bound.text.count("to_host(") + bound.text.count("to_device(")
    assert device.copies == before + crossings and crossings >= 2  # what the step takes, and what it gives


def test_an_array_of_the_host_is_not_taken() -> None:
    x = real(3)
    graph = trace_flat(lambda x: [tf.sin(x) + 1.0], [TensorSpec(x.shape, x.dtype)]).graph
    assert bound_on(FakeDevice(), graph, [x]).call([x]) is None


def test_an_address_of_the_host_given_to_a_step_is_a_fault() -> None:
    class Careless(FakeDevice):
        def constant(self, array: np.ndarray) -> tuple[int, Any]:
            return array.ctypes.data, array

    x = real(3)
    graph = trace_flat(lambda x: [tf.sin(x) + real(3, seed=1)], [TensorSpec(x.shape, x.dtype)]).graph
    device = Careless()
    bound = bound_on(device, graph, [x])
    with pytest.raises(DeviceFault, match="which is the host's"):
        bound.call([device.to_device(x)])


def test_an_array_of_the_device_given_to_python_is_a_fault() -> None:
    class Careless(FakeDevice):
        def to_host(self, array: Any) -> Any:
            return array

    x = real(3)
    graph = trace_flat(lambda x: [tf.sin(tf.sort(x))], [TensorSpec(x.shape, x.dtype)]).graph
    device = Careless()
    bound = bound_on(device, graph, [x])
    with pytest.raises((DeviceFault, InternalError)):
        bound.call([device.to_device(x)])


def test_a_loop_whose_limit_is_on_the_device_runs_there() -> None:
    def function(n: Any, x: Any) -> list[Any]:
        return [tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y + x[i]), (0, tf.zeros(())))[1]]

    graph = trace_flat(function, [TensorSpec((), tf.int32), TensorSpec((4,), tf.float32)]).graph
    values = [np.int32(3), real(4)]
    (found,) = run_on(FakeDevice(), graph, values)
    np.testing.assert_allclose(found, values[1][:3].sum(), rtol=1e-6)


def test_a_variable_that_a_step_in_python_takes_is_refused_in_words() -> None:
    variable = tf.Variable(real(40_000))  # small ones are assigned behind the cond

    def function(x: Any) -> list[Any]:
        return [tf.cond(x > 0, lambda: variable.assign(variable * 2.0), lambda: variable.read_value())]

    traced = tf.function(function).get_concrete_function(TensorSpec((), tf.float32))
    values = [np.float32(1), *traced.captured_inputs]
    with pytest.raises(UnavailableError, match="takes a variable and has no code for fake"):
        bound_on(FakeDevice(), traced.graph, values)


def test_a_device_without_a_backend_says_so() -> None:
    with pytest.raises(UnavailableError, match="'tpu' runs no compiled functions"):
        backend_of("tpu")
    assert backend_of("cpu").is_host
