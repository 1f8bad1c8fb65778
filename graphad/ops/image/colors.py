"""Colours: dtypes of images and their ranges, colour spaces, brightness, contrast, hue and saturation.

The range of integers is 0 to the largest number of the dtype, that of floats 0 to 1. Integers are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_own
from graphad.core.dtypes import as_dtype, float16, float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, REAL, require_kind, require_kind_of
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat, stack
from graphad.ops.array.join import unstack as unstacked
from graphad.ops.array.passing import identity
from graphad.ops.array.support import require_number, static_array
from graphad.ops.image.layout import HEIGHT, WIDTH, images_of, size_along
from graphad.ops.linalg import matmul, tensordot
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.arithmetic import floormod
from graphad.ops.math.cast import cast, saturate_cast
from graphad.ops.math.power import rsqrt
from graphad.ops.math.reduce import reduce_max, reduce_mean, reduce_min
from graphad.ops.math.select import clip_by_value, maximum, where
from graphad.ops.math.statistics import reduce_std
from graphad.ops.state.effects import require

_GREY = [[0.2989], [0.5870], [0.1140]]
_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_FROM_YIQ = [
    [1.0, 1.0, 1.0],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Images converted to another dtype, scaled from the range of the old one to that of the new one.

    Args:
      image: Tensor of any shape, an integer or float dtype; the range of floats is 0 to 1.
      dtype: The dtype of the result.
      saturate: Whether numbers out of range are clipped to it.
    Returns: Tensor of the same shape and of that dtype; differentiable from floats to floats.
    Raises: DTypeError (a TypeError): a dtype that has no range, such as bool.
    Example:
      >>> image.convert_image_dtype(constant([0, 51, 255], 'uint8'), 'float32').numpy()
      array([0.        , 0.20000002, 1.        ], dtype=float32)
    """
    x, new = lift_own(image), as_dtype(dtype)
    old = x.dtype
    for word, kind in (("dtype", new), ("the dtype of image", old)):
        require_kind_of("convert_image_dtype", kind, REAL, word)
    if new is old:
        return identity(x)
    to = saturate_cast if saturate else cast
    if new.is_floating and old.is_floating:
        return cast(x, new)
    if old.is_floating:
        return to(x * (new.max + 0.5), new)  # + 0.5 scales the range evenly; the conversion then rounds down
    if new.is_floating:
        return cast(x, new) * (1.0 / old.max)  # type: ignore[no-any-return]
    if old.max > new.max:
        return to(x // ((old.max + 1) // (new.max + 1)), new)
    return to(x, new) * ((new.max + 1) // (old.max + 1))  # type: ignore[no-any-return]


def _in_floats(image: TensorLike, f: Callable[[Any], Any]) -> Tensor:
    """`f` applied in float32 and the result converted back; float16 and float32 images keep their dtype."""
    x = lift_own(image)
    if x.dtype is float16 or x.dtype is float32:
        return f(x)  # type: ignore[no-any-return]
    return convert_image_dtype(f(convert_image_dtype(x, float32)), x.dtype, saturate=True)


def _colored(op: str, images: TensorLike, size: int = 3) -> Tensor:
    """Images as a tensor. Raises: InvalidArgumentError: the last axis is known not to have size `size`."""
    x = lift_own(images)
    if x.dims is not None and (not x.dims or x.dims[-1] not in (None, size)):
        raise InvalidArgumentError(
            f"{op}: images have shape {format_dims(x.dims)}; the last axis must have size {size}."
        )
    return x


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Images plus `delta`, which is a fraction of the range of their dtype.

    Args:
      image: Tensor of any shape, an integer or float dtype; integers are computed as float32.
      delta: A number, 1 for the whole range of an integer dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): a dtype that has no range, such as bool.
    Example:
      >>> image.adjust_brightness([[[0.25, 0.5]]], 0.25).numpy()
      array([[[0.5 , 0.75]]], dtype=float32)
    """
    return _in_floats(image, lambda x: x + cast(delta, x.dtype))


@blaming
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """(x - mean) * contrast_factor + mean, with the mean of each channel of each image.

    Args:
      images: Tensor [..., height, width, channels], an integer or float dtype; integers are computed as float32.
      contrast_factor: A number.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is below 3, or the factor is no scalar.
    Example:
      >>> image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().tolist()
      [[[0.0], [4.0]]]
    """
    factor = cast(contrast_factor, float32)
    if factor.dims:
        raise InvalidArgumentError(
            f"adjust_contrast: contrast_factor must be scalar, got shape {format_dims(factor.dims)}."
        )

    def adjusted(x: Tensor) -> Tensor:
        y = cast(x, float32)
        mean = reduce_mean(y, [HEIGHT, WIDTH], keepdims=True)
        return cast((y - mean) * factor + mean, x.dtype)

    return _in_floats(images_of("adjust_contrast", images, "images"), adjusted)


@blaming
def adjust_gamma(image: TensorLike, gamma: float | Tensor = 1, gain: float | Tensor = 1) -> Tensor:
    """gain * x**gamma.

    Args:
      image: Tensor of any shape, an integer or float dtype; integers are computed as float32 from 0 to 1.
      gamma: A number, 0 or more.
      gain: A number.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): gamma is negative.
    Example:
      >>> image.adjust_gamma([[[0.25]]], 0.5).numpy().tolist()
      [[[0.5]]]
    """
    known = static_array(gamma)
    if known is None:
        require(lift(gamma) >= 0, "adjust_gamma: gamma is \x00; it must be 0 or more.", [lift(gamma)])
    elif known < 0:
        raise InvalidArgumentError(f"adjust_gamma: gamma is {known}; it must be 0 or more.")
    return _in_floats(image, lambda x: cast(gain, x.dtype) * x ** cast(gamma, x.dtype))


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Hue, saturation and value, each from 0 to 1, of red, green and blue.

    Where all three are equal, hue and saturation are 0, and so are the derivatives of the hue.

    Args:
      images: Float tensor [..., 3] from 0 to 1.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: Smith, Color gamut transform pairs, 1978.
    Example:
      >>> image.rgb_to_hsv([[[1.0, 0.0, 0.0]]]).numpy().tolist()
      [[[0.0, 1.0, 1.0]]]
    """
    x = _colored("rgb_to_hsv", images)
    require_kind("rgb_to_hsv", x, FLOATING, "images")
    sixth, value, low, grey = _around(x)
    saturation = _saturation(value, low)
    hue = where(grey, lift(0, x.dtype), sixth / 6)
    return stack([where(hue < 0, hue + 1, hue), saturation, value], -1)


def _around(x: Any) -> tuple[Any, Any, Any, Any]:
    """The hue in sixths of a turn, from -1 to 5, the largest and the smallest channel, and whether they are equal."""
    red, green, blue = unstacked(x, 3, -1)
    value, low = reduce_max(x, -1), reduce_min(x, -1)
    grey = value <= low
    width = where(grey, lift(1, x.dtype), value - low)
    sixth = where(
        red == value,
        (green - blue) / width,
        where(green == value, (blue - red) / width + 2, (red - green) / width + 4),
    )
    return where(grey, lift(0, x.dtype), sixth), value, low, grey


def _saturation(value: Any, low: Any) -> Any:
    """How far the smallest channel is below the largest, as a part of it; 0 for black."""
    black = value <= 0
    return where(black, lift(0, value.dtype), (value - low) / where(black, lift(1, value.dtype), value))


@blaming
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value.

    Args:
      images: Float tensor [..., 3], all from 0 to 1.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: Smith, Color gamut transform pairs, 1978.
    Example:
      >>> image.hsv_to_rgb([[[0.0, 1.0, 1.0]]]).numpy().tolist()
      [[[1.0, 0.0, 0.0]]]
    """
    x = _colored("hsv_to_rgb", images)
    require_kind("hsv_to_rgb", x, FLOATING, "images")
    hue, saturation, value = unstacked(x, 3, -1)
    one = lift(1, x.dtype)
    return stack([((one - saturation) + saturation * c) * value for c in _shares(hue * 6)], -1)


def _shares(sixth: Any) -> list[Any]:
    """How far red, green and blue are from the smallest channel to the largest, 0 to 1, for a hue from 0 to 6."""
    bright = (abs_of(sixth - 3) - 1, 2 - abs_of(sixth - 2), 2 - abs_of(sixth - 4))
    return [clip_by_value(c, 0, 1) for c in bright]


def _of_hue(sixth: Any, value: Any, low: Any) -> Tensor:
    """Colours of that hue, largest and smallest channel, which are met exactly: integers are rounded down afterwards."""
    spread = value - low
    return stack(
        [where(c == 1, value, low + spread * c) for c in _shares(floormod(sixth, lift(6, sixth.dtype)))], -1
    )


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """RGB images with `delta` added to the hue, which is periodic.

    Args:
      image: Tensor [..., 3], an integer or float dtype; integers are computed as float32 from 0 to 1.
      delta: A number from -1 to 1; 1 is a full turn.
    Returns: Tensor of the same shape and dtype. The gradient of a grey pixel is that of its value only.
    Raises: InvalidArgumentError (a ValueError): `delta` is out of range, or the last axis has another size.
    Example:
      >>> image.adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).numpy().tolist()
      [[[0.0, 1.0, 1.0]]]
    """
    require_number("adjust_hue", delta, "delta")
    known = static_array(delta)
    if known is not None and known.size != 1:
        raise InvalidArgumentError(f"adjust_hue: delta has shape {list(known.shape)}; one number is needed.")
    if known is not None and not -1 <= known <= 1:
        raise InvalidArgumentError(f"adjust_hue: delta is {known}; it must be in [-1, 1].")

    def adjusted(x: Tensor) -> Tensor:
        sixth, value, low, _ = _around(x)
        return _of_hue(sixth + cast(delta, x.dtype) * 6, value, low)

    return _in_floats(_colored("adjust_hue", image), adjusted)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """RGB images with the saturation multiplied by a factor and clipped to at most 1.

    Args:
      image: Tensor [..., 3], an integer or float dtype; integers are computed as float32 from 0 to 1.
      saturation_factor: A number.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size.
    Example:
      >>> image.adjust_saturation([[[1.0, 0.5, 0.5]]], 0.0).numpy().tolist()
      [[[1.0, 1.0, 1.0]]]
    """

    def adjusted(x: Tensor) -> Tensor:
        sixth, value, low, _ = _around(x)
        part = clip_by_value(_saturation(value, low) * cast(saturation_factor, x.dtype), 0, 1)
        return _of_hue(sixth, value, value - part * value)

    return _in_floats(_colored("adjust_saturation", image), adjusted)


@blaming
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """0.2989 red + 0.587 green + 0.114 blue.

    Args:
      images: Tensor [..., 3], an integer or float dtype.
    Returns: Tensor [..., 1] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size.
    Source: ITU-R, Recommendation BT.601: the luma of its primaries.
    Example:
      >>> image.rgb_to_grayscale([[[1.0, 1.0, 1.0]]]).numpy().round(3).tolist()
      [[[1.0]]]
    """
    x = _colored("rgb_to_grayscale", images)
    return convert_image_dtype(_times(convert_image_dtype(x, float32), _GREY), x.dtype)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Images of one channel as RGB images with three equal channels.

    Args:
      images: Tensor [..., 1], any dtype.
    Returns: Tensor [..., 3] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size.
    Example:
      >>> image.grayscale_to_rgb([[[7]]]).numpy().tolist()
      [[[7, 7, 7]]]
    """
    x = _colored("grayscale_to_rgb", images, 1)
    return concat([x, x, x], -1)


def _converted(op: str, images: TensorLike, kernel: list[list[float]]) -> Tensor:
    x = _colored(op, images)
    require_kind(op, x, FLOATING, "images")
    return _times(x, kernel)


def _times(x: Tensor, kernel: list[list[float]]) -> Tensor:
    """Colours along the last axis times a matrix; quicker as one product of matrices."""
    matrix = lift(kernel, x.dtype)
    return tensordot(x, matrix, [[-1], [0]]) if x.ndim == 1 else matmul(x, matrix)


@blaming
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """RGB converted to YIQ, the luma and the two chroma components of NTSC.

    Args:
      images: Float tensor [..., 3].
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: ITU-R, Recommendation BT.470: the systems M (NTSC).
    Example:
      >>> image.rgb_to_yiq([[[1.0, 0.0, 0.0]]]).numpy().round(3).tolist()
      [[[0.29899999499320984, 0.5960000157356262, 0.21199999749660492]]]
    """
    return _converted("rgb_to_yiq", images, _YIQ)


@blaming
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """YIQ converted to RGB: the inverse of `rgb_to_yiq`.

    Args:
      images: Float tensor [..., 3].
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: ITU-R, Recommendation BT.470: the systems M (NTSC).
    Example:
      >>> image.yiq_to_rgb([[[1.0, 0.0, 0.0]]]).numpy().round(3).tolist()
      [[[1.0, 1.0, 1.0]]]
    """
    return _converted("yiq_to_rgb", images, _FROM_YIQ)


@blaming
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """RGB converted to YUV, the luma and the two chroma components of PAL.

    Args:
      images: Float tensor [..., 3].
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: ITU-R, Recommendation BT.470: the systems B and G (PAL).
    Example:
      >>> image.rgb_to_yuv([[[1.0, 0.0, 0.0]]]).numpy().round(3).tolist()
      [[[0.29899999499320984, -0.1469999998807907, 0.6150000095367432]]]
    """
    return _converted("rgb_to_yuv", images, _YUV)


@blaming
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """YUV converted to RGB: the inverse of `rgb_to_yuv`.

    Args:
      images: Float tensor [..., 3].
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the last axis has another size; DTypeError (a TypeError): another dtype.
    Source: ITU-R, Recommendation BT.470: the systems B and G (PAL).
    Example:
      >>> image.yuv_to_rgb([[[1.0, 0.0, 0.0]]]).numpy().round(3).tolist()
      [[[1.0, 1.0, 1.0]]]
    """
    return _converted("yuv_to_rgb", images, _FROM_YUV)


@blaming
def per_image_standardization(image: TensorLike) -> Tensor:
    """(x - mean) / standard deviation of each image; the deviation is taken to be at least 1 / sqrt(number of elements).

    Args:
      image: Tensor [..., height, width, channels] of a real dtype.
    Returns: Tensor of the same shape; its dtype is that of the images if that is a float, else float32.
    Raises: InvalidArgumentError (a ValueError): the rank is below 3.
    Example:
      >>> image.per_image_standardization([[[1.0], [3.0]]]).numpy().tolist()
      [[[-1.0], [1.0]]]
    """
    x = cast(images_of("per_image_standardization", image), float32)
    count: Any = 1
    for axis in (-3, -2, -1):
        count = count * size_along(x, axis)
    mean = reduce_mean(x, [-1, -2, -3], keepdims=True)
    deviation = reduce_std(x, [-1, -2, -3], keepdims=True)
    return (x - mean) / maximum(deviation, rsqrt(cast(count, float32)))
