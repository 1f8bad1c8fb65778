"""Expressions of `tf.image`."""

from __future__ import annotations

import numpy as np

from tests.oracle.cases import Case, Draw, fixed, positive, real, whole


def _shades(*shape: int) -> Draw:
    """Numbers from 0 to 1 of which no two are near each other along the last axis."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        order = np.argsort(rng.random(shape), axis=-1)
        return (order + rng.uniform(0.2, 0.8, shape)) / shape[-1]

    return draw


def _bytes(*shape: int) -> Draw:
    return lambda rng: rng.integers(0, 256, shape).astype(np.uint8)


_BOXES = np.float32([[0.1, 0.2, 0.83, 0.9], [0.7, 0.05, 0.2, 0.6], [-0.3, 0.1, 0.6, 1.4]])


# TensorFlow computes images in float32, whatever they are.
_SINGLE = ("float32",)


def _resizes() -> list[Case]:
    methods = "bilinear bicubic lanczos3 lanczos5 gaussian mitchellcubic area nearest".split()
    x = {"x": real(2, 5, 7, 2)}
    cases = []
    for method in methods:
        for size in ([9, 4], [3, 16]):
            for antialias in (False, True) if method not in ("area", "nearest") else (False,):
                call = f"tf.image.resize(x, {size}, '{method}', antialias={antialias})"
                name = f"image.resize_{method}_{size[0]}{'_antialias' if antialias else ''}"
                cases.append(
                    Case(name, call, x, gradient=method != "area", second=False, slack=5, precisions=_SINGLE)
                )
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("one", "tf.image.resize(x, [4, 4])", {"x": real(3, 2, 1)}),
        ("same", "tf.image.resize(x, [3, 2])", {"x": real(3, 2, 1)}),
        (
            "integers",
            "[tf.image.resize(i, [4, 3]), tf.image.resize(i, [4, 3], 'nearest')]",
            {"i": _bytes(3, 5, 2)},
        ),
        ("aspect", "tf.image.resize(x, [6, 6], preserve_aspect_ratio=True)", x),
        ("aspect_wide", "tf.image.resize(x, [3, 20], preserve_aspect_ratio=True)", {"x": real(5, 7, 1)}),
        ("with_pad", "tf.image.resize_with_pad(x, 8, 8)", x),
        (
            "with_pad_high",
            "tf.image.resize_with_pad(x, 9, 3, 'bicubic', antialias=True)",
            x,
        ),
    ]
    return cases + [
        Case(f"image.resize_{n}", call, inputs, second=False, slack=5, precisions=_SINGLE)
        for n, call, inputs in rows
    ]


def _places() -> list[Case]:
    x = {"x": real(2, 4, 5, 2)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("flips", "[tf.image.flip_left_right(x), tf.image.flip_up_down(x), tf.image.transpose(x)]", x),
        ("flips_of_one", "[tf.image.flip_left_right(x), tf.image.transpose(x)]", {"x": real(3, 2, 1)}),
        ("turns", "[tf.image.rot90(x, k) for k in (-1, 0, 1, 2, 7)]", x),
        ("turn_of_one", "tf.image.rot90(x)", {"x": real(3, 2, 1)}),
        ("central_crop", "[tf.image.central_crop(x, 0.5), tf.image.central_crop(x, 1.0)]", x),
        ("central_crop_odd", "tf.image.central_crop(x, 0.3)", {"x": real(7, 9, 1)}),
        ("crop", "tf.image.crop_to_bounding_box(x, 1, 2, 3, 2)", x),
        ("pad", "tf.image.pad_to_bounding_box(x, 1, 0, 6, 8)", x),
        ("crop_or_pad", "tf.image.resize_with_crop_or_pad(x, 7, 2)", x),
        ("crop_or_pad_odd", "tf.image.resize_with_crop_or_pad(x, 3, 8)", {"x": real(4, 5, 1)}),
        ("patches", "tf.image.extract_patches(x, [1, 2, 3, 1], [1, 1, 2, 1], [1, 2, 1, 1], 'SAME')", x),
        (
            "patches_valid",
            "tf.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'VALID')",
            x,
        ),
    ]
    return [Case(f"image.{n}", call, inputs) for n, call, inputs in rows]


def _colors() -> list[Case]:
    x, i = {"x": _shades(2, 3, 2, 3)}, {"i": _bytes(2, 3, 2, 3)}
    grey = fixed(np.array([[[[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [0.2, 0.7, 0.7]]]]))
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("rgb_to_hsv", "tf.image.rgb_to_hsv(x)", x),
        (
            "spaces",
            "[getattr(tf.image, f)(x) for f in ('rgb_to_yiq', 'yiq_to_rgb', 'rgb_to_yuv', 'yuv_to_rgb')]",
            x,
        ),
        ("brightness", "tf.image.adjust_brightness(x, 0.3)", x),
        ("brightness_of_bytes", "tf.image.adjust_brightness(i, -0.2)", i),
        ("contrast_of_bytes", "tf.image.adjust_contrast(i, 2.5)", i),
        ("gamma", "tf.image.adjust_gamma(x, 1.8, 0.9)", x),
        ("gamma_of_bytes", "tf.image.adjust_gamma(i, 0.7, 1.4)", i),
        ("grayscale", "[tf.image.rgb_to_grayscale(x), tf.image.grayscale_to_rgb(x[..., :1])]", x),
        ("grayscale_of_bytes", "tf.image.rgb_to_grayscale(i)", i),
        ("standardization", "tf.image.per_image_standardization(x)", x),
        ("standardization_of_bytes", "tf.image.per_image_standardization(i[0])", i),
        (
            "standardization_of_equal",
            "tf.image.per_image_standardization(tf.ones([3, 2, 1]) * x)",
            {"x": positive(1)},
        ),
    ]
    valued: list[tuple[str, str, dict[str, Draw]]] = [
        ("rgb_to_hsv_of_grey", "tf.image.rgb_to_hsv(x)", {"x": grey}),
        ("contrast", "tf.image.adjust_contrast(x, 1.7)", x),
        ("hsv_to_rgb", "tf.image.hsv_to_rgb(x)", x),
        ("hue", "[tf.image.adjust_hue(x, d) for d in (0.1, -0.45)]", x),
        ("hue_of_bytes", "tf.image.adjust_hue(i, 0.3)", i),
        ("saturation", "[tf.image.adjust_saturation(x, f) for f in (0.5, 2.0)]", x),
        ("saturation_of_bytes", "tf.image.adjust_saturation(i, 1.5)", i),
        (
            "dtypes",
            "[tf.image.convert_image_dtype(i, d) for d in (tf.int8, tf.int16, tf.uint16, tf.int32, tf.float32, tf.float64)]",
            i,
        ),
        (
            "dtypes_of_floats",
            "[tf.image.convert_image_dtype(x, d) for d in (tf.uint8, tf.int16, tf.uint16, tf.float64)]",
            x,
        ),
        (
            "dtypes_saturated",
            "[tf.image.convert_image_dtype(2.0 * x, tf.uint8, saturate=True), "
            "tf.image.convert_image_dtype(tf.cast(i, tf.int16) - 300, tf.uint8, saturate=True)]",
            {**x, **i},
        ),
    ]
    cases = [
        Case(f"image.{n}", call, inputs, second=n not in ("rgb_to_hsv",), slack=5, precisions=_SINGLE)
        for n, call, inputs in rows
    ]
    return cases + [
        Case(f"image.{n}", call, inputs, gradient=False, slack=5, precisions=_SINGLE)
        for n, call, inputs in valued
    ]


def _differences() -> list[Case]:
    x, two = {"x": real(2, 4, 5, 2)}, {"x": positive(2, 13, 14, 2), "y": positive(2, 13, 14, 2)}
    large = {"x": positive(1, 26, 23, 1, high=1.0), "y": positive(1, 26, 23, 1, high=1.0)}
    images = {"i": _bytes(2, 12, 13, 3), "j": _bytes(2, 12, 13, 3)}
    rows: list[tuple[str, str, dict[str, Draw]]] = [
        ("gradients", "tf.image.image_gradients(x)", x),
        ("sobel_edges", "tf.image.sobel_edges(x)", x),
        ("total_variation", "tf.image.total_variation(x)", x),
        ("total_variation_of_one", "tf.image.total_variation(x)", {"x": real(3, 4, 2)}),
        ("psnr", "tf.image.psnr(x, y, 2.5)", two),
        ("psnr_of_bytes", "tf.image.psnr(i, j, 255)", images),
        ("ssim", "tf.image.ssim(x, y, 2.5)", two),
        ("ssim_map", "tf.image.ssim(x, y, 2.5, filter_size=5, filter_sigma=0.8, return_index_map=True)", two),
        ("ssim_of_bytes", "tf.image.ssim(i, j, 255)", images),
        ("ssim_multiscale", "tf.image.ssim_multiscale(x, 0.5 * x + 0.5 * y, 1.0, (0.3, 0.7))", large),
    ]
    return [Case(f"image.{n}", call, inputs, slack=20, precisions=_SINGLE) for n, call, inputs in rows]


def _boxes() -> list[Case]:
    at = fixed(np.int32([0, 1, 1]))
    parts = {"x": real(2, 5, 6, 2), "b": fixed(_BOXES.astype(np.float64)), "i": at}
    crop = "tf.image.crop_and_resize(x, b, i, "
    corners = lambda rng: np.sort(rng.uniform(0, 4, (12, 2, 2)), 1).reshape(12, 4)  # noqa: E731
    found = {"b": corners, "s": positive(12, low=0.01, high=1.0)}
    left = "b, s, 8, "
    return [
        Case("image.crop_and_resize", f"{crop}[4, 3])", parts, second=False, slack=5, precisions=_SINGLE),
        Case(
            "image.crop_and_resize_one",
            f"{crop}[1, 2], extrapolation_value=0.5)",
            parts,
            second=False,
            slack=5,
            precisions=_SINGLE,
        ),
        Case(
            "image.crop_and_resize_nearest",
            f"{crop}[4, 3], 'nearest')",
            parts,
            gradient=False,
            precisions=_SINGLE,
        ),
        Case(
            "image.non_max_suppression",
            f"tf.image.non_max_suppression({left}0.3)",
            found,
            gradient=False,
            precisions=_SINGLE,
        ),
        Case(
            "image.non_max_suppression_score",
            f"tf.image.non_max_suppression({left}0.1, 0.4)",
            found,
            gradient=False,
            precisions=_SINGLE,
        ),
        Case(
            "image.non_max_suppression_scores",
            f"tf.image.non_max_suppression_with_scores({left}0.5, 0.1, soft_nms_sigma=0.3)",
            found,
            gradient=False,
            precisions=_SINGLE,
        ),
        Case("image.whole_crop", "tf.image.random_crop(i, [3, 4, 2])", {"i": whole(0, 9, 3, 4, 2)}),
    ]


def all_cases() -> list[Case]:
    return [*_resizes(), *_places(), *_colors(), *_differences(), *_boxes()]
