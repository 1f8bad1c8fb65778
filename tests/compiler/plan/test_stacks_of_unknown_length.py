"""Loops of which only the run knows the number of steps are native, and so are their derivatives: their stacks grow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import growing
from graphad.compiler.plan.executable import Executable
from graphad.compiler.plan.schedule import COPIED, GROWN
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.ops.control.loop import Loop
from graphad.tools.explain import explain
from graphad.trace.tracer import trace_flat
from tests.support.memory import nothing_prepared
from tests.support.rooms import ROOT

STEPS = [0, 1, 2, 17, 300]
X = np.linspace(0.5, 2.0, 4)


def until_small(x: Any, n: Any) -> Any:
    """n rounds, of which the test knows only one after the other."""
    i, y = tf.constant(0), x
    while i < n:
        y = 0.9 * y - 0.05 * y * y
        i += 1
    return tf.reduce_sum(y * x)


def nested(x: Any, n: Any) -> Any:
    y = x
    for k in tf.range(5):
        i = tf.constant(0)
        while i < n - 2 * k:
            y = y - 0.01 * y * y * x
            i += 1
        y = 1.01 * y
    return tf.reduce_sum(y)


def nested_in_a_while(x: Any, n: Any) -> Any:
    y, j = x, tf.constant(0)
    while j < n:
        i = tf.constant(0)
        while i < j % 4:
            y = y - 0.01 * y * y * x
            i += 1
        y = 1.01 * y
        j += 1
    return tf.reduce_sum(y)


def with_break(x: Any, n: Any) -> Any:
    y = x
    for i in tf.range(n):
        y = 0.95 * tf.sin(y) + 0.01 * y * tf.cast(i % 3, tf.float64)
        if tf.reduce_max(y) < 0.3:
            break
    return tf.reduce_sum(y)


def two_loops(x: Any, n: Any) -> Any:
    return until_small(x, n) * until_small(0.5 * x, n - 1) + nested(x, n)


def with_a_branch(x: Any, n: Any) -> Any:
    i, y = tf.constant(0), x
    while i < n:
        if tf.reduce_sum(y) > 3.0:
            y = 0.5 * y * x
        else:
            y = y + 0.1 * x * x
        i += 1
    return tf.reduce_sum(y)


PROGRAMS = [until_small, nested, nested_in_a_while, with_break, two_loops, with_a_branch]


def gradient_of(f: Any) -> Any:
    def gradient(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, n)
        return y, tape.gradient(y, x)

    return gradient


def second_of(f: Any) -> Any:
    def second(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            slope = gradient_of(f)(x, n)[1]
            y = tf.reduce_sum(slope * slope)
        return slope, tape.gradient(y, x)

    return second


def tangent_of(f: Any) -> Any:
    def tangent(x: Any, n: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x, n)
        return y, accumulator.jvp(y)

    return tangent


def tangent_of_gradient(f: Any) -> Any:
    def tangent(x: Any, n: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = gradient_of(f)(x, n)[1]
        return y, accumulator.jvp(y)

    return tangent


def both(f: Any, steps: Any = STEPS, exact: bool = True) -> Any:
    """The compiled function, after a look at its results beside those of the evaluation with NumPy."""
    plain, compiled = tf.function(f, jit_compile=False), tf.function(f, jit_compile=True)
    for n in [*steps, *steps[::-1]]:
        given = tf.constant(X), tf.constant(n)
        for a, b in zip(plain(*given), compiled(*given), strict=True):
            if exact:
                assert np.array_equal(a.numpy(), b.numpy()), n
            else:
                np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-12)
    return compiled


@pytest.mark.parametrize("way", [gradient_of, second_of, tangent_of, tangent_of_gradient])
@pytest.mark.parametrize("f", PROGRAMS)
def test_loops_of_derivatives_are_native_with_the_same_values(f, way):
    units = explain(both(way(f), exact=False))(tf.constant(X), tf.constant(3)).units
    assert "repeat" in units and "host" not in units, units


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_agree_with_differences(f):
    compiled, step = tf.function(gradient_of(f), jit_compile=True), 1e-6
    for n in (1, 9):
        _, found = compiled(tf.constant(X), tf.constant(n))
        ways = np.eye(len(X)) * step
        wanted = [
            (f(tf.constant(X + e), tf.constant(n)) - f(tf.constant(X - e), tf.constant(n))).numpy()
            for e in ways
        ]
        np.testing.assert_allclose(found.numpy(), np.array(wanted) / (2 * step), rtol=1e-6, atol=1e-8)


def test_maps_have_the_bits_of_a_loop_of_known_length():
    def body(y: Any) -> Any:
        return 0.9 * y - 0.05 * y * y

    def unknown(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, i = x, tf.constant(0)
            while i < n:
                y = body(y)
                i += 1
        return y, tape.gradient(y, x)

    def known(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(40):
                y = body(y)
        return y, tape.gradient(y, x)

    both(unknown)
    given = tf.constant(X), tf.constant(40)
    for a, b in zip(
        tf.function(unknown, jit_compile=True)(*given), tf.function(known, jit_compile=True)(*given)
    ):
        assert a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("first", [1, 40])
@pytest.mark.parametrize("f", [until_small, nested_in_a_while])
def test_room_grows_keeps_what_is_there_and_is_given_back(f, first, monkeypatch):
    monkeypatch.setattr(growing, "_FIRST_BYTES", first)
    monkeypatch.setattr(growing, "_KEPT_BYTES", 4000)
    both(gradient_of(f), [3, 100, 0, 5, 64, 65], exact=False)


def test_large_stacks_do_not_outlive_the_call():
    f = tf.function(gradient_of(until_small), jit_compile=True)
    x = tf.constant(np.ones(50_000))
    f(x, tf.constant(2))
    nothing_prepared()
    tracemalloc.start()
    try:
        f(x, tf.constant(60))
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most > 60 * 400_000 > 8 * kept


def test_stacks_leave_and_enter_native_code():
    """What the loops collect is read in between by ops whose sizes only the run knows."""

    def f(x: Any, n: Any) -> Any:
        found = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=[4])
        i, y = tf.constant(0), x
        while i < n:
            y = 0.9 * y - 0.05 * y * y
            found = found.write(i, y)
            i += 1
        stack = found.stack()
        return tf.reduce_sum(stack * stack) + tf.reduce_sum(x)

    compiled = both(gradient_of(f), exact=False)
    both(second_of(f), exact=False)
    kinds = [
        line
        for line in explain(compiled)(tf.constant(X), tf.constant(3)).buffers
        if COPIED in line or GROWN in line
    ]
    assert kinds
    units = explain(compiled)(tf.constant(X), tf.constant(3)).units
    assert units.count("repeat: loop") == 2 and "host: loop" not in units, units


@pytest.mark.parametrize("f", [until_small, nested, nested_in_a_while])
def test_stacks_pass_from_segment_to_segment(f):
    """A step in Python between a loop and its derivative, also where each round collects another number of slices."""

    def cut(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, n)
        bar = tf.numpy_function(lambda a: a, [y], tf.float64)
        return y, tape.gradient(y, x, output_gradients=tf.ensure_shape(bar, []))

    compiled = both(cut, [0, 1, 7, 12], exact=False)
    explained = explain(compiled)(tf.constant(X), tf.constant(3))
    assert "host: loop" not in explained.units, explained.units
    assert any(COPIED in line for line in explained.buffers)


def test_residuals_of_a_call_leave_a_compiled_function():
    for f in (until_small, nested, nested_in_a_while):
        compiled = tf.function(f, jit_compile=True)
        for n in (0, 1, 7, 9, 7):
            given = tf.constant(X), tf.constant(n)
            for a, b in zip(gradient_of(f)(*given), gradient_of(compiled)(*given), strict=True):
                np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12, atol=1e-12)


def test_rows_of_a_jacobian():
    def hessian(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            slope = gradient_of(until_small)(x, n)[1]
        return (tape.jacobian(slope, x),)

    both(hessian, [0, 1, 8], exact=False)


def test_variables_that_rounds_assign():
    def make() -> Any:
        v = tf.Variable(np.float64(0.5))

        def f(x: Any, n: Any) -> Any:
            i, y = tf.constant(0), x
            while i < n:
                v.assign(0.9 * v + 0.01 * tf.reduce_sum(y))
                y = y * 0.9 + v * x * 0.1
                i += 1
            return tf.reduce_sum(y * y)

        return f, v

    (f, v), (g, w) = make(), make()
    plain = tf.function(gradient_of(f), jit_compile=False)
    compiled = tf.function(gradient_of(g), jit_compile=True)
    for n in (0, 1, 30, 3):
        given = tf.constant(X), tf.constant(n)
        for a, b in zip(plain(*given), compiled(*given), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12)
        np.testing.assert_allclose(w.numpy(), v.numpy(), rtol=1e-12)


def test_threads_have_stacks_of_their_own():
    f = tf.function(gradient_of(nested_in_a_while), jit_compile=True)
    given = [(tf.constant(X * (1 + k / 8)), tf.constant(20 + 30 * k)) for k in range(4)]
    wanted = [[y.numpy() for y in f(*each)] for each in given]
    wrong = []

    def run(k: int) -> None:
        for _ in range(40):
            if not all(np.array_equal(a.numpy(), b) for a, b in zip(f(*given[k]), wanted[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_loaded_function_is_native_too(tmp_path):
    module = tf.Module()
    module.f = tf.function(
        gradient_of(nested), input_signature=[tf.TensorSpec([4], tf.float64), tf.TensorSpec([], tf.int32)]
    )
    tf.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    for n in (0, 6):
        given = tf.constant(X), tf.constant(n)
        for _ in range(3):
            found = loaded.f(*given)
        for a, b in zip(module.f(*given), found, strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12)


def test_a_limit_beyond_a_stack_of_unknown_length_is_refused():
    """A file may hold such a loop: no round reads behind the stack that another loop has collected."""
    collects = trace_flat(lambda x: [x * 0.5, x], [TensorSpec((), "float64")]).graph
    holds = trace_flat(lambda x: [x > 1.0], [TensorSpec((), "float64")]).graph
    adds = trace_flat(lambda c, x: [c + x], [TensorSpec((), "float64")] * 2).graph

    def f(x: Any, limit: Any) -> Any:
        _, count, stack = bind(Loop(holds, collects, 1, 0, 0), tf.constant(1000), x)
        total, _ = bind(
            Loop(None, adds, 1, 0, 1, reverse=True), count + limit, tf.constant(0.0, tf.float64), stack
        )
        return [total]

    graph = trace_flat(f, [TensorSpec((), "float64"), TensorSpec((), "int32")]).graph
    executable = Executable(graph)
    for more in (0, -2):
        given = np.float64(40.0), np.int32(more)
        assert executable.run(given, True)[0] == executable.run(given, False)[0]
    assert executable.sizes_of(given).native is not None
    for jit in (False, True):
        with pytest.raises(InvalidArgumentError):
            executable.run((np.float64(40.0), np.int32(1)), jit)


PROGRAM = """
import json, resource, sys
import graphad as tf
@tf.function(jit_compile=True)
def f(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        i, y = tf.constant(0), x
        while i < n:
            y = y * y
            i += 1
    return tape.gradient(y, x)
x = tf.ones([2**17])
f(x, tf.constant(2))
with open("/proc/self/statm") as file:
    limit = int(file.read().split()[0]) * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = []
for n in (10, 100000, 10):
    try:
        found.append(float(f(x, tf.constant(n))[0]))
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_loop_that_collects_too_much_says_so_and_gives_it_back(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "program.py")]
    given = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=given)
    before, error, after = json.loads(ran.stdout)
    assert before == after == 1024.0
    assert error.startswith(
        "ResourceExhaustedError: loop: what it collects takes 524288 bytes in each step"
    ), error


@pytest.mark.parametrize("room", [15_000, 11_000])
def test_where_memory_is_scarce_stacks_grow_in_a_few_steps_or_are_given_back(room, monkeypatch):
    """Growing by one slice copies all of them in each round."""
    made, asked, held = growing.Stacks._made, [], []

    def scarce(stacks, count):
        asked.append(count)
        held[:] = [stacks]
        if count > room:
            raise stacks._exhausted(count, MemoryError("none left"))
        return made(stacks, count)

    monkeypatch.setattr(growing.Stacks, "_made", scarce)

    @tf.function(jit_compile=True)
    def collected(x, n):
        i, rows = tf.constant(0), tf.TensorArray(tf.float32, 0, dynamic_size=True)
        while i < n:
            rows = rows.write(i, x * tf.cast(i, tf.float32))
            i += 1
        return rows.stack()

    x, n = tf.ones([4]), tf.constant(14_000)
    if room > 14_000:
        assert collected(x, n).shape == (14_000, 4)
    else:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="use fewer steps"):
            collected(x, n)
        assert not held[0]._arrays
    assert len(asked) < 30
    np.testing.assert_array_equal(collected(x, tf.constant(3)), np.arange(3.0)[:, None] * np.ones((3, 4)))


def test_a_loop_that_ends_early_along_a_stack_of_unknown_length_leaves_zeros():
    """Also where its room holds the slices of an earlier run."""
    number, double = TensorSpec((), "float64"), TensorSpec((), "float64")
    collects = trace_flat(lambda x: [x * 0.5, x], [number]).graph
    holds = trace_flat(lambda x: [x > 1.0], [number]).graph
    adds = trace_flat(lambda c, x: [c + x, c + x], [number, double]).graph
    below = trace_flat(lambda c: [c < 100.0], [number]).graph

    def f(x: Any) -> Any:
        _, count, stack = bind(Loop(holds, collects, 1, 0, 0), tf.constant(1000), x)
        total, _, sums = bind(Loop(below, adds, 1, 0, 1), count, tf.constant(0.0, tf.float64), stack)
        return [total, sums]

    executable = Executable(trace_flat(f, [number]).graph)
    for start in (60.0, 4000.0, 60.0, 150.0, 0.5):
        given = [np.float64(start)]
        for found, want in zip(executable.run(given, True), executable.run(given, False), strict=True):
            np.testing.assert_array_equal(found, want)
    assert executable.sizes_of(given).native is not None


def test_a_stack_is_not_taken_to_be_as_long_as_that_of_another_loop():
    """A reshape to the shape of the other one fails where the lengths differ."""

    def rows(x: Any, most: Any, bound: Any) -> Any:
        holds = trace_flat(lambda x, b: [x < b], [TensorSpec((), "float64")] * 2).graph
        collects = trace_flat(lambda x, b: [x + 1.0, x], [TensorSpec((), "float64")] * 2).graph
        return bind(Loop(holds, collects, 1, 1, 0), most, x, bound)[2]

    @tf.function(jit_compile=True)
    def f(x: Any, most: Any, low: Any, high: Any) -> Any:
        a, b = rows(x, most, low), rows(x, most, high)
        return tf.reshape(a, tf.shape(b)), b * 2.0

    x, most, low, high = tf.constant(0.0, tf.float64), tf.constant(9), *tf.constant([3.0, 5.0], tf.float64)
    np.testing.assert_array_equal(f(x, most, low, low), [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]])
    with pytest.raises(InvalidArgumentError):
        f(x, most, low, high)
