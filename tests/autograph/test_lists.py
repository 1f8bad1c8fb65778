"""Lists that grow in loops and branches over tensors, where that is asked for."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

LISTS = tf.autograph.experimental.Feature.LISTS


def staged(f):
    return tf.function(f, experimental_autograph_options=LISTS)


def positive_squares(x):
    out = [x[0] * 0.0]
    for v in x:
        if v > 0.0:
            out.append(v * v)
    total = 0.0
    for v in out:
        total += v
    return tf.stack(out), total, out[-1], len(out)


def test_a_list_that_grows_becomes_a_stack():
    x = tf.constant([1.0, -2.0, 3.0])
    results = []
    for run in (positive_squares, staged(positive_squares)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows, total, last, count = run(x)
        results.append(
            (rows.numpy(), total.numpy(), last.numpy(), int(count), tape.gradient(total, x).numpy())
        )
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a)


def test_a_list_that_begins_empty():
    @staged
    def f(n):
        out = []
        for i in tf.range(n):
            out.append([i, 2 * i])
        return tf.stack(out)

    assert f(tf.constant(3)).numpy().tolist() == [[0, 0], [1, 2], [2, 4]]


def test_elements_are_taken_from_the_end():
    @staged
    def f(n):
        out = [0.0]
        for i in tf.range(n):
            out.append(tf.cast(i, tf.float32))
        last = out.pop()
        return last, len(out)

    last, count = f(tf.constant(4))
    assert (last.numpy(), count.numpy()) == (3.0, 4)


def test_lists_of_python_loops_stay_lists():
    @staged
    def f(x):
        names, out = [], []
        for i in range(3):
            names.append(str(i))
            out.append(x * float(i))
        last = out.pop()
        assert names == ["0", "1", "2"]
        return out, last

    out, last = f(tf.constant(2.0))
    assert [y.numpy() for y in out] == [0.0, 2.0]
    assert last.numpy() == 4.0


def test_a_list_of_the_caller_is_the_same_list_eagerly():
    given = []

    def f(items, x):
        items.append(x)
        return items

    made = tf.autograph.to_graph(f, experimental_optional_features=LISTS)
    assert made(given, 1.0) is given
    assert given == [1.0]


def test_elements_of_two_shapes_are_refused():
    @staged
    def f(n):
        out = [tf.zeros([2])]
        for i in tf.range(n):
            out.append(tf.zeros([3]))
        return tf.stack(out)

    with pytest.raises(ValueError, match=r"Incompatible shape for value \(\(3,\)\), expected \(\(2,\)\)"):
        f(tf.constant(2))
