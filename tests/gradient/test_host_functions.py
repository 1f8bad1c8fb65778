"""`py_function`, `numpy_function` and `timestamp`: Python in the middle of a program, at once and in traced functions."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

import graphad as tf
from graphad.ops.state import clock

X = tf.constant([0.5, 1.0, 2.0])


def cubed(x):
    return x * x * x + float(x.numpy().sum()) * 0.0


def derivatives(f, x):
    """First and second derivative of the sum of f(x)."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(f(x))
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@pytest.mark.parametrize("way", ["eager", "traced", "compiled", "taped inside"])
def test_py_functions_have_derivatives_of_every_order(way):
    def f(x):
        return tf.ensure_shape(tf.py_function(cubed, [x], tf.float32), [3])

    if way == "eager":
        first, second = derivatives(f, X)
    elif way == "taped inside":
        first, second = tf.function(lambda x: derivatives(f, x))(X)
    else:
        first, second = derivatives(tf.function(f, jit_compile=way == "compiled"), X)
    np.testing.assert_allclose(first, 3 * X.numpy() ** 2)
    np.testing.assert_allclose(second, 6 * X.numpy())


@pytest.mark.parametrize("jit", [False, True])
def test_effects_keep_the_programs_order_and_happen_at_every_call(jit):
    seen = []
    v = tf.Variable(0.0)

    @tf.function(jit_compile=jit)
    def f(x):
        tf.py_function(lambda a: seen.append(("first", float(a))), [v.assign_add(x).read_value()], [])
        y = tf.numpy_function(
            lambda a: seen.append(("second", float(a))) or a + np.float32(1), [x], tf.float32
        )
        return y * 2.0

    assert (float(f(tf.constant(1.0))), float(f(tf.constant(2.0)))) == (4.0, 6.0)
    assert seen == [("first", 1.0), ("second", 1.0), ("first", 3.0), ("second", 2.0)]


def test_what_a_numpy_function_gives_is_a_constant_to_tapes():
    for f in (np.square, np.sinh):
        for call in (lambda x: x, tf.function):
            g = call(lambda x, f=f: tf.numpy_function(f, [x], tf.float32))
            with tf.GradientTape() as tape:
                tape.watch(X)
                y = g(X)
            np.testing.assert_allclose(y, f(X.numpy()), rtol=1e-6)
            assert tape.gradient(y, X) is None


def test_several_results_and_inputs_with_and_without_derivatives():
    def both(x, n):
        assert type(n.numpy()) is np.int32
        return [x * tf.cast(n, tf.float32), n + 1]

    @tf.function
    def f(x, n):
        y, m = tf.py_function(both, [x, n], [tf.float32, tf.int32])
        return y, m

    n = tf.constant(3)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y, m = f(X, n)
    assert int(m) == 4
    np.testing.assert_allclose(tape.gradient(y, X), [3.0, 3.0, 3.0])


@pytest.mark.parametrize("call", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_results_that_are_not_those_of_tout_are_refused(call):
    with pytest.raises(ValueError, match="returned 1 values; Tout names 2: float32, int32"):
        call(lambda x: tf.py_function(lambda a: a, [x], [tf.float32, tf.int32]))(X)
    with pytest.raises(TypeError, match="returned float32 where Tout names float64"):
        call(lambda x: tf.numpy_function(lambda a: a, [x], tf.float64))(X)
    with pytest.raises(ValueError, match="returned 0 values; Tout names 1: float32"):
        call(lambda x: tf.py_function(lambda a: None, [x], tf.float32))(X)
    with pytest.raises(ZeroDivisionError):
        call(lambda x: tf.numpy_function(lambda a: 1 / 0, [x], tf.float32))(X)
    with pytest.raises(TypeError, match="func must be callable, got 3"):
        call(lambda x: tf.py_function(3, [x], tf.float32))(X)


def test_arrays_that_a_numpy_function_is_given_cannot_be_written_to():
    def write(a):
        a[0] = 9.0
        return a

    with pytest.raises(ValueError, match="read-only"):
        tf.numpy_function(write, [X], tf.float32)
    with pytest.raises(ValueError, match="read-only"):
        tf.function(lambda x: tf.numpy_function(write, [x], tf.float32))(X)


def test_rows_of_a_vectorized_map_are_called_one_by_one():
    calls = []

    def row(a):
        calls.append(a.shape)
        return a * np.float32(2)

    y = tf.vectorized_map(
        lambda r: tf.ensure_shape(tf.numpy_function(row, [r], tf.float32, stateful=False), [2]),
        tf.ones([3, 2]),
    )
    assert y.numpy().tolist() == [[2.0, 2.0]] * 3
    assert calls == [(2,)] * 3


def test_a_model_with_a_py_function_is_not_saved(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([3])])
        def __call__(self, x):
            return tf.py_function(cubed, [x], tf.float32)

    with pytest.raises(ValueError, match="host_effect"):
        tf.saved_model.save(Model(), tmp_path / "model")


@pytest.mark.parametrize("jit", [None, False, True])
def test_a_timestamp_is_of_the_moment_when_the_program_gets_there(jit, monkeypatch):
    moment = 1000.25
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=lambda: moment))
    now = tf.timestamp if jit is None else tf.function(lambda: tf.timestamp(), jit_compile=jit)
    assert now().dtype == tf.float64 and now().shape == [] and float(now()) == 1000.25
    for moment in (1001.5, 1001.5, 999.0):
        assert float(now()) == moment


def test_a_timestamp_is_saved_and_is_of_its_moment_after_loading(tmp_path, monkeypatch):
    moment = 10.0
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=lambda: moment))

    class Clock(tf.Module):
        @tf.function(input_signature=[])
        def now(self):
            return tf.timestamp()

    tf.saved_model.save(Clock(), tmp_path / "clock")
    moment = 20.0
    loaded = tf.saved_model.load(tmp_path / "clock")
    for moment in (30.0, 40.5):
        assert float(loaded.now()) == moment


def test_the_clock_is_that_of_the_system():
    assert clock.time is time


class Counted:
    """A py_function that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * x

    def staged(self, x):
        return tf.ensure_shape(tf.py_function(self, [x], tf.float32), x.shape)


@pytest.mark.parametrize(
    "way", ["eager", "traced", "compiled", "taped inside", "gradients", "persistent", "jacobian"]
)
def test_what_a_py_function_does_is_done_once_under_derivatives(way):
    counted = Counted()
    f = {"eager": counted.staged, "compiled": tf.function(counted.staged, jit_compile=True)}.get(
        way, tf.function(counted.staged)
    )

    def derived(x, f=f):
        with tf.GradientTape(persistent=way == "persistent") as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, x)
        if way == "persistent":
            np.testing.assert_array_equal(tape.gradient(y, x), first)
        return first

    if way == "taped inside":
        found = tf.function(lambda x: derived(x, counted.staged))(X)
    elif way == "gradients":
        found = tf.function(lambda x: tf.gradients(counted.staged(x), x)[0])(X)
    elif way == "jacobian":
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = f(X)
        found = tf.linalg.diag_part(tape.jacobian(y, X))
    else:
        found = derived(X)
    np.testing.assert_allclose(found, 2 * X.numpy())
    assert counted.calls == 1


def test_each_step_and_branch_runs_its_py_function_once():
    counted = Counted()

    @tf.function
    def f(x):
        for i in tf.range(5):
            if i > 1:
                x = counted.staged(x)
            else:
                x = 2 * x
        return x

    x = tf.constant(1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert counted.calls == 3
    np.testing.assert_allclose(tape.gradient(y, x), 8 * 6.0**7 * 4, rtol=1e-5)
    assert counted.calls == 3
    counted.calls = 0
    found = tf.function(lambda xs: tf.map_fn(counted.staged, xs))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = found(X)
    np.testing.assert_allclose(tape.gradient(y, X), 2 * X.numpy())
    assert counted.calls == 3


def test_tapes_that_nobody_asks_for_are_bounded(monkeypatch):
    from graphad.gradient import host

    counted = Counted()
    f = tf.function(counted.staged)
    monkeypatch.setattr(host, "_MOST_TAPES", 2)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        ys = [f(X) for _ in range(4)]
    assert counted.calls == 4
    for k, y in enumerate(ys):  # the first two are gone: their function runs again, with the same derivative
        np.testing.assert_allclose(tape.gradient(y, X), 2 * X.numpy())
        assert counted.calls == min(4 + k + 1, 6)


def test_a_spec_names_dtype_and_shape_of_a_result():
    spec = tf.TensorSpec([None], tf.float32)
    y = tf.function(lambda x: tf.py_function(lambda a: a + 1, [x], spec))
    assert y.get_concrete_function(X).output_shapes == [None] and y(X).shape == [3]
    with pytest.raises(
        ValueError, match=r"func returned a result of shape \(3,\) where Tout names \(2,\); return that"
    ):
        tf.py_function(lambda a: a, [X], tf.TensorSpec([2], tf.float32))


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_functions_of_the_host_are_decorators_too(run):
    @tf.py_function(Tout=tf.float32)
    def product(x, y):
        """Of two."""
        return x * y

    @tf.numpy_function(Tout=tf.float64)
    def total(x):
        return np.sum(x, dtype=np.float64)

    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(product)(x, x + 1.0)
    np.testing.assert_allclose(y, [6.0, 12.0])
    np.testing.assert_allclose(tape.gradient(y, x), [5.0, 7.0])
    assert product.__name__ == "product" and product.__doc__ == "Of two."
    assert float(run(total)(x)) == 5.0
    with pytest.raises(TypeError, match="numpy_function: func must be callable, got 3"):
        tf.numpy_function(3, [x], tf.float32)


WAYS = {"walked": False, "chosen": None, "compiled": True}


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_that_a_python_function_assigns_is_read_again_in_each_step_and_behind_it(way):
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    def grow(x):
        v.assign_add(1.0)
        return x

    def call(x):
        return tf.ensure_shape(tf.numpy_function(grow, [x], tf.float32), [])

    def looped(x):
        y = tf.while_loop(lambda y: v < 4.0, lambda y: (y * v + w + call(y) * 0.0,), (x,))[0]
        return y, v * 1.0

    def straight(x):
        before = v * 3.0
        v.assign_add(0.5)
        y = call(x) * v
        return before, y, tf.cond(x > 0, lambda: v * call(x) + v, lambda: v * 2.0)

    for f in (looped, straight):
        found = []
        for run in (f, *[tf.function(f, jit_compile=WAYS[way])] * 4):
            v.assign(1.0)
            with tf.GradientTape() as tape:
                ys = run(tf.constant(0.5))
                y = tf.add_n(list(ys))
            found.append([*map(float, ys), float(tape.gradient(y, v)), float(v)])
        assert found[1:] == found[:1] * 4


@pytest.mark.parametrize("way", WAYS)
def test_a_python_function_may_give_a_variable_another_shape(way):
    v = tf.Variable([1.0, 2.0, 3.0], shape=[None])

    def grow(x):
        v.assign(tf.concat([v, [x]], 0))
        return x

    @tf.function(jit_compile=WAYS[way])
    def f(x):
        before = tf.reduce_mean(v)
        y = tf.ensure_shape(tf.numpy_function(grow, [x], tf.float32), [])
        return before, y, tf.reduce_mean(v), tf.shape(v), v[::-1] * y

    for _ in range(4):
        values = [*v.numpy()]
        before, y, mean, shape, turned = f(tf.constant(4.0))
        values.append(4.0)
        assert (float(before), float(y)) == (np.mean(values[:-1], dtype="f"), 4.0)
        assert float(mean) == np.mean(values, dtype="f") and shape.numpy().tolist() == [len(values)]
        assert turned.numpy().tolist() == [4.0 * x for x in reversed(values)]
