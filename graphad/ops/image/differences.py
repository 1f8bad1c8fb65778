"""Measures of the difference between images, and differences between neighbouring pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, stack
from graphad.ops.array.padding import pad
from graphad.ops.array.sequence import range as range_of
from graphad.ops.image.colors import convert_image_dtype
from graphad.ops.image.layout import HEIGHT, WIDTH, image_of, images_of, size_along
from graphad.ops.image.resizing import gaussian_window, weighted
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.arithmetic import square, squared_difference
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import log
from graphad.ops.math.power import pow as power
from graphad.ops.math.reduce import reduce_mean, reduce_prod, reduce_sum
from graphad.ops.math.select import where
from graphad.ops.nn.activation import relu


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column; 0 for the last row and the last column.

    Args:
      image: Tensor [batch, height, width, channels], a numeric dtype.
    Returns: Two tensors of the same shape and dtype: along height and along width.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Example:
      >>> [part.numpy().ravel().tolist() for part in image.image_gradients(constant([0.0, 1.0, 2.0, 3.0], shape=[1, 2, 2, 1]))]
      [[2.0, 2.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]
    """
    x: Any = image_of("image_gradients", image, (4,))
    down, right = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
    return concat([down, zeros_like(x[:, :1])], 1), concat([right, zeros_like(x[:, :, :1])], 2)


def sobel_edges(image: TensorLike) -> Tensor:
    """The Sobel derivatives along height and width, stacked along a last axis of size 2.

    Args:
      image: Tensor [batch, height, width, channels], a float dtype. It is padded by reflection.
    Returns: Tensor [batch, height, width, channels, 2] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: Sobel and Feldman, A 3x3 isotropic gradient operator for image processing, 1968.
    Example:
      >>> image.sobel_edges(ones([1, 3, 3, 1])).shape
      TensorShape([1, 3, 3, 1, 2])
    """
    x: Any = pad(image_of("sobel_edges", image, (4,)), [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    across = x[:, :, :-2] + 2 * x[:, :, 1:-1] + x[:, :, 2:]
    along = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]
    return stack([across[:, 2:] - across[:, :-2], along[:, :, 2:] - along[:, :, :-2]], -1)


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The total variation: the sum of the absolute differences of neighbouring pixels.

    Args:
      images: Tensor [batch, height, width, channels] or [height, width, channels], a numeric dtype.
    Returns: Tensor [batch], or a scalar for one image, of the same dtype. The gradient of equal neighbours is 0.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: Rudin, Osher and Fatemi, Nonlinear total variation based noise removal algorithms, 1992, with the distance |dx|
      + |dy|.
    Example:
      >>> float(image.total_variation([[[1.0], [3.0]]]))
      2.0
    """
    x: Any = image_of("total_variation", images, name="images")
    down = abs_of(x[..., 1:, :, :] - x[..., :-1, :, :])
    right = abs_of(x[..., 1:, :] - x[..., :-1, :])
    axes = [HEIGHT, WIDTH, -1]
    return reduce_sum(down, axes) + reduce_sum(right, axes)


def _compared(op: str, a: TensorLike, b: TensorLike, max_val: TensorLike) -> tuple[Any, Any, Any]:
    """Two images and the range of their values, in float32."""
    x, y = images_of(op, a), images_of(op, b)
    if x.dims is not None and y.dims is not None and not are_compatible(x.dims[-3:], y.dims[-3:]):
        raise InvalidArgumentError(
            f"{op}: images with shapes {format_dims(x.dims)} and {format_dims(y.dims)} differ in height, width or channels."
        )
    top = convert_image_dtype(cast(max_val, x.dtype), float32)
    return convert_image_dtype(x, float32), convert_image_dtype(y, float32), top


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """10 log10(max_val**2 / mean squared difference) of images.

    Args:
      a, b: Tensors [..., height, width, channels] of one shape, an integer or float dtype.
      max_val: The range of their values, 255 for uint8.
    Returns: float32 tensor [...]; infinite for equal images.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> float(image.psnr(zeros([2, 2, 1]), ones([2, 2, 1]), 10.0))
      20.0
    """
    x, y, top = _compared("psnr", a, b, max_val)
    mean = reduce_mean(squared_difference(x, y), [-3, -2, -1])
    return (20 * log(top) - 10 * log(mean)) / math.log(10.0)


def _blurred(x: Tensor, size: int, sigma: float) -> Tensor:
    """Local averages with Gaussian weights, at the positions where the window fits."""
    bell = lift(gaussian_window(size, sigma), x.dtype)
    for axis in (HEIGHT, WIDTH):
        n = size_along(x, axis)
        offset: Any = range_of(n)[None, :] - range_of(n - size + 1)[:, None]
        inside = (offset >= 0) & (offset < size)
        weights = where(inside, gather(bell, where(inside, offset, 0)), lift(0, x.dtype))
        x = weighted(x, weights, axis)
    return x


def _similarity(
    x: Tensor, y: Tensor, top: Tensor, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Any, Any]:
    """The luminance term, and the product of the contrast and structure terms, at every position."""
    op = "ssim"
    for z in (x, y):
        if z.dims is not None and any(n is not None and n < filter_size for n in z.dims[-3:-1]):
            raise InvalidArgumentError(
                f"{op}: images of shape {format_dims(z.dims)} are smaller than the filter, which has size {filter_size}."
            )
    c1, c2 = square(k1 * top), square(k2 * top)
    means = [_blurred(z, filter_size, filter_sigma) for z in (x, y)]
    crossed, squares = means[0] * means[1] * 2.0, square(means[0]) + square(means[1])
    luminance = (crossed + c1) / (squares + c1)
    both = _blurred(x * y, filter_size, filter_sigma) * 2.0
    apart = _blurred(square(x) + square(y), filter_size, filter_sigma)
    return luminance, (both - crossed + c2) / (apart - squares + c2)


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images, at most 1.

    Args:
      img1, img2: Tensors [..., height, width, channels] of one shape, an integer or float dtype, not smaller than
        `filter_size`.
      max_val: The range of their values.
      filter_size, filter_sigma: Size and standard deviation of the Gaussian window of local averages.
      k1, k2: Small constants, relative to `max_val`, that keep the quotients finite.
      return_index_map: Whether to return the similarity at every position, [..., height, width].
    Returns: float32 tensor [...], or the map.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or the filter is larger than the images.
    Source: Wang, Bovik, Sheikh and Simoncelli, Image quality assessment: from error visibility to structural similarity,
      2004.
    Example:
      >>> float(image.ssim(ones([16, 16, 1]), ones([16, 16, 1]), 1.0))
      1.0
    """
    x, y, top = _compared("ssim", img1, img2, max_val)
    luminance, structure = _similarity(x, y, top, filter_size, filter_sigma, k1, k2)
    return reduce_mean(luminance * structure, -1 if return_index_map else [-3, -2, -1])


def _halved(x: Tensor) -> Tensor:
    """Images of half the size: means of 2 x 2 pixels; the last row or column of an odd number is repeated."""
    for axis in (HEIGHT, WIDTH):
        n = size_along(x, axis)
        at: Any = range_of((n + 1) // 2) * 2
        pair = gather(x, at, axis=axis), gather(x, where(at + 1 < n, at + 1, at), axis=axis)
        x = (pair[0] + pair[1]) / 2
    return x


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The multiscale structural similarity: the product of powers of its terms on several scales, each half the size of the one
    before.

    Args:
      img1, img2, max_val, filter_size, filter_sigma, k1, k2: As for `ssim`, tensors [..., height, width, channels] of an
        integer or float dtype; the smallest scale must hold the filter.
      power_factors: The exponents, one for each scale.
    Returns: float32 tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, or the filter is larger than the smallest scale.
    Source: Wang, Simoncelli and Bovik, Multiscale structural similarity for image quality assessment, 2003.
    """
    x, y, top = _compared("ssim_multiscale", img1, img2, max_val)
    parts = []
    for k in range(len(power_factors)):
        if k:
            x, y = _halved(x), _halved(y)
        luminance, structure = _similarity(x, y, top, filter_size, filter_sigma, k1, k2)
        last = k == len(power_factors) - 1
        parts.append(relu(reduce_mean(luminance * structure if last else structure, [-3, -2])))
    return reduce_mean(reduce_prod(power(stack(parts, -1), lift(list(power_factors), float32)), [-1]), [-1])
