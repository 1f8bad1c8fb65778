"""Control flow from source in every tier: derivatives of any order, rows, forward mode, and files."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.random_control_flow import Box, program

SEEDS = range(1000, 1024)


def arguments(seed):
    random = np.random.default_rng(seed)
    x = tf.constant(random.normal(size=3))
    y = tf.constant(random.normal(), tf.float64)
    return x, y, tf.constant(int(random.integers(0, 5))), tf.constant(random.normal(size=(4, 3)))


def plain_and_converted(seed):
    made = program(seed)

    def plain(x, y, n):
        return made(tf, x, y, n, seed % 2 == 0, Box(y * 1.5))

    return plain, tf.function(plain)


def agree(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-8, atol=1e-10)


def gradient(f, x, y, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = f(x, y, n)
    return tape.gradient(out, x, unconnected_gradients="zero")


def hessian(f, x, y, n):
    with tf.GradientTape() as outer:
        outer.watch(x)
        g = gradient(f, x, y, n)
    return outer.jacobian(g, x, unconnected_gradients="zero")


def forward(f, x, y, n):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        out = f(x, y, n)
    return accumulator.jvp(out, unconnected_gradients=tf.UnconnectedGradients.ZERO)


@pytest.mark.parametrize("seed", SEEDS)
def test_second_derivatives_forward_mode_and_rows(seed):
    plain, converted = plain_and_converted(seed)
    x, y, n, rows = arguments(seed)
    agree(hessian(converted, x, y, n), hessian(plain, x, y, n))
    agree(forward(converted, x, y, n), forward(plain, x, y, n))
    wanted = tf.stack([plain(row, y, n) for row in rows])
    agree(tf.vectorized_map(lambda row: converted(row, y, n), rows), wanted)
    agree(tf.vectorized_map(lambda row: plain(row, y, n), rows), wanted)


@pytest.mark.parametrize("seed", list(SEEDS)[::4])
def test_after_save_and_load(seed, tmp_path):
    plain, _ = plain_and_converted(seed)
    x, y, n, _ = arguments(seed)

    class Saved(tf.Module):
        @tf.function(
            input_signature=[
                tf.TensorSpec([3], tf.float64),
                tf.TensorSpec([], tf.float64),
                tf.TensorSpec([], tf.int32),
            ]
        )
        def run(self, x, y, n):
            return plain(x, y, n)

    saved = Saved()
    saved.run(x, y, n)
    tf.saved_model.save(saved, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    agree(loaded.run(x, y, n), plain(x, y, n))
    agree(gradient(loaded.run, x, y, n), gradient(plain, x, y, n))
    agree(hessian(loaded.run, x, y, n), hessian(plain, x, y, n))


def power(x, n):
    out = tf.ones_like(x)
    while n > 0:
        if n % 2 == 1:
            out = out * x
        x = x * x
        n = n // 2
    return out


def test_derivatives_of_a_loop_whose_length_depends_on_data():
    x = tf.constant([1.1, -0.7])
    f = tf.function(power)
    for n in (0, 1, 5, 12):
        with tf.GradientTape() as third:
            third.watch(x)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch(x)
                    y = f(x, tf.constant(n))
                g = first.gradient(y, x, unconnected_gradients="zero")
            h = second.gradient(g, x, unconnected_gradients="zero")
        t = third.gradient(h, x, unconnected_gradients="zero")
        z = x.numpy()
        np.testing.assert_allclose(y.numpy(), z**n, rtol=1e-4)
        np.testing.assert_allclose(g.numpy(), n * z ** (n - 1), rtol=1e-4)
        np.testing.assert_allclose(h.numpy(), n * (n - 1) * z ** max(n - 2, 0), rtol=1e-4)
        np.testing.assert_allclose(t.numpy(), n * (n - 1) * (n - 2) * z ** max(n - 3, 0), rtol=1e-4)
    assert f.experimental_get_tracing_count() == 1


def test_rows_take_branches_and_steps_of_their_own():
    def collatz(n):
        steps = 0
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    def plain(n):
        steps = 0
        while n > 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    numbers = list(range(1, 12))
    wanted = [plain(n) for n in numbers]
    assert tf.vectorized_map(collatz, tf.constant(numbers)).numpy().tolist() == wanted
    mapped = tf.function(lambda ns: tf.vectorized_map(collatz, ns))
    assert mapped(tf.constant(numbers)).numpy().tolist() == wanted


def test_a_jacobian_by_rows_through_control_flow():
    def f(x):
        if tf.reduce_sum(x) > 0.0:
            y = x * x
        else:
            y = tf.sin(x)
        for i in tf.range(2):
            y = y * x
        return y

    x = tf.constant([[0.5, 1.0], [-2.0, 0.3]])
    rows = tf.function(lambda x: tf.vectorized_map(f, x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = rows(x)
    found = tape.batch_jacobian(y, x)
    for k in range(2):
        row = tf.constant(x.numpy()[k])
        with tf.GradientTape() as tape:
            tape.watch(row)
            z = f(row)
        np.testing.assert_allclose(found.numpy()[k], tape.jacobian(z, row).numpy(), rtol=1e-5)


def test_gradients_of_variables_through_loops():
    w, b = tf.Variable(0.5), tf.Variable(0.1)

    def loss(x):
        h = 0.0
        for v in x:
            h = tf.tanh(w * h + v + b)
            if h < 0.0:
                h = h * w
        return h

    x = tf.constant([0.3, -1.0, 0.5])
    results = []
    for run in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            y = run(x)
        results.append([g.numpy() for g in tape.gradient(y, [w, b])])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)


def test_a_loop_with_an_if_and_a_break_is_compiled():
    @tf.function(jit_compile=True)
    def f(x):
        for i in tf.range(1000):
            if x > 1.5:
                x = x - 0.001
            else:
                x = x * 1.001
            if x < 0.0:
                break
        return x

    assert f(tf.constant(1.0)).numpy() == pytest.approx(1.5, abs=0.01)
    assert f(tf.constant(-1.0)).numpy() == pytest.approx(-1.001)
    text = str(tf.explain(f)(tf.constant(1.0)))
    assert "== tier ==\nnative: " in text
