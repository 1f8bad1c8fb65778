"""Sizes of images as TensorFlow 1 has them."""

import numpy as np
import pytest

import graphad as tf

older = tf.compat.v1.image
OLD, NEW = (4, 5), (7, 3)


def _positions(n_old, n_new, align_corners):
    scale = (n_old - 1) / (n_new - 1) if align_corners else n_old / n_new
    return scale * np.arange(n_new), scale


def _bilinear(x, axis, n_new, align_corners):
    at, _ = _positions(x.shape[axis], n_new, align_corners)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    part = (at - low).reshape(shape)
    return np.take(x, low, axis) * (1.0 - part) + np.take(x, high, axis) * part


def _nearest(x, axis, n_new, align_corners):
    at, _ = _positions(x.shape[axis], n_new, align_corners)
    at = np.floor(at + 0.5) if align_corners else np.floor(at)
    return np.take(x, np.minimum(at.astype(int), x.shape[axis] - 1), axis)


def _area(x, axis, n_new, align_corners):
    n_old = x.shape[axis]
    at, scale = _positions(n_old, n_new, align_corners)
    weights = np.zeros((n_new, n_old))
    for i, start in enumerate(at):
        for k in range(int(np.floor(start)), int(np.ceil(start + scale - 1e-12))):
            weights[i, min(k, n_old - 1)] += (min(start + scale, k + 1) - max(start, k)) / scale
    return np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize(
    ("method", "one"),
    [("BILINEAR", _bilinear), ("NEAREST_NEIGHBOR", _nearest), ("AREA", _area)],
)
def test_older_resize_matches_a_plain_formula(method, one, align_corners):
    x = np.random.RandomState(0).rand(2, *OLD, 3)
    wanted = one(one(x, 1, NEW[0], align_corners), 2, NEW[1], align_corners)
    number = getattr(older.ResizeMethod, method)
    for run in (lambda f: f, tf.function):
        found = run(lambda x: older.resize(x, NEW, number, align_corners=align_corners))(tf.constant(x))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_older_resize_of_sizes_known_when_it_runs_and_its_slope():
    x = tf.constant(np.random.RandomState(0).rand(1, *OLD, 1), tf.float32)

    @tf.function
    def resized(x, size):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = older.resize_bicubic(x, size, align_corners=True)
        return y, tape.gradient(y, x)

    y, slope = resized(x, tf.constant(NEW))
    np.testing.assert_allclose(y, older.resize_images(x, NEW, "bicubic", align_corners=True), rtol=1e-6)
    np.testing.assert_allclose(tf.reduce_sum(slope), 21.0, rtol=1e-5)  # the weights of a new pixel have sum 1
    # as TensorFlow gives it for the corners, which are the old ones
    np.testing.assert_allclose(y[0, ::6, ::2, 0], x[0, ::3, ::4, 0], rtol=1e-6)


def test_older_names_say_what_they_take():
    x = tf.ones([1, 4, 4, 1])
    assert older.resize_bilinear(x, [2, 2], half_pixel_centers=True).shape == [1, 2, 2, 1]
    with pytest.raises(ValueError, match="resize_bilinear: align_corners and half_pixel_centers"):
        older.resize_bilinear(x, [2, 2], True, half_pixel_centers=True)
    with pytest.raises(ValueError, match="resize: method 9 is unknown; it is one of bilinear, nearest"):
        older.resize(x, [2, 2], 9)
    assert older.resize(x, [4, 8], "area", preserve_aspect_ratio=True) is x
    assert older.flip_up_down is tf.image.flip_up_down
