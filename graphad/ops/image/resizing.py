"""Resizing of images: along each axis every new row is a weighted sum of old ones, so a resize is two products with matrices of
weights. It is linear, and its derivatives are products with the transposed matrices.

Positions are computed in the dtype of the images, float32 for other dtypes, and ties are broken as in TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import DType, float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.memo import Memo
from graphad.core.scopes import init_scope, inside_function
from graphad.core.shapes import is_definite
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.sizes import static_sizes
from graphad.ops.array.transpose import swap_axes
from graphad.ops.image.layout import (
    HEIGHT,
    WIDTH,
    as_float,
    image_of,
    is_known,
    largest,
    number,
    size_along,
    smallest,
    vector,
    whole,
)
from graphad.ops.image.places import pad_to_bounding_box
from graphad.ops.linalg import einsum
from graphad.ops.linalg.matmul import matmul
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.arithmetic import divide_no_nan, square
from graphad.ops.math.cardinal_sine import sinc
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import exp
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.math.rounding import floor, rint
from graphad.ops.math.select import clip_by_value, maximum, minimum, where

_SMOOTHING = ("gaussian", "mitchellcubic")  # methods that change an image whose size stays the same
_FEW = 4  # channels that leave half of a vector or more empty
_STEPS = 1024  # TensorFlow's table of "bicubic" weights has so many steps between two pixels


class ResizeMethod:
    """The methods of `resize`."""

    AREA = "area"
    BICUBIC = "bicubic"
    BILINEAR = "bilinear"
    GAUSSIAN = "gaussian"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    MITCHELLCUBIC = "mitchellcubic"
    NEAREST_NEIGHBOR = "nearest"


def _triangle(x: Tensor) -> Tensor:
    return maximum(1.0 - x, 0.0)


def _cubic(x: Tensor) -> Tensor:
    """The cubic convolution kernel with slope -1/2."""
    near, far = ((1.5 * x - 2.5) * x) * x + 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return where(x < 1.0, near, where(x < 2.0, far, 0.0))


def _mitchell(x: Tensor) -> Tensor:
    """The cubic kernel of Mitchell and Netravali, with B = C = 1/3."""
    near = ((7 / 6 * x - 2.0) * x) * x + 8 / 9
    far = ((-7 / 18 * x + 2.0) * x - 10 / 3) * x + 16 / 9
    return where(x < 1.0, near, where(x < 2.0, far, 0.0))


def _gaussian(x: Tensor) -> Tensor:
    """A Gaussian with standard deviation 1/2, cut off at three deviations."""
    return where(x < 1.5, exp(-2.0 * square(x)), 0.0)


def _lanczos(radius: int) -> Callable[[Any], Any]:
    return lambda x: where(x < float(radius), sinc(x) * sinc(x / radius), 0.0)


_KERNELS: dict[str, Callable[[Any], Any]] = {
    ResizeMethod.BILINEAR: _triangle,
    ResizeMethod.BICUBIC: _cubic,
    ResizeMethod.GAUSSIAN: _gaussian,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.MITCHELLCUBIC: _mitchell,
}
_kept_weights = Memo("weights of resizes", 32)
METHODS = (*_KERNELS, ResizeMethod.AREA, ResizeMethod.NEAREST_NEIGHBOR)


def _weights(method: str, antialias: bool, old: TensorLike, new: TensorLike, dtype: DType) -> Tensor:
    """The weights [new, old] of the old rows in the new ones."""
    scale = as_float(old, dtype) / as_float(new, dtype)
    rows: Any = cast(range_of(new), dtype)[:, None]
    columns: Any = cast(range_of(old), dtype)
    if method == ResizeMethod.AREA:
        start, end = rows * scale, (rows + 1.0) * scale
        return maximum(minimum(columns + 1.0, end) - maximum(columns, start), 0.0) / scale  # type: ignore[no-any-return]
    plain = not antialias and method in (ResizeMethod.BILINEAR, ResizeMethod.BICUBIC)
    # Ties at an edge are broken as in TensorFlow.
    scale = scale if plain else as_float(1, dtype) / (as_float(new, dtype) / as_float(old, dtype))
    at: Any = (rows + 0.5) * scale - 0.5
    if plain and method == ResizeMethod.BILINEAR:
        return _triangle(abs_of(columns - clip_by_value(at, 0.0, as_float(old, dtype) - 1.0)))
    if plain:
        before: Any = floor(at)
        at = before + rint((at - before) * float(_STEPS)) / float(_STEPS)
    spread = largest(scale, as_float(1, dtype)) if antialias else as_float(1, dtype)
    found = _KERNELS[method](abs_of(columns - at) * (as_float(1, dtype) / spread))
    return divide_no_nan(found, reduce_sum(found, 1, keepdims=True))


def _weights_for(x: Tensor, method: str, antialias: bool, old: TensorLike, new: TensorLike) -> Tensor:
    """`_weights`, cached for the next image of that size. In a graph they are computed, so that a file holds no tables."""
    if type(x) is not EagerTensor or inside_function() or not is_known(old, new):
        return _weights(method, antialias, old, new, x.dtype)
    key = method, antialias, old, new, x.dtype
    found = _kept_weights.get(key)
    if found is None:
        with init_scope():
            found = _kept_weights.keep(key, _weights(method, antialias, old, new, x.dtype))
    return found  # type: ignore[no-any-return]


def weighted(x: TensorLike, weights: TensorLike, axis: int) -> Tensor:
    """The weights [new, old] applied along `axis`, the third or second from the end: products that leave the image as it lies
    where it has more than a few channels, or sizes that are not known."""
    images = lift(x)
    dims, new = images.dims, lift(weights).dims
    if axis == WIDTH:
        if dims is None or new is None or not is_definite((*dims, *new)) or 0 in dims or dims[-1] > _FEW:
            return matmul(weights, images)
        # All lines of all channels are the rows of one product: one for each line would have a column for each channel.
        lines = reshape(swap_axes(images, -1, -2), [math.prod(dims) // dims[-2], dims[-2]])
        lines = matmul(lines, weights, transpose_b=True)
        return swap_axes(reshape(lines, [*dims[:-2], dims[-1], new[0]]), -1, -2)
    unknown = [] if dims is None or new is None else [size for size in (*dims, new[0]) if size is None]
    if (
        dims is None
        or new is None
        or new[0] is None
        or len(unknown) > 1
        or None in dims[-3:]
        or 0 in dims[-3:]
    ):
        return einsum("oh,...hwc->...owc", weights, images)
    # All channels of a line are one row of a matrix. One size may be unknown, such as that of the batch.
    lead = [-1 if size is None else size for size in dims[:-3]]
    height, width, channels = dims[-3:]
    lines = matmul(weights, reshape(images, [*lead, height, width * channels]))
    return reshape(lines, [*lead, new[0], width, channels])


def resized(x: Tensor, size: tuple[Any, Any], method: str, antialias: bool) -> Tensor:
    """Images of a float dtype resized; "nearest" takes any dtype."""
    # Widths first: the gradient of a gather along the first axis of `x` would be slices.
    for axis, new in ((WIDTH, size[1]), (HEIGHT, size[0])):
        old = size_along(x, axis)
        if method == ResizeMethod.NEAREST_NEIGHBOR:
            at: Any = (cast(range_of(new), float32) + 0.5) * (as_float(old) / as_float(new))
            x = gather(x, minimum(cast(floor(at), int32), old - 1), axis=axis)
        else:
            x = weighted(x, _weights_for(x, method, antialias, old, new), axis)
    return x


@blaming
def resize(
    images: TensorLike,
    size: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images resized; pixels are squares, with centres at half-integer positions.

    Args:
      images: Tensor [batch, height, width, channels] or [height, width, channels], real dtypes.
      size: The new height and width: two integers, or an integer tensor [2].
      method: "bilinear", "bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "area" or "nearest".
      preserve_aspect_ratio: Whether the new size is the largest of the old form that fits into `size`.
      antialias: Whether to widen the kernels to the size of a new pixel when shrinking; ignored for "nearest" and "area".
    Returns: float32 tensor; of the images' dtype for "nearest".
    Raises: InvalidArgumentError (a ValueError): the rank of `images`, `size` or `method` is not one of these.
    Source: "bicubic": Keys, Cubic convolution interpolation for digital image processing, 1981; "mitchellcubic": Mitchell
      and Netravali, Reconstruction filters in computer graphics, 1988; "lanczos3" and "lanczos5": Duchon, Lanczos filtering
      in one and two dimensions, 1979.
    """
    x = image_of("resize", images, name="images")
    new = pair_of_sizes("resize", size)
    old = size_along(x, HEIGHT), size_along(x, WIDTH)
    if method not in METHODS:
        raise InvalidArgumentError(
            f"resize: method {method!r} is unknown; it is one of {', '.join(METHODS)}."
        )
    if preserve_aspect_ratio:
        new = of_the_form(old, new)
    x = x if method == ResizeMethod.NEAREST_NEIGHBOR else cast(x, float32)
    if is_known(*new, *old) and new == old and method not in _SMOOTHING:
        return x
    return resized(x, new, method, antialias)


def of_the_form(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """The largest height and width in the ratio of the old ones that fit into the new ones."""
    factor = smallest(as_float(new[0]) / as_float(old[0]), as_float(new[1]) / as_float(old[1]))
    return tuple([nearest_whole(factor * as_float(n)) for n in old])


def pair_of_sizes(op: str, size: TensorLike, name: str = "size") -> tuple[Any, ...]:
    known = static_sizes(op, size)
    if known is None:
        tensor = lift(size)
        if tensor.dims is not None and tensor.dims != (2,):
            raise InvalidArgumentError(
                f"{op}: {name} has shape {tensor.shape}; a height and a width are needed."
            )
        sizes: Any = cast(tensor, int32)
        return sizes[0], sizes[1]
    if len(known) != 2 or any(n < 1 for n in known):
        raise InvalidArgumentError(f"{op}: {name} is {known}; a height and a width of at least 1 are needed.")
    return tuple(known)


def nearest_whole(x: Any) -> Tensor | int:
    return cast(rint(x), int32) if not is_known(x) else round(float(x))


@blaming
def resize_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Images resized to the largest size that keeps their ratio and fits, then padded with zeros around the centre.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], a numeric dtype.
      target_height, target_width: The size of the result.
      method, antialias: As for `resize`.
    Returns: Float tensor [..., target_height, target_width, channels], of the dtype that `resize` returns.
    Raises: InvalidArgumentError (a ValueError): another rank, a size that is not positive, or another method.
    Source: "bicubic": Keys, Cubic convolution interpolation for digital image processing, 1981; "mitchellcubic": Mitchell
      and Netravali, Reconstruction filters in computer graphics, 1988; "lanczos3" and "lanczos5": Duchon, Lanczos filtering
      in one and two dimensions, 1979.
    Example:
      >>> image.resize_with_pad(ones([2, 4, 1]), 4, 4).shape
      TensorShape([4, 4, 1])
    """
    x = image_of("resize_with_pad", image)
    target = (
        number("resize_with_pad", target_height, "target_height"),
        number("resize_with_pad", target_width, "target_width"),
    )
    old = size_along(x, HEIGHT), size_along(x, WIDTH)
    ratio = largest(as_float(old[1]) / as_float(target[1]), as_float(old[0]) / as_float(target[0]))
    inner = [as_float(n) / ratio for n in old]
    pads = [largest(0, whole((as_float(n) - m) / as_float(2))) for n, m in zip(target, inner, strict=True)]
    y = resize(x, vector(*[whole(n) for n in inner]), method, antialias=antialias)
    return pad_to_bounding_box(y, pads[0], pads[1], target[0], target[1])


def gaussian_window(size: int, sigma: float) -> list[float]:
    """Gaussian weights of a window of `size`, with standard deviation `sigma` and sum 1."""
    found = [math.exp(-(((k - (size - 1) / 2) / sigma) ** 2) / 2) for k in range(size)]
    return [weight / math.fsum(found) for weight in found]
