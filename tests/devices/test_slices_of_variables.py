"""Slices of a variable on a device are changed in its own array where nobody else can see that, and stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.devices import notes
from tests.devices import fake_cupy

ROWS, IDS = 6, [4, 1, 4, 0]
UPDATES = np.random.default_rng(3).uniform(1.0, 2.0, (4, 3)).astype(np.float32)


def table(place: str) -> Any:
    with tf.device(place):
        return tf.Variable(np.arange(1.0, 3.0 * ROWS + 1).reshape(ROWS, 3).astype(np.float32))


def slices(place: str) -> Any:
    with tf.device(place):
        return tf.IndexedSlices(tf.constant(UPDATES), tf.constant(IDS))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "max", "min", "update"])
def test_rows_are_changed_in_place(name: str) -> None:
    here, there = table("cpu"), table("cuda")
    memory, before = there.place.data.held.data.ptr, dict(notes.runs_on_host)
    getattr(here, f"scatter_{name}")(slices("cpu"))
    getattr(there, f"scatter_{name}")(slices("cuda"))
    assert notes.runs_on_host == before
    assert there.place.data.held.data.ptr == memory, "the table is not copied"
    np.testing.assert_allclose(there.numpy(), here.numpy(), rtol=1e-6)


def test_what_was_read_before_is_kept() -> None:
    v = table("cuda")
    with tf.device("cuda"):
        seen, part = v.value(), v[4:]
        want, of_part = seen.numpy(), part.numpy()
        v.scatter_update(slices("cuda"))
    np.testing.assert_array_equal(seen.numpy(), want)
    np.testing.assert_array_equal(part.numpy(), of_part)
    np.testing.assert_array_equal(v.numpy()[4], UPDATES[2])


def test_lists_and_numbers_of_the_program_are_taken() -> None:
    v = table("cuda")
    v.scatter_nd_add([[1], [1]], [[1.0, 2.0, 3.0]] * 2)
    np.testing.assert_array_equal(v.numpy()[1], [6.0, 9.0, 12.0])
    with pytest.raises(ValueError, match="scatter_update"):
        v.scatter_nd_update([[9]], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_of_an_embedding_costs_its_rows(compiled: bool) -> None:
    """A table is neither copied nor read whole by SGD's step."""
    found = {}
    for place in ("cpu", "cuda"):
        v = table(place)
        rule = tf.keras.optimizers.SGD(0.5)

        def step(ids: Any, v: Any = v, rule: Any = rule) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.embedding_lookup(v, ids) ** 2)
            rule.apply_gradients([(tape.gradient(loss, v), v)])
            return loss

        run = tf.function(step, jit_compile=True) if compiled else step
        with tf.device(place):
            ids = tf.constant(IDS)
            run(ids)
            memory = v.place.data.held.data.ptr if place == "cuda" else 0
            fake_cupy.calls.clear()
            run(ids)
            if place == "cuda":
                assert v.place.data.held.data.ptr == memory
        found[place] = v.numpy()
    np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=1e-5)
