"""A `TensorArray` whose elements differ in shape, written and read in loops and branches of traced functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphad as tf

X = np.arange(1.0, 6.0)


def _prefixes(x, n):
    """Element i is the first i + 1 numbers times i + 1; all of them joined, and the sum of their squares, read in a loop."""
    array = tf.TensorArray(tf.float64, size=0, dynamic_size=True, infer_shape=False)
    for i in tf.range(n):
        array = array.write(i, x[: i + 1] * tf.cast(i + 1, tf.float64))
    total = tf.zeros([], tf.float64)
    for i in tf.range(n):
        total += tf.reduce_sum(array.read(i) ** 2)
    return array.concat(), total


def _wanted(n: int) -> tuple[np.ndarray, float, np.ndarray]:
    parts = [X[: i + 1] * (i + 1) for i in range(n)]
    joined = np.concatenate([np.zeros(0), *parts])
    slope = sum((np.pad(2 * part * (i + 1), (0, 4 - i)) for i, part in enumerate(parts)), np.zeros(5))
    return joined, float(np.sum(joined**2)), slope


@pytest.mark.parametrize("jit", [None, True])
def test_elements_of_several_sizes_are_written_read_and_joined(jit: bool | None) -> None:
    f = tf.function(_prefixes, jit_compile=jit)
    for n in (3, 5, 0, 1, 3, 3, 3):
        x = tf.constant(X)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                joined, total = f(x, tf.constant(n))
            slope = tape.gradient(total, x)
            norm = tf.reduce_sum(slope**2)
        wanted = _wanted(n)
        for got, want in zip((joined, total, slope), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
        bend = np.divide(wanted[2], X)
        np.testing.assert_allclose(outer.gradient(norm, x), 2 * wanted[2] * bend, rtol=1e-12)


def test_they_are_kept_in_a_file(tmp_path: Path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float64), tf.TensorSpec([], tf.int32)])
        def __call__(self, x, n):
            return _prefixes(x, n)

    tf.saved_model.save(Model(), tmp_path / "model")
    joined, total = tf.saved_model.load(tmp_path / "model")(tf.constant(X), tf.constant(4))
    np.testing.assert_allclose(joined, _wanted(4)[0])
    np.testing.assert_allclose(total, _wanted(4)[1])


def test_branches_write_elements_of_other_sizes() -> None:
    @tf.function
    def f(x, n):
        array = tf.TensorArray(tf.float64, size=n, infer_shape=False, element_shape=[None, 2])
        for i in tf.range(n):
            if i % 2 == 0:
                array = array.write(i, x[: i + 1])
            else:
                array = array.write(i, tf.concat([x, x], 0))
        return array.concat(), array.read(n - 1), array.size()

    x = np.arange(10.0).reshape(5, 2)
    joined, last, size = f(tf.constant(x), tf.constant(3))
    assert joined.shape == (14, 2)
    np.testing.assert_array_equal(joined, np.concatenate([x[:1], x, x, x[:3]]))
    np.testing.assert_array_equal(last, x[:3])
    assert size.numpy() == 3


def test_known_sizes_that_differ() -> None:
    @tf.function
    def f(n):
        array = tf.TensorArray(tf.int32, size=2, dynamic_size=True, infer_shape=False)
        array = array.write(0, [1, 2]).write(1, [3])
        for i in tf.range(1, n):
            array = array.write(2 * i, [i, i]).write(2 * i + 1, [i, 0, i])
        return array.concat(), array.gather([0, 0])

    joined, twice = f(tf.constant(3))
    np.testing.assert_array_equal(joined, [1, 2, 3, 1, 1, 1, 0, 1, 2, 2, 2, 0, 2])
    np.testing.assert_array_equal(twice, [[1, 2], [1, 2]])


def test_stack_and_unwritten_elements_are_refused() -> None:
    @tf.function
    def f(n, whole):
        array = tf.TensorArray(tf.float32, size=4, infer_shape=False)
        for i in tf.range(n):
            array = array.write(i, tf.ones([i + 1]))
        if whole:
            return array.stack()
        return array.read(2)

    np.testing.assert_array_equal(f(tf.constant(3), False), np.ones(3))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^TensorArray has inconsistent shapes"):
        f(tf.constant(4), True)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^Could not read index 2 of the TensorArray"):
        f(tf.constant(2), False)


def test_only_the_gathered_elements_have_to_have_one_shape() -> None:
    array = tf.TensorArray(tf.int32, size=3, infer_shape=False)
    array = array.write(0, [1]).write(1, [2, 3]).write(2, [4, 5])
    np.testing.assert_array_equal(array.gather([1, 2]), [[2, 3], [4, 5]])


@pytest.mark.parametrize("jit", [False, True])
def test_joining_refuses_an_element_that_was_not_written(jit: bool) -> None:
    @tf.function(jit_compile=jit)
    def joined(n, left_out):
        array = tf.TensorArray(tf.float32, 3, infer_shape=False, element_shape=[None])
        for k in tf.range(n):
            if k != left_out:
                array = array.write(k, tf.ones([k + 1]))
        return array.concat()

    assert joined(tf.constant(3), tf.constant(7)).shape == [6]
    with pytest.raises(tf.errors.InvalidArgumentError, match="TensorArray has inconsistent shapes"):
        joined(tf.constant(3), tf.constant(1))


@pytest.mark.parametrize("jit", [False, True])
def test_no_elements_are_stacked(jit: bool) -> None:
    @tf.function(jit_compile=jit)
    def stacked(n):
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, 2])
        for k in tf.range(n):
            array = array.write(k, tf.ones([k * 0 + 3, 2]))
        return array.stack()

    assert stacked(tf.constant(2)).shape == [2, 3, 2]
    assert tf.size(stacked(tf.constant(0))) == 0
