"""A generator that a traced function makes in each call, or in each step of a loop, begins anew there; a kept one goes on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import graphad as tf


def agrees(make: Any, *given: Any) -> None:
    """The same numbers in three calls of the eager, the traced and the compiled function."""
    found = []
    for way in (lambda f: f, tf.function, lambda f: tf.function(f, jit_compile=True)):
        f = way(make())
        found.append([[y.numpy().tolist() for y in tf.nest.flatten(f(*given))] for _ in range(3)])
    assert found[1] == found[0] and found[2] == found[0]


def test_one_for_each_call_and_for_each_step() -> None:
    def make() -> Any:
        def f(x: Any) -> Any:
            g = tf.random.Generator.from_seed(4)
            for _ in tf.range(3):
                h = tf.random.Generator.from_state([7, 2])
                x = x * g.uniform([]) + h.uniform([]) + h.normal([])
                if x > 0.5:
                    x = x - tf.random.Generator.from_seed(5).uniform([])
            return x

        return f

    agrees(make, tf.constant(0.0))


def test_one_that_is_kept_beside_one_for_each_call() -> None:
    def make() -> Any:
        kept: list[Any] = []

        def f(x: Any) -> Any:
            if not kept:
                kept.append(tf.random.Generator.from_seed(3))
            g = tf.random.Generator.from_seed(4)
            for _ in tf.range(3):
                if len(kept) < 2:
                    kept.append(tf.random.Generator.from_seed(5))
                copied = tf.random.Generator(copy_from=kept[1])
                x = x + kept[0].uniform([]) * g.uniform([]) + kept[1].uniform([]) + copied.uniform([])
            return x

        return f

    agrees(make, tf.constant(0.0))


def test_in_a_function_that_is_called_twice_and_differentiated() -> None:
    def make() -> Any:
        kept: list[Any] = []

        @tf.function
        def inner(x: Any) -> Any:
            if not kept:
                kept.append(tf.random.Generator.from_seed(3))
            return x * tf.random.Generator.from_seed(4).uniform([2]) + kept[0].uniform([2])

        def f(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(inner(inner(x)) ** 2.0)
            return loss, tape.gradient(loss, x)

        return f

    agrees(make, tf.ones([2]))


def test_threads_do_not_share_one() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        g = tf.random.Generator.from_seed(4)
        for _ in tf.range(50):
            x = x + g.uniform([])
        return x

    want = f(tf.zeros([2])).numpy()
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.extend(f(tf.zeros([2])).numpy() for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80 and all(np.array_equal(x, want) for x in found)
