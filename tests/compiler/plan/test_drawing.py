"""Loops that draw are native: the numbers, the state of the generator and the errors are those of eager code."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import drawing, numpy_loops
from graphad.tools.explain import explain

X = tf.constant(np.arange(5, dtype=np.float32) * 0.1)


def agrees(make: Any, *given: Any, is_native: bool = True) -> None:
    """The same bits three times, and the same state afterwards."""
    eager, own = tf.random.Generator.from_seed(11), tf.random.Generator.from_seed(11)
    function, compiled = make(eager), tf.function(make(own), jit_compile=True)
    for _ in range(3):
        tf.random.set_seed(3)
        wants = tf.nest.flatten(function(*given))
        after = tf.random.uniform([]).numpy()
        tf.random.set_seed(3)
        found = tf.nest.flatten(compiled(*given))
        assert tf.random.uniform([]).numpy() == after
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()
        assert own.state.numpy().tolist() == eager.state.numpy().tolist()
    units = explain(compiled)(*given).units
    assert not is_native or "repeat" in units, units


def test_a_loop_draws_from_a_generator() -> None:
    def make(g: Any) -> Any:
        def walk(x: Any) -> Any:
            for _ in tf.range(7):
                x = x * 0.5 + g.normal([5])
            return x

        return walk

    agrees(make, X)


def test_two_generators_with_draws_around_the_loop() -> None:
    def make(g: Any) -> Any:
        def walk(x: Any) -> Any:
            x = x + g.uniform([5])
            for _ in tf.range(4):
                x = x * 0.5 + g.normal([5]) + tf.random.normal([5])
            g.skip(3)
            return x + g.uniform([5])

        return walk

    agrees(make, X)


def test_draws_in_branches_and_inner_loops_and_a_loop_that_ends_by_its_test() -> None:
    def make(g: Any) -> Any:
        def walk(x: Any) -> Any:
            while tf.reduce_sum(x) < 10.0:
                if tf.reduce_sum(x) > 5.0:
                    x = x + g.uniform([5])
                else:
                    x = x + tf.random.uniform([5], 0.25, 0.75)
                for _ in tf.range(2):
                    x = x + 0.125 * tf.cast(g.uniform([5], -3, 9, dtype=tf.int32), tf.float32)
            return x

        return walk

    agrees(make, X)


def test_truncated_numbers_and_skips_in_a_loop() -> None:
    def make(g: Any) -> Any:
        def walk(x: Any) -> Any:
            for _ in tf.range(3):
                x = tf.abs(x * 1.5 + 1.0) * 0.25 + g.truncated_normal([5])
                g.skip(2)
            return x

        return walk

    agrees(make, X)


def test_the_gradient_of_a_loop_that_draws() -> None:
    def make(g: Any) -> Any:
        def slope(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(4):
                    y = y * g.uniform([5]) + tf.nn.dropout(y, 0.5)
                loss = tf.reduce_max(y)
            return y, tape.gradient(loss, x)

        return slope

    agrees(make, X)


def test_keys_that_follow_from_the_counter() -> None:
    def make(g: Any) -> Any:
        def walk(x: Any) -> Any:
            for i in tf.range(6):
                x = x * 0.5 + tf.random.stateless_normal([5], tf.stack([i, 7]))
                x = x + tf.random.stateless_uniform([5], tf.cast(tf.stack([i, -i]), tf.int64))
            return x

        return walk

    agrees(make, X)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 1001])
def test_real_numbers_of_stacks_of_keys(dtype: str, count: int) -> None:
    keys = tf.constant(np.arange(6).reshape(3, 2) - 2, tf.int32)

    def f(keys: Any) -> Any:
        draw = lambda key: tf.random.stateless_normal([count], key, dtype=dtype)  # noqa: E731
        flat = lambda key: tf.random.stateless_uniform([count], key, dtype=dtype)  # noqa: E731
        return tf.vectorized_map(draw, keys) * 1.0, tf.vectorized_map(flat, keys) * 1.0

    compiled = tf.function(f, jit_compile=True)
    for want, got in zip(f(keys), compiled(keys), strict=True):
        assert got.numpy().tobytes() == want.numpy().tobytes()
    assert "routine" in explain(compiled)(keys).units


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint32", "uint64"])
def test_integers(dtype: str) -> None:
    bits = np.iinfo(dtype)
    low, high = (tf.constant(x, dtype) for x in (bits.min // 3, bits.max - 1))

    def f(key: Any, low: Any, high: Any) -> Any:
        one = tf.random.stateless_uniform([9], key, low, high, dtype=dtype)
        return one + 1, tf.random.stateless_uniform([5], key, None, None, dtype=dtype) + 1

    key = tf.constant([4, -9])
    compiled = tf.function(f, jit_compile=True)
    for want, got in zip(f(key, low, high), compiled(key, low, high), strict=True):
        assert got.numpy().tobytes() == want.numpy().tobytes()
    assert (compiled(key, low, low)[0].numpy() == low.numpy() + 1).all()


def test_limits_out_of_order_are_the_op_s_error() -> None:
    @tf.function(jit_compile=True)
    def f(low: Any, high: Any) -> Any:
        total = tf.zeros([], tf.int32)
        for i in tf.range(3):
            total = total * 2 + tf.random.stateless_uniform([], tf.stack([i, 1]), low, high, dtype=tf.int32)
        return total

    f(tf.constant(1), tf.constant(50))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 1"):
            f(tf.constant(5), tf.constant(1))


def test_limits_of_no_numbers_are_looked_at_too() -> None:
    @tf.function(jit_compile=True)
    def f(low: Any, high: Any) -> Any:
        return tf.random.stateless_uniform([0], [1, 2], low, high, dtype=tf.int32)

    for _ in range(3):
        assert f(tf.constant(1), tf.constant(5)).shape == (0,)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 5 >= 1"):
            f(tf.constant(5), tf.constant(1))


def test_threads_draw_other_numbers_each() -> None:
    g = tf.random.Generator.from_seed(3)
    other = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def drawn() -> Any:
        found = tf.TensorArray(tf.float64, 50)
        for i in tf.range(50):
            found = found.write(i, g.uniform([], dtype=tf.float64))
        return found.stack()

    @tf.function(jit_compile=True)
    def assigned() -> Any:
        for _ in tf.range(3):
            other.assign_add(tf.random.uniform([]) + tf.cast(g.uniform([]), tf.float32))
        return other + 0.0

    drawn(), assigned()
    g.reset_from_seed(3)
    found: list[Any] = []

    def work() -> None:
        for _ in range(20):
            found.append(drawn().numpy())
            assigned()
            g.next_key()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = np.concatenate(found)
    assert len(np.unique(numbers)) == len(numbers) == 4000
    assert g.state.numpy().tolist() == [3, 4 * 20 * (50 + 3 + 1)]


def test_threads_draw_other_numbers_each_in_branches_of_branches() -> None:
    g = tf.random.Generator.from_seed(3)

    @tf.function(jit_compile=True)
    def drawn(a: Any, b: Any) -> Any:
        if a > 0.0:
            r = g.uniform([], dtype=tf.float64) if b > 0.0 else tf.zeros([], tf.float64)
        else:
            r = tf.ones([], tf.float64)
        return r

    one, found = tf.constant(1.0), []
    drawn(one, one)
    assert "random_set_state" not in explain(drawn)(one, one).units  # a key is taken in one step

    def work() -> None:
        found.extend([float(drawn(one, one)) for _ in range(1000)])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(found)) == len(found) == 4000


def test_skipping_gives_the_new_state() -> None:
    g = tf.random.Generator.from_seed(8)
    assert g.skip(5).numpy().tolist() == [8, 5] and g.state.numpy().tolist() == [8, 5]
    assert g.next_key().numpy().tolist() == [8, 5] and g.skip(0).numpy().tolist() == [8, 6]


def test_a_generator_is_pickled_and_copied_with_its_state() -> None:
    g = tf.random.Generator.from_seed(4)
    g.normal([2])
    for other in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert other.state.numpy().tolist() == [4, 1]
        want = other.normal([2]).numpy()
        assert other.state.numpy().tolist() == [4, 2] and g.state.numpy().tolist() == [4, 1]
    np.testing.assert_array_equal(g.normal([2]), want)


def test_numpys_loops_are_found_here() -> None:
    assert all(drawing.has(kind, "float32") for kind in ("uniform", "normal"))
    assert drawing.has("integers", "int32") and not drawing.has("normal", "bfloat16")
    assert numpy_loops.find(np.log, "f->f") and numpy_loops.find(np.log, "q->q") is None
