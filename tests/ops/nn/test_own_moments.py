"""Normalisations of each example: what they refuse, unknown sizes, small floats, the layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(4).normal(size=(2, 4, 5, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.nn.group_normalization(X, 4), "6 channels cannot be divided into 4 equal groups"),
        (lambda: tf.nn.group_normalization(X, 0), "groups is 0; it must be an integer, 1 or more"),
        (lambda: tf.nn.group_normalization(X, 2.0), "groups is 2.0; it must be an integer"),
        (lambda: tf.nn.group_normalization(X, True), "groups is True; it must be an integer"),
        (lambda: tf.nn.group_normalization(X, 2, axis=0), "is that of the batch"),
        (lambda: tf.nn.group_normalization(X, 2, axis=4), "axis 4 is out of range"),
        (lambda: tf.nn.group_normalization(X, 2, offset=np.ones(5, "f")), r"offset has shape \(5,\)"),
        (lambda: tf.nn.instance_normalization(X, scale=np.ones(5, "f")), r"scale has shape \(5,\)"),
        (lambda: tf.nn.layer_normalization(X, [1, 3], scale=np.ones(6, "f")), r"scale has shape \(6,\); .*\(4, 6\)"),
        (lambda: tf.nn.layer_normalization(X.astype(int)), "a float dtype is needed"),
        (lambda: tf.keras.layers.GroupNormalization(4)(X), "6 channels cannot be divided into 4 equal groups"),
        (lambda: tf.keras.layers.GroupNormalization(2, axis=7)(X), "axis 7 is out of range"),
    ],
)  # fmt: skip
def test_what_cannot_be_normalised_is_refused(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("groups", [2, 1, -1])
def test_unknown_sizes_give_the_same(axis: int, groups: int) -> None:
    groups = X.shape[axis] if groups < 0 else groups
    shape: list[int | None] = [None] * 4
    shape[axis] = X.shape[axis]
    f = tf.function(lambda x: tf.nn.group_normalization(x, groups, axis))
    concrete = f.get_concrete_function(tf.TensorSpec(shape))
    assert concrete.output_shapes.as_list() == shape
    want = tf.nn.group_normalization(X, groups, axis)
    np.testing.assert_array_equal(concrete(tf.constant(X)), want)
    np.testing.assert_allclose(tf.reduce_mean(want), 0.0, atol=1e-6)
    assert concrete(tf.zeros([0, *X.shape[1:]])).shape == (0, 4, 5, 6)


def test_the_number_of_channels_must_be_known_while_tracing() -> None:
    f = tf.function(lambda x: tf.nn.group_normalization(x, 2))
    for spec, words in ((tf.TensorSpec([2, None]), "number of channels"), (tf.TensorSpec(None), "rank of x")):
        with pytest.raises(ValueError, match=words):
            f.get_concrete_function(spec)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_moments_of_small_floats_are_wide(dtype: Any) -> None:
    """Sums of 4,000 squares near 100 are out of float16's range, and steps of bfloat16 are larger than the summands."""
    x = tf.cast(tf.constant(np.random.default_rng(0).normal(9.0, 1.0, (1, 4000, 2))), dtype)
    for call in (tf.nn.instance_normalization, lambda x: tf.nn.group_normalization(x, 1)):
        found = call(x)
        assert found.dtype is dtype
        np.testing.assert_allclose(
            tf.cast(found, tf.float64),
            call(tf.cast(x, tf.float64)),
            atol=0.2 if dtype is tf.bfloat16 else 0.02,
        )


def test_a_layer_with_a_group_for_each_channel_knows_their_number_when_it_is_built() -> None:
    layer = tf.keras.layers.GroupNormalization(-1)
    np.testing.assert_array_equal(layer(X), tf.nn.instance_normalization(X))
    assert layer.groups == 6
    assert [w.shape for w in layer.weights] == [(6,), (6,)]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_variances_out_of_the_range_of_float16_are_held(dtype: Any) -> None:
    """The variance of numbers near 500 is 250,000, which float16 has not: all results were 0."""
    x = tf.cast(tf.constant(np.random.default_rng(0).normal(0.0, 500.0, (2, 8, 6))), dtype)
    offset, scale = tf.ones([6], dtype), tf.constant([1.0, 2.0, 3.0, 0.5, -1.0, 1.5], dtype)
    for call in (
        lambda x, b, g: tf.nn.layer_normalization(x, -1, b, g),
        lambda x, b, g: tf.nn.group_normalization(x, 2, -1, b, g),
        lambda x, b, g: tf.nn.group_normalization(tf.transpose(x, [0, 2, 1]), 2, 1, b, g),
        lambda x, b, g: tf.nn.instance_normalization(x, -1, b, g),
    ):
        want = call(*(tf.cast(item, tf.float64) for item in (x, offset, scale)))
        for found in (call(x, offset, scale), tf.function(call)(x, offset, scale)):
            assert found.dtype is dtype
            np.testing.assert_allclose(
                tf.cast(found, tf.float64), want, rtol=4e-3 if dtype is tf.bfloat16 else 1e-3, atol=1e-3
            )


def test_dtypes_are_not_mixed_in_normalisations() -> None:
    with pytest.raises(TypeError, match="float16"):
        tf.nn.layer_normalization(X.astype(np.float16), scale=tf.ones([6]))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_batches_of_small_floats_are_normalised_in_float32(dtype: Any) -> None:
    x = tf.cast(tf.constant(np.random.default_rng(0).normal(0.0, 500.0, (64, 6))), dtype)
    layer, wide = (
        tf.keras.layers.BatchNormalization(dtype=dtype),
        tf.keras.layers.BatchNormalization(dtype="float64"),
    )
    for is_training in (True, False):
        found, want = layer(x, training=is_training), wide(tf.cast(x, tf.float64), training=is_training)
        assert found.dtype is dtype
        np.testing.assert_allclose(tf.cast(found, tf.float64), want, rtol=1e-2, atol=1e-2)
    for mine, other in zip(layer.weights, wide.weights, strict=True):
        assert mine.dtype is dtype
        np.testing.assert_allclose(tf.cast(mine, tf.float64), other, rtol=1e-2)
