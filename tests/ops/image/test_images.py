"""Images at random, sizes that only the run knows, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

IMAGE = np.random.default_rng(0).random((2, 6, 7, 3)).astype(np.float32)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "lanczos3", "area", "nearest"])
def test_unknown_sizes_and_a_size_as_tensor_give_what_numbers_give(method):
    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 3]), tf.TensorSpec([2], tf.int32)])
    def resized(x, size):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.image.resize(x, size, method, antialias=method == "lanczos3")
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    x = tf.constant(IMAGE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        want = tf.image.resize(x, [9, 4], method, antialias=method == "lanczos3")
        loss = tf.reduce_sum(want * want)
    found = resized(x, [9, 4])
    np.testing.assert_allclose(found[0], want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], tape.gradient(loss, x), rtol=1e-5, atol=1e-5)


def test_parts_of_images_of_unknown_size():
    spec = tf.TensorSpec([None, None, None, 3])
    for f in (
        lambda x: tf.image.resize_with_pad(x, 9, 5),
        lambda x: tf.image.resize_with_crop_or_pad(x, 9, 5),
        lambda x: tf.image.central_crop(x, 0.6),
        lambda x: tf.image.resize(x, [5, 5], preserve_aspect_ratio=True),
        tf.image.per_image_standardization,
        lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
        lambda x: tf.image.ssim(x, x * 0.5, 1.0, filter_size=3),
        lambda x: tf.image.rot90(x, tf.constant(3)),
    ):
        traced = tf.function(f, input_signature=[spec])
        np.testing.assert_allclose(traced(IMAGE), f(IMAGE), rtol=1e-4, atol=1e-5)


def test_a_resize_and_its_transpose_are_one_another():
    x, y = tf.constant(IMAGE), tf.constant(np.random.default_rng(1).random((2, 3, 9, 3)).astype(np.float32))
    for method in ("bilinear", "gaussian", "area", "nearest"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.image.resize(x, [3, 9], method) * y)
        np.testing.assert_allclose(tf.reduce_sum(tape.gradient(total, x) * x), total, rtol=1e-4)


def test_stateless_changes_depend_on_the_seed_alone():
    for name, arguments in {
        "flip_left_right": (),
        "flip_up_down": (),
        "brightness": (0.3,),
        "contrast": (0.2, 1.5),
        "saturation": (0.2, 1.5),
        "hue": (0.2,),
    }.items():
        f = getattr(tf.image, f"stateless_random_{name}")
        first = f(IMAGE, *arguments, seed=[3, 4])
        np.testing.assert_array_equal(first, f(IMAGE, *arguments, seed=[3, 4]))
        others = [f(IMAGE, *arguments, seed=[3, k]) for k in range(5, 25)]
        assert any(np.any(np.asarray(other) != np.asarray(first)) for other in others)
        changed = getattr(tf.image, f"random_{name}")(IMAGE, *arguments, seed=7)
        assert changed.shape == IMAGE.shape
        with pytest.raises(ValueError, match=f"random_{name}"):
            f(IMAGE[0, 0], *arguments, seed=[3, 4]) if not arguments else f(
                IMAGE, *[-1.0 for _ in arguments], [1, 2]
            )


def test_flips_turn_whole_images_around():
    found = {
        tuple(np.asarray(tf.image.stateless_random_flip_left_right(IMAGE, [0, k]))[:, 0, 0, 0])
        for k in range(40)
    }
    ends = IMAGE[:, 0, [0, -1], 0]
    assert found == {(a, b) for a in ends[0] for b in ends[1]}


def test_crops_are_parts():
    x = tf.range(60) + 1
    value = tf.reshape(x, [3, 4, 5])
    seen = set()
    for k in range(60):
        part = np.asarray(tf.image.stateless_random_crop(value, [2, 4, 3], [1, k]))
        first = part[0, 0, 0] - 1
        i, j = first // 20, first % 5
        np.testing.assert_array_equal(part, np.asarray(value)[i : i + 2, :, j : j + 3])
        seen.add((int(i), int(j)))
    assert seen == {(i, j) for i in range(2) for j in range(3)}
    with pytest.raises(
        ValueError, match=r"random_crop: size \[4 4 3\] does not fit into value, whose shape is \[3 4 5\]"
    ):
        tf.image.random_crop(value, [4, 4, 3])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: tf.image.resize(IMAGE, [3, 3], "cubic"),
            "resize: method 'cubic' is unknown; it is one of bilinear",
        ),
        (lambda: tf.image.resize(IMAGE, [3]), r"resize: size is \[3\]; a height and a width"),
        (lambda: tf.image.resize(IMAGE[0, 0], [3, 3]), r"resize: images has shape \(7, 3\)"),
        (
            lambda: tf.image.crop_to_bounding_box(IMAGE, 2, 0, 5, 1),
            "5 from 2 on is not within the height of image, which is 6",
        ),
        (
            lambda: tf.image.pad_to_bounding_box(IMAGE, 2, 0, 5, 9),
            "image of height 6 at offset 2 does not fit into 5",
        ),
        (lambda: tf.image.central_crop(IMAGE, 0.0), r"central_fraction is 0.0; it must be in \(0, 1\]"),
        (lambda: tf.image.rgb_to_hsv(IMAGE[..., :2]), "the last axis must have size 3"),
        (lambda: tf.image.rgb_to_hsv(np.zeros((2, 3), np.int32)), "rgb_to_hsv: images have dtype int32"),
        (lambda: tf.image.adjust_gamma(IMAGE, -1.0), "gamma is -1.0; it must be 0 or more"),
        (lambda: tf.image.ssim(IMAGE, IMAGE, 1.0), "smaller than the filter, which has size 11"),
        (lambda: tf.image.psnr(IMAGE, IMAGE[:, 1:], 1.0), "differ in height, width or channels"),
        (lambda: tf.image.extract_patches(IMAGE, [2, 2], [1] * 4, [1] * 4, "SAME"), r"sizes is \[2, 2\]"),
        (lambda: tf.image.non_max_suppression(np.zeros((2, 4)), np.zeros(3), 2), "2 boxes have 3 scores"),
        (lambda: tf.image.non_max_suppression(np.zeros((2, 4)), np.zeros(2), 2, 1.5), "iou_threshold is 1.5"),
        (
            lambda: tf.image.decode_png(b""),
            "decode_png: not part of graphad, out of scope: reading files, images and audio",
        ),
        (lambda: tf.image.extract_glimpse, "extract_glimpse: not part of graphad, out of scope"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        call()


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_channels_of_whole_numbers_that_do_not_change_stay(dtype: str) -> None:
    """What is a little below a whole number would be rounded down to the one before it."""
    pixels = np.random.default_rng(0).integers(0, 127, (3, 4, 3)).astype(dtype)
    most, least = pixels.max(-1), pixels.min(-1)
    for delta in (0.1, 0.37, -0.2):
        turned = tf.image.adjust_hue(pixels, delta).numpy()
        np.testing.assert_array_equal(turned.max(-1), most)
        np.testing.assert_array_equal(turned.min(-1), least)
    np.testing.assert_array_equal(tf.image.adjust_saturation(pixels, 0.6).numpy().max(-1), most)


def test_images_are_resized_as_they_lie():
    """No image of many channels is turned around for a product; one size of its shape may be unknown."""
    x = np.random.default_rng(0).standard_normal((2, 4, 5, 6)).astype("float32")
    for dims in ([2, 4, 5, 6], [None, 4, 5, 6]):
        resized = tf.function(
            lambda x: tf.image.resize(x, [8, 7]), input_signature=[tf.TensorSpec(dims, "float32")]
        )
        names = {node.op.name for node in resized.get_concrete_function().graph.nodes}
        assert "matmul" in names
        assert not names & {"transpose", "einsum"}
        np.testing.assert_allclose(resized(x).numpy(), tf.image.resize(x, [8, 7]).numpy(), atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3, 4, 5])
def test_few_channels_are_resized_as_each_of_them_alone(channels: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 9, 7, channels)).astype("float32")
    for image in (x, x[0]):
        with tf.GradientTape() as tape:
            image = tf.constant(image)
            tape.watch(image)
            y = tf.image.resize(image, [5, 11], "bicubic")
        slope = tape.gradient(y, image).numpy()
        for k in range(channels):
            unknown = tf.function(
                lambda z: tf.image.resize(z, [5, 11], "bicubic"),
                input_signature=[tf.TensorSpec([None] * image.ndim, "float32")],
            )
            with tf.GradientTape() as tape:
                one = image[..., k : k + 1]
                tape.watch(one)
                alone = unknown(one)
            np.testing.assert_allclose(y[..., k : k + 1].numpy(), alone.numpy(), atol=1e-6)
            np.testing.assert_allclose(slope[..., k : k + 1], tape.gradient(alone, one).numpy(), atol=1e-6)


@pytest.mark.parametrize("odd", [None, np.inf, np.nan, 0.0])
def test_the_shared_part_of_two_boxes_is_that_of_the_definition(odd: float | None) -> None:
    boxes = np.random.default_rng(3).random((12, 4)).astype(np.float32)
    if odd is not None:
        boxes[4] = (
            [0.2, 0.2, odd, 0.6] if odd else [0.2, 0.3, 0.2, 0.6]
        )  # endless, unknown, or without an area
    scores = np.linspace(1, 0.1, 12).astype(np.float32)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    chosen: list[int] = []
    with np.errstate(all="ignore"):
        areas = np.prod(high - low, 1)
        for k in range(12):
            sides = np.maximum(np.minimum(high, high[k]) - np.maximum(low, low[k]), 0)
            shared = sides[:, 0] * sides[:, 1]
            parts = np.where((areas > 0) & (areas[k] > 0), shared / (areas + areas[k] - shared), 0)
            if not any(parts[other] > 0.25 for other in chosen):
                chosen.append(k)
    one = tf.image.non_max_suppression(boxes, scores, 12, 0.25)
    assert one.numpy().tolist() == chosen
    several = tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None, :, None], 12, 12, 0.25)
    np.testing.assert_array_equal(several.nmsed_scores[0, : len(chosen)], scores[chosen])


@pytest.mark.parametrize(("most", "overlap"), [(0, 0.5), (3, 0.0), (40, 0.3), (1000, 0.05)])
def test_a_search_among_many_boxes_is_the_same_in_blocks(most: int, overlap: float) -> None:
    r = np.random.default_rng(most)
    corner = r.random((900, 2))
    boxes = np.concatenate([corner, corner + 0.2 * r.random((900, 2))], 1).astype(np.float32)
    scores = np.round(r.random(900), 2).astype(np.float32)  # many are equal: the lower index wins
    left = np.where(scores > 0.1, scores, -np.inf)
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    chosen: list[int] = []
    while len(chosen) < most and left.max() > -np.inf:
        k = int(np.argmax(left))
        chosen.append(k)
        sides = np.minimum(boxes[:, 2:], boxes[k, 2:]) - np.maximum(boxes[:, :2], boxes[k, :2])
        shared = np.prod(np.maximum(sides, 0), axis=1)
        left[shared / (area + area[k] - shared) > overlap] = -np.inf
        left[k] = -np.inf
    assert tf.image.non_max_suppression(boxes, scores, most, overlap, 0.1).numpy().tolist() == chosen


def test_a_contrast_has_one_factor():
    """A vector as long as a row used to scale the channels."""
    for factor in (np.ones(3), np.ones([1])):
        with pytest.raises(ValueError, match=r"^adjust_contrast: contrast_factor must be scalar, got shape"):
            tf.image.adjust_contrast(np.ones((2, 3, 3, 3), np.float32), factor)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_search_for_boxes_takes_thresholds_that_are_known_only_at_run_time(dtype: str) -> None:
    rng = np.random.default_rng(5)
    boxes = tf.constant(rng.uniform(0, 3, (60, 4)), dtype)
    scores = tf.constant(np.round(rng.uniform(0, 1, 60), 1), dtype)  # with equal ones
    find = tf.image.non_max_suppression_with_scores
    traced = tf.function(lambda m, o, s: find(boxes, scores, m, o, s))
    overlaps = tf.constant(rng.uniform(0, 1, (60, 60)), dtype)
    by_overlaps = tf.function(
        lambda m, o, s: tf.image.non_max_suppression_overlaps(overlaps, scores, m, o, s)
    )
    soft = tf.function(lambda m: find(boxes, scores, m, 1.0, 0.2, 0.5))
    for most, overlap, lowest in ((5, 0.2, 0.3), (60, 0.0, -1.0), (100, 0.6, 0.5), (0, 1.0, 0.0)):
        given = tf.constant(most), tf.constant(overlap, dtype), tf.constant(lowest, dtype)
        for found, want in zip(traced(*given), find(boxes, scores, most, overlap, lowest), strict=True):
            np.testing.assert_array_equal(found, want)
        want = tf.image.non_max_suppression_overlaps(overlaps, scores, most, overlap, lowest)
        np.testing.assert_array_equal(by_overlaps(*given), want)
        for found, want in zip(soft(given[0]), find(boxes, scores, most, 1.0, 0.2, 0.5), strict=True):
            np.testing.assert_array_equal(found, want)
    with pytest.raises(ValueError, match=r"iou_threshold is 1\.5; it must be in"):
        traced(tf.constant(3), tf.constant(1.5, dtype), tf.constant(0.0, dtype))
    with pytest.raises(ValueError, match="soft_nms_sigma, and a score_threshold beside it, must be known"):
        tf.function(lambda s: find(boxes, scores, 3, 0.5, s, 0.5))(tf.constant(0.0, dtype))


# As TensorFlow 2.21 computes them for the first two rows of squares of 0 to 11 in three rows.
_SMOOTHED = {
    "gaussian": [2.14012, 4.07388, 8.02751, 13.05843, 20.48105, 28.62124, 39.62123, 50.85858],
    "mitchellcubic": [1.02768, 2.52288, 5.99347, 11.03115, 18.30719, 26.8889, 37.8889, 50.01308],
}


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "area", "lanczos3", *_SMOOTHED, "nearest"])
def test_a_resize_to_the_size_that_is_there_has_the_dtype_of_other_resizes(method: str) -> None:
    image = tf.constant(np.arange(12, dtype=np.uint8).reshape(3, 4, 1) ** 2)
    found = tf.image.resize(image, [3, 4], method)
    assert found.dtype == tf.image.resize(image, [2, 4], method).dtype
    expected = _SMOOTHED.get(method, np.ravel(image)[:8].tolist())
    np.testing.assert_allclose(np.ravel(found)[:8], expected, rtol=1e-5)


def test_resizes_of_tensorflow_1_by_name_are_of_float32_whatever_the_size() -> None:
    image, older = tf.ones([1, 3, 4, 1], tf.uint8), tf.compat.v1.image
    same = [f(image, [3, 4]).dtype for f in (older.resize_bilinear, older.resize_bicubic, older.resize_area)]
    assert same == [tf.float32] * 3
    assert older.resize_nearest_neighbor(image, [3, 4]).dtype == older.resize(image, [3, 4]).dtype == tf.uint8
