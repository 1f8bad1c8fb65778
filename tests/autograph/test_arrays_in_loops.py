"""Arrays to which each step of a loop writes one element more are stacked by the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad
from graphad import TensorArray, float32
from graphad.compiler.plan.executable import Executable

X = np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)


def behind_in_a_range(x: Any) -> Any:
    array = TensorArray(float32, size=0, dynamic_size=True)
    h = x[0] * 0.0
    for t in graphad.range(6):
        h = graphad.tanh(h + x[t])
        array = array.write(array.size(), h)
    return array.stack()


def behind_others(x: Any) -> Any:
    array = TensorArray(float32, size=2, dynamic_size=True, element_shape=[2])
    for row in x:
        array = array.write(array.size(), row * row)
    return array.stack()


def by_a_counter(x: Any) -> Any:
    array = TensorArray(float32, size=0, dynamic_size=True)
    t = graphad.constant(0)
    while t < 6:
        array = array.write(t, x[t] * 2.0)
        t += 1
    return array.stack()


def by_a_counter_over_others(x: Any) -> Any:
    array = TensorArray(float32, size=8, element_shape=[2])
    t = graphad.constant(0)
    while t < 6:
        array = array.write(t, x[t] * 2.0)
        t += 1
    return array.stack()


def until_it_is_enough(x: Any) -> Any:
    array = TensorArray(float32, size=1, dynamic_size=True, element_shape=[2])
    h = x[0] * 0.0
    while graphad.reduce_sum(h) < 3.0:
        h = h + 0.5
        array = array.write(array.size(), h * x[1])
    return array.stack()


def with_an_end(x: Any) -> Any:
    array = TensorArray(float32, size=0, dynamic_size=True)
    for t in graphad.range(6):
        array = array.write(array.size(), x[t] * 3.0)
        if graphad.reduce_sum(x[t]) > 0.0:
            break
    return array.stack()


def two_in_a_step(x: Any) -> Any:
    array = TensorArray(float32, size=0, dynamic_size=True)
    for t in graphad.range(3):
        array = array.write(array.size(), x[t])
        array = array.write(array.size(), x[t] * 2.0)
    return array.stack()


def from_another_start(x: Any) -> Any:
    array = TensorArray(float32, size=0, dynamic_size=True)
    t = graphad.constant(2)
    while t < 6:
        array = array.write(t, x[t])
        t += 1
    return array.stack()


def over_the_last(x: Any) -> Any:
    """The size is that before the first write, so that the second one replaces it."""
    array = TensorArray(float32, size=0, dynamic_size=True)
    for t in graphad.range(3):
        n = array.size()
        array = array.write(n, x[t])
        array = array.write(n, x[t] * 2.0)
    return array.stack()


def size_read_before(x: Any) -> Any:
    """A size of the array as it was before the step."""
    array = TensorArray(float32, size=0, dynamic_size=True)
    total = graphad.constant(0)
    for t in graphad.range(4):
        n = array.size()
        total = total + n
        array = array.write(n, x[t])
    return array.stack() * graphad.cast(total, float32)


STACKED = [behind_in_a_range, behind_others, by_a_counter, by_a_counter_over_others, until_it_is_enough]
CARRIED = [with_an_end, two_in_a_step, from_another_start, over_the_last, size_read_before]


def gradient(function: Any, x: Any) -> Any:
    with graphad.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
        loss = graphad.reduce_sum(graphad.sin(y) * y)
    return y, tape.gradient(loss, x)


@pytest.mark.parametrize("function", [*STACKED, *CARRIED])
def test_values_and_gradients_are_those_of_eager_code(function: Any) -> None:
    x = graphad.constant(X)
    wanted = gradient(function, x)
    for jit in (False, True):
        inside = graphad.function(lambda x: gradient(function, x), jit_compile=jit)
        outside = graphad.function(function, jit_compile=jit)
        for _ in range(2):
            for a, b in zip(wanted, inside(x), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            for a, b in zip(wanted, gradient(outside, x), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", STACKED)
def test_no_step_carries_the_array(function: Any) -> None:
    graph = graphad.function(function).get_concrete_function(graphad.TensorSpec([6, 2])).graph
    (loop,) = [node for node in graph.nodes if node.op.repeats]
    assert all(len(spec.dims) < 2 for spec in loop.op.operands.carries(loop.op.body.inputs))


@pytest.mark.parametrize("function", [behind_in_a_range, behind_others, by_a_counter])
def test_such_loops_and_their_derivatives_are_native(function: Any) -> None:
    traced = graphad.function(lambda x: gradient(function, x))
    executable = Executable(traced.get_concrete_function(graphad.TensorSpec([6, 2])).graph)
    executable.run([X], True)
    plan = executable.sizes_of([X]).size_class.compilation.schedule
    kinds = [unit.kind for unit in plan.partition.units]
    assert "host" not in kinds and kinds.count("repeat") == 2


def test_a_step_may_read_an_array_of_unknown_elements_before_it_writes() -> None:
    @graphad.function
    def f(x: Any) -> Any:
        array = TensorArray(float32, size=0, dynamic_size=True, clear_after_read=False)
        i = 0
        while graphad.reduce_sum(x) < 40.0:
            if i > 1:
                x = x + graphad.reduce_sum(array.stack()[:i]) + graphad.reduce_max(array.read(i - 1))
            array = array.write(i, x)
            i += 1
            x = x * 1.5
        return x, array.stack()

    def expected(x: Any) -> Any:
        rows = []
        while x.sum() < 40.0:
            if len(rows) > 1:
                x = x + np.stack(rows).sum() + rows[-1].max()
            rows.append(x)
            x = x * 1.5
        return x, np.stack(rows)

    for start in (2.0, [1.0, 3.0]):
        last, rows = f(graphad.constant(start))
        np.testing.assert_allclose(last, expected(np.float32(start))[0], rtol=1e-6)
        np.testing.assert_allclose(rows, expected(np.float32(start))[1], rtol=1e-6)


def test_an_array_that_no_step_writes_is_refused_where_it_is_read() -> None:
    @graphad.function
    def f(n: Any) -> Any:
        array = TensorArray(float32, size=2)
        total = graphad.constant(0.0)
        for i in graphad.range(n):
            total += array.read(i)
        return total

    with pytest.raises(graphad.errors.InvalidArgumentError, match="no element was written yet"):
        f(graphad.constant(2))
