"""Projective transforms: values against a loop over pixels, derivatives, images of any size, what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import graphad as tf

MAPS = np.array(
    [
        [1.0, 0.0, 0.5, 0.0, 1.0, -1.5, 0.0, 0.0],
        [0.8125, -0.625, 1.3125, 0.625, 0.8125, -2.1875, 0.0, 0.0],
        [1.125, 0.25, -1.0, 0.125, 0.875, 2.0, 0.0625, -0.03125],
        [1.0, 0.0, 0.25, 0.0, 1.0, 0.0, -0.5, 0.0],
        [-3.0, 0.0, 37.25, 0.0, 2.5, -41.75, 0.0, 0.0],
    ]
)
MODES = ("CONSTANT", "NEAREST", "REFLECT", "WRAP")


def within(x: float, n: int, mode: str) -> float:
    """The place within an image of n pixels that stands for a place outside."""
    if mode == "NEAREST":
        x = min(max(x, 0.0), n - 1.0)
    if mode == "REFLECT":
        while not 0.0 <= x < 2 * n:
            x += 2.0 * n if x < 0.0 else -2.0 * n
        x = min(max(2.0 * n - 1.0 - x if x >= n else x, 0.0), n - 1.0)
    if mode == "WRAP" and not 0.0 <= x <= n - 1.0:
        last = max(n - 1, 1)
        x = min(max(x + n * (math.trunc(-x / last) + 1 if x < 0.0 else -math.trunc(x / last)), 0.0), n - 1.0)
    return x


def seen(image: Any, row: Any, size: Any, fill: float, interpolation: str, mode: str) -> Any:
    """One image under one map, pixel by pixel."""
    height, width, channels = image.shape
    out = np.full((*size, channels), fill)
    a, b, c, d, e, f, g, h = row

    def at(x: float, y: float) -> Any:
        return image[int(y), int(x)] if 0 <= x < width and 0 <= y < height else np.full(channels, fill)

    for v, u in itertools.product(range(size[0]), range(size[1])):
        k = g * u + h * v + 1.0
        if k == 0.0:
            continue
        x, y = within((a * u + b * v + c) / k, width, mode), within((d * u + e * v + f) / k, height, mode)
        if interpolation == "NEAREST":
            out[v, u] = at(*(math.copysign(math.floor(abs(p) + 0.5), p) for p in (x, y)))
            continue
        left, top = math.floor(x), math.floor(y)
        for i, j in itertools.product((0, 1), (0, 1)):
            share = abs(1 - i - (x - left)) * abs(1 - j - (y - top))
            out[v, u] += share * (at(left + i, top + j) - fill)
    return out


def transform(
    images: Any,
    rows: Any,
    size: Any = (4, 6),
    fill: Any = 7.5,
    interpolation: str = "BILINEAR",
    mode: str = "CONSTANT",
) -> tf.Tensor:
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=rows,
        output_shape=size,
        fill_value=fill,
        interpolation=interpolation,
        fill_mode=mode,
    )


@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (1, 4), (3, 2)])
def test_pixels_are_those_of_a_loop(interpolation: str, mode: str, shape: tuple[int, int]) -> None:
    images = np.random.default_rng(1).uniform(0.0, 200.0, (5, *shape, 2))
    want = [
        seen(image, row, (5, 7), 7.5, interpolation, mode) for image, row in zip(images, MAPS, strict=True)
    ]
    found = transform(images, MAPS, [5, 7], 7.5, interpolation, mode)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
    f = tf.function(lambda x, t, n: transform(x, t, n, 7.5, interpolation, mode))
    unknown = f.get_concrete_function(
        *(
            tf.TensorSpec([None] * 4, tf.float64),
            tf.TensorSpec([None, 8], tf.float64),
            tf.TensorSpec([2], tf.int32),
        )
    )
    for call in (f, unknown):
        np.testing.assert_allclose(
            call(tf.constant(images), tf.constant(MAPS), tf.constant([5, 7])), want, rtol=1e-12, atol=1e-12
        )
    one_for_all = transform(images, MAPS[1:2].astype(np.float32), [5, 7], 7.5, interpolation, mode)
    np.testing.assert_allclose(one_for_all[1], want[1], rtol=1e-12, atol=1e-12)
    by_one = tf.vectorized_map(
        lambda p: transform(p[0][None], p[1][None], [5, 7], 7.5, interpolation, mode)[0],
        (tf.constant(images), tf.constant(MAPS)),
    )
    np.testing.assert_allclose(by_one, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8", "int32", "int64"])
def test_results_have_the_dtype_of_images(dtype: str) -> None:
    images = tf.cast(np.random.default_rng(1).integers(0, 200, (2, 4, 5, 3)), dtype)
    wide = np.asarray(tf.cast(images, tf.float64))
    fill = 7.5 if images.dtype.is_floating else 7.0
    for interpolation, mode in itertools.product(("NEAREST", "BILINEAR"), MODES):
        found = transform(images, MAPS[:2], [4, 6], 7.5, interpolation, mode)
        assert found.dtype == images.dtype
        want = np.array(
            [seen(x, row, (4, 6), fill, interpolation, mode) for x, row in zip(wide, MAPS, strict=False)]
        )
        if images.dtype.is_integer:
            want = np.trunc(want)
        np.testing.assert_allclose(
            tf.cast(found, tf.float64), want, rtol=2e-2 if dtype == "bfloat16" else 1e-3, atol=1e-4
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_the_gradient_by_images_is_the_adjoint(interpolation: str, mode: str) -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(5, 4, 5, 2)), rng.normal(size=(5, 4, 6, 2))
    images = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(images)
        found = tf.reduce_sum(transform(images, MAPS, fill=0.0, interpolation=interpolation, mode=mode) * w)
    np.testing.assert_allclose(np.sum(tape.gradient(found, images) * x), found, rtol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_by_maps_are_those_of_differences(mode: str) -> None:
    rng = np.random.default_rng(3)
    x, w = tf.constant(rng.normal(size=(2, 4, 5, 2))), tf.constant(rng.normal(size=(2, 4, 6, 2)))
    rows = MAPS[1:3] + rng.uniform(0.0, 0.01, (2, 8))
    way = rng.normal(size=(2, 8))

    def slopes(t: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(t)
            value = tf.reduce_sum(transform(x, t, mode=mode) * w)
        return value, tape.gradient(value, t)

    def bends(t: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(t)
            along = tf.reduce_sum(slopes(t)[1] * way)
        return along, tape.gradient(along, t)

    for f, g in ((slopes, tf.function(slopes)), (bends, tf.function(bends))):
        step = 1e-7
        after, before = (float(f(tf.constant(rows + sign * step * way))[0]) for sign in (1.0, -1.0))
        for call in (f, g):
            found = np.sum(call(tf.constant(rows))[1] * way)
            np.testing.assert_allclose(found, (after - before) / (2.0 * step), rtol=1e-4)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
@pytest.mark.parametrize("mode", MODES)
def test_an_image_of_no_pixels_is_filled(shape: tuple[int, int], mode: str) -> None:
    images = np.zeros((2, *shape, 3), np.float32)
    f = tf.function(lambda x, interpolation: transform(x, MAPS[:1], (2, 4), -1.0, interpolation, mode))
    for interpolation in ("NEAREST", "BILINEAR"):
        unknown = f.get_concrete_function(tf.TensorSpec([None, None, None, 3]), interpolation)
        for found in (
            transform(images, MAPS[:1], (2, 4), -1.0, interpolation, mode),
            unknown(tf.constant(images)),
        ):
            np.testing.assert_array_equal(found, np.full((2, 2, 4, 3), -1.0))


def test_pixels_of_large_images_are_told_apart() -> None:
    """float32 has not all whole numbers from 2**24 on, of which this image has more pixels."""
    image = np.zeros((1, 4100, 4101, 1), np.uint8)
    image[0, -2:, -3:, 0] = [[1, 2, 3], [4, 5, 6]]
    corner = np.array([[1.0, 0.0, 4098.0, 0.0, 1.0, 4098.0, 0.0, 0.0]], np.float32)
    for interpolation in ("NEAREST", "BILINEAR"):
        found = transform(image, corner, (2, 3), 0.0, interpolation)
        np.testing.assert_array_equal(found[0, ..., 0], [[1, 2, 3], [4, 5, 6]])


X = np.ones((3, 4, 5, 2), np.float32)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: transform(X[0], MAPS[:1]), r"images has shape \(4, 5, 2\)"),
        (lambda: transform(X, MAPS[:1, :7]), r"transforms has shape \(1, 7\)"),
        (lambda: transform(X, MAPS[0]), r"transforms has shape \(8,\)"),
        (lambda: transform(X, MAPS[:2]), "transforms has 2 rows for 3 images"),
        (lambda: transform(X[:1], MAPS[:3]), "transforms has 3 rows for 1 images"),
        (lambda: transform(X, MAPS[:1], [1, 2, 3]), r"projective_transform: output_shape is \[1, 2, 3\]"),
        (lambda: transform(X, MAPS[:1], [0, 2]), r"projective_transform: output_shape is \[0, 2\]"),
        (lambda: transform(X, MAPS[:1], fill=[0.0, 1.0]), r"fill_value has shape \(2,\)"),
        (lambda: transform(X, MAPS[:1], interpolation="bilinear"), "one of NEAREST, BILINEAR"),
        (lambda: transform(X, MAPS[:1], mode="EDGE"), "one of CONSTANT, NEAREST, REFLECT, WRAP"),
        (lambda: transform(X * 1j, MAPS[:1]), "images have dtype complex"),
        (lambda: transform(X > 0.0, MAPS[:1]), "images have dtype bool"),
        (lambda: transform(X, MAPS[:1] * 1j), "transforms have dtype complex"),
    ],
)
def test_what_cannot_be_transformed_is_refused(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
