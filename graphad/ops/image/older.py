"""The resizing of TensorFlow 1, where a pixel is a point and the corners of the old and the new image can be aligned.

The functions are in `compat.v1.image`. As in `resizing`, a resize is two products with matrices of weights.
"""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.dtypes import DType, float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.sequence import range as range_of
from graphad.ops.image import resizing
from graphad.ops.image.layout import HEIGHT, WIDTH, as_float, image_of, is_known, size_along
from graphad.ops.image.resizing import of_the_form, pair_of_sizes, weighted
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.rounding import floor, rint
from graphad.ops.math.select import clip_by_value, maximum, minimum, where

_STEPS = 1024  # TensorFlow's table of "bicubic" weights has so many steps between two pixels
_SLOPE = -0.75  # the slope of the cubic convolution kernel; TensorFlow 2 has -1/2


class ResizeMethod:
    """The methods of `resize`, with the numbers that TensorFlow 1 has for them."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    "bilinear": ResizeMethod.BILINEAR,
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "bicubic": ResizeMethod.BICUBIC,
    "area": ResizeMethod.AREA,
}


def _scale(old: Any, new: Any, align_corners: bool, dtype: DType) -> Any:
    """The distance of two new rows, in old rows."""
    plain = as_float(old, dtype) / as_float(new, dtype)
    if not align_corners:
        return plain
    if is_known(new):
        return plain if new <= 1 else as_float(old - 1, dtype) / as_float(new - 1, dtype)
    return where(new > 1, as_float(old - 1, dtype) / as_float(maximum(new - 1, 1), dtype), plain)


def _cubic(x: Tensor) -> Tensor:
    near = ((_SLOPE + 2.0) * x - (_SLOPE + 3.0)) * x * x + 1.0
    far = ((_SLOPE * x - 5.0 * _SLOPE) * x + 8.0 * _SLOPE) * x - 4.0 * _SLOPE
    return where(x <= 1.0, near, far)


def _weights(method: int, align_corners: bool, old: Any, new: Any, dtype: DType) -> Any:
    """The weights [new, old] of the old rows in the new ones."""
    scale = _scale(old, new, align_corners, dtype)
    rows: Any = cast(range_of(new), dtype)[:, None]
    columns: Any = cast(range_of(old), dtype)
    last: Any = as_float(old, dtype) - 1.0
    if method == ResizeMethod.AREA:
        start, end = rows * scale, (rows + 1.0) * scale
        inside = maximum(minimum(columns + 1.0, end) - maximum(columns, start), 0.0)
        # Beyond the last row, the last row is repeated.
        beyond = maximum(end - maximum(start, last + 1.0), 0.0)
        return (inside + where(columns >= last, beyond, 0.0)) / scale
    at: Any = rows * scale
    if method == ResizeMethod.BILINEAR:
        return maximum(1.0 - abs_of(columns - clip_by_value(at, 0.0, last)), 0.0)
    before: Any = floor(at)
    step = rint((at - before) * float(_STEPS)) / float(_STEPS)
    found: Any = 0.0
    for k in (-1.0, 0.0, 1.0, 2.0):
        found += where(columns == clip_by_value(before + k, 0.0, last), _cubic(abs_of(step - k)), 0.0)
    return found


def _resized(x: Tensor, new: tuple[Any, ...], method: int, align_corners: bool) -> Tensor:
    for axis, n in ((WIDTH, new[1]), (HEIGHT, new[0])):
        old = size_along(x, axis)
        if method == ResizeMethod.NEAREST_NEIGHBOR:
            at: Any = cast(range_of(n), float32) * _scale(old, n, align_corners, float32)
            at = floor(at + 0.5) if align_corners else floor(at)
            x = gather(x, minimum(cast(at, int32), old - 1), axis=axis)
        else:
            x = weighted(x, _weights(method, align_corners, old, n, x.dtype), axis)
    return x


def resize(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images resized as in TensorFlow 1: row i of the new image lies at i * old / new of the old one, with `align_corners` at i
    * (old - 1) / (new - 1).

    Args:
      images: Tensor [batch, height, width, channels] or [height, width, channels], real dtypes.
      size: The new height and width: two integers, or an integer tensor [2].
      method: One of `ResizeMethod`, or "bilinear", "nearest", "bicubic" or "area".
      align_corners: Whether the corners of the old and the new image are the same points.
      preserve_aspect_ratio: Whether to keep the ratio of height and width; the new size is then the largest one that fits into
        `size`.
    Returns: float32 tensor; it has the images' dtype for "nearest" and if the size does not change.
    Raises: InvalidArgumentError (a ValueError): `images`, `size` or `method` is not one of these.
    """
    x = image_of("resize", images, name="images")
    wanted: Any = _METHODS.get(method) if isinstance(method, str) else method
    if wanted not in _METHODS.values():
        raise InvalidArgumentError(
            f"resize: method {method!r} is unknown; it is one of {', '.join(_METHODS)}, or a number of ResizeMethod."
        )
    new, old = pair_of_sizes("resize", size), (size_along(x, HEIGHT), size_along(x, WIDTH))
    if preserve_aspect_ratio:
        new = of_the_form(old, new)
    if is_known(*new, *old) and new == old:
        return x
    x = x if wanted == ResizeMethod.NEAREST_NEIGHBOR else cast(x, float32)
    return _resized(x, new, wanted, align_corners)


def _by(method: int, name: str, images: TensorLike, size: TensorLike, corners: bool, centers: bool) -> Tensor:
    if corners and centers:
        raise InvalidArgumentError(
            f"resize_{name}: align_corners and half_pixel_centers are both True; at most one of them may be."
        )
    if centers:
        return resizing.resize(images, size, name)
    x = resize(images, size, method, corners)
    return x if method == ResizeMethod.NEAREST_NEIGHBOR else cast(x, float32)


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """`resize` by "bilinear", always of float32; with `half_pixel_centers` as in TensorFlow 2."""
    return _by(ResizeMethod.BILINEAR, "bilinear", images, size, align_corners, half_pixel_centers)


def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """`resize` by "nearest"; with `half_pixel_centers` as in TensorFlow 2."""
    return _by(ResizeMethod.NEAREST_NEIGHBOR, "nearest", images, size, align_corners, half_pixel_centers)


def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """`resize` by "bicubic", always of float32; with `half_pixel_centers` as in TensorFlow 2."""
    return _by(ResizeMethod.BICUBIC, "bicubic", images, size, align_corners, half_pixel_centers)


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """`resize` by "area", always of float32."""
    return _by(ResizeMethod.AREA, "area", images, size, align_corners, False)
