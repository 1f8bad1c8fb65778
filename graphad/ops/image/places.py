"""Functions that move pixels: flips, rotations, crops, padding, patches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.dtypes import float64, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.join import concat
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_array, static_int
from graphad.ops.array.transpose import reverse
from graphad.ops.array.transpose import transpose as transposed
from graphad.ops.control.branch import switch_case
from graphad.ops.image.layout import (
    HEIGHT,
    WIDTH,
    image_of,
    is_known,
    largest,
    number,
    size_along,
    smallest,
    vector,
)
from graphad.ops.math.cast import cast
from graphad.ops.nn.arguments import padding_of
from graphad.ops.nn.windows import Patches
from graphad.ops.state.effects import require


def flip_left_right(image: TensorLike) -> Tensor:
    """Images with the columns in reverse order.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Example:
      >>> image.flip_left_right([[[1], [2]]]).numpy().tolist()
      [[[2], [1]]]
    """
    return reverse(image_of("flip_left_right", image), [WIDTH])


def flip_up_down(image: TensorLike) -> Tensor:
    """Images with the rows in reverse order.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Example:
      >>> image.flip_up_down([[[1]], [[2]]]).numpy().tolist()
      [[[2]], [[1]]]
    """
    return reverse(image_of("flip_up_down", image), [HEIGHT])


def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Images with height and width exchanged.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
    Returns: Tensor with height and width exchanged, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Example:
      >>> image.transpose([[[1], [2]]]).numpy().tolist()
      [[[1]], [[2]]]
    """
    return _swapped(image_of("transpose", image))


def _swapped(x: Any) -> Tensor:
    return transposed(x, [*range(x.ndim - 3), x.ndim - 2, x.ndim - 3, x.ndim - 1])


def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Images rotated by k right angles, counter-clockwise.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      k: The number of right angles, an integer or an integer scalar.
    Returns: Tensor of the same dtype, height and width exchanged for an odd k.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Example:
      >>> image.rot90([[[1], [2]]]).numpy().tolist()
      [[[2]], [[1]]]
    """
    x = image_of("rot90", image)
    turns = [
        lambda: x,
        lambda: reverse(_swapped(x), [HEIGHT]),
        lambda: reverse(x, [HEIGHT, WIDTH]),
        lambda: reverse(_swapped(x), [WIDTH]),
    ]
    known = static_int("rot90", k, "k")
    if known is None:
        return switch_case(cast(k, int32) % 4, turns)
    return turns[known % 4]()  # type: ignore[no-any-return]


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> Tensor:
    """The crop of images with a given offset and size.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      offset_height, offset_width: The first row and column.
      target_height, target_width: The size of the crop.
    Returns: Tensor [..., target_height, target_width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another rank, or the crop does not lie inside the images.
    Example:
      >>> image.crop_to_bounding_box(reshape(range(4), [2, 2, 1]), 0, 1, 2, 1).numpy().tolist()
      [[[1]], [[3]]]
    """
    x = image_of("crop_to_bounding_box", image)
    return _cropped(x, offset_height, offset_width, target_height, target_width, False)


def _cropped(
    x: Tensor,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    is_inside: bool,
) -> Tensor:
    """The steps of `crop_to_bounding_box`; `is_inside`: numbers that only the run knows need no check."""
    op = "crop_to_bounding_box"
    keys: list[Any] = []
    for axis, start, size, word in (
        (HEIGHT, offset_height, target_height, "height"),
        (WIDTH, offset_width, target_width, "width"),
    ):
        first, count = number(op, start, f"offset_{word}"), number(op, size, f"target_{word}")
        whole = size_along(x, axis)
        if is_known(first, count, whole) and not (first >= 0 and count >= 1 and first + count <= whole):
            raise InvalidArgumentError(
                f"{op}: {count} from {first} on is not within the {word} of image, which is {whole}."
            )
        if not is_inside and not is_known(first, count, whole):
            numbers = [lift(first), lift(count), lift(whole)]
            require(
                (numbers[0] >= 0) & (numbers[1] >= 1) & (numbers[0] + numbers[1] <= numbers[2]),
                f"{op}: \x00 from \x00 on is not within the {word} of image, which is \x00.",
                [numbers[1], numbers[0], numbers[2]],
            )
        keys.append(slice(first, first + count))
    part: Any = x
    return _of_size(part[..., keys[0], keys[1], :], target_height, target_width)


def pad_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> Tensor:
    """Images padded with zeros to a given size, at an offset.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], a numeric dtype.
      offset_height, offset_width: The rows and columns of zeros before the images.
      target_height, target_width: The size of the result.
    Returns: Tensor [..., target_height, target_width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another rank, or the images are known not to fit.
    Example:
      >>> image.pad_to_bounding_box([[[7]]], 0, 1, 1, 3).numpy().tolist()
      [[[0], [7], [0]]]
    """
    op = "pad_to_bounding_box"
    x = image_of(op, image)
    sides: list[Any] = [[0, 0]] * (len(x.dims or ()) - 3)
    for axis, start, size, word in (
        (HEIGHT, offset_height, target_height, "height"),
        (WIDTH, offset_width, target_width, "width"),
    ):
        before, count = number(op, start, f"offset_{word}"), number(op, size, f"target_{word}")
        after = count - before - size_along(x, axis)
        if is_known(before, after) and min(before, after) < 0:
            raise InvalidArgumentError(
                f"{op}: image of {word} {size_along(x, axis)} at offset {before} does not fit into {count}."
            )
        sides.append([before, after])
    return _of_size(pad(x, [*sides, [0, 0]]), target_height, target_width)


def _of_size(images: Any, height: TensorLike, width: TensorLike) -> Tensor:
    """The images, whose height and width are known while tracing where those that are asked for are."""
    wanted = [static_int("image", size, "size") for size in (height, width)]
    if all(have is not None or size is None for have, size in zip(images.dims[-3:-1], wanted, strict=True)):
        return images  # type: ignore[no-any-return]
    return ensure_shape(images, [*images.dims[:-3], *wanted, images.dims[-1]])


def resize_with_crop_or_pad(image: TensorLike, target_height: TensorLike, target_width: TensorLike) -> Tensor:
    """Images cropped or padded with zeros around their centre to a given size; each axis by itself.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], a numeric dtype.
      target_height, target_width: The size of the result.
    Returns: Tensor [..., target_height, target_width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another rank, or a size that is not positive.
    Example:
      >>> image.resize_with_crop_or_pad([[[1], [2], [3]]], 1, 1).numpy().tolist()
      [[[2]]]
    """
    op = "resize_with_crop_or_pad"
    x = image_of(op, image)
    target = number(op, target_height, "target_height"), number(op, target_width, "target_width")
    for n, word in zip(target, ("target_height", "target_width"), strict=True):
        if type(n) is not int or n < 1:
            require(lift(n) >= 1, f"{op}: {word} is \x00; it must be at least 1.", [lift(n)])
    old = size_along(x, HEIGHT), size_along(x, WIDTH)
    gaps = [new - n for new, n in zip(target, old, strict=True)]
    inner = [smallest(new, n) for new, n in zip(target, old, strict=True)]
    first = [largest(-gap // 2, 0) for gap in gaps]
    y = _cropped(x, first[0], first[1], inner[0], inner[1], True)
    before = [largest(gap // 2, 0) for gap in gaps]
    return pad_to_bounding_box(y, before[0], before[1], target[0], target[1])


@blaming
def central_crop(image: TensorLike, central_fraction: float | Tensor) -> Tensor:
    """The centre of images: `central_fraction` of each side.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      central_fraction: A number or a scalar tensor, above 0 and at most 1.
    Returns: Tensor of the same rank and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank, or a fraction out of range.
    Example:
      >>> image.central_crop(reshape(range(16), [4, 4, 1]), 0.5).numpy().tolist()
      [[[5], [6]], [[9], [10]]]
    """
    x = image_of("central_crop", image)
    part: Any = central_fraction
    known = static_array(part)
    if known is not None:
        part = float(known)
        if not 0.0 < part <= 1.0:
            raise InvalidArgumentError(f"central_crop: central_fraction is {part}; it must be in (0, 1].")
    starts, sizes = [], []
    for axis in (HEIGHT, WIDTH):
        n = size_along(x, axis)
        if stands_for_tensor(n) or known is None:
            first = cast((cast(n, float64) - cast(n, float64) * cast(part, float64)) / 2.0, int32)
        else:
            first = int((n - n * part) / 2)  # type: ignore[assignment]
        starts.append(first)
        sizes.append(n - first * 2)
    return _cropped(x, starts[0], starts[1], sizes[0], sizes[1], True)


def extract_patches(
    images: TensorLike,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The patches of images, each flattened along the last axis, row by row.

    Args:
      images: Tensor [batch, height, width, channels], a numeric dtype.
      sizes: [1, rows, columns, 1], the size of a patch.
      strides: [1, rows, columns, 1], the distance between patches.
      rates: [1, rows, columns, 1], the distance between the pixels of a patch.
      padding: "SAME" or "VALID".
    Returns: Tensor [batch, out rows, out columns, rows * columns * channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank, a list or `padding` is not one of these.
    Example:
      >>> x = constant([0.0, 1.0, 2.0, 3.0], shape=[1, 2, 2, 1])
      >>> image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'VALID').numpy().tolist()
      [[[[0.0, 1.0, 2.0, 3.0]]]]
    """
    op = "extract_patches"
    x = image_of(op, images, (4,), "images")
    window, steps, dilations = (
        _inner(op, word, given) for word, given in (("sizes", sizes), ("strides", strides), ("rates", rates))
    )
    return _flat(
        bind(Patches(window, steps, padding_of(op, padding, 2, explicit=False), dilations), x), window, x
    )


def extract_volume_patches(
    input: TensorLike, ksizes: Sequence[int], strides: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """The patches of volumes, each flattened along the last axis: planes, rows, columns and channels.

    Args:
      input: Tensor [batch, planes, rows, columns, channels], any dtype.
      ksizes: [1, planes, rows, columns, 1], the size of a patch.
      strides: [1, planes, rows, columns, 1], the distance between patches.
      padding: "SAME" or "VALID".
    Returns: Tensor [batch, out planes, out rows, out columns, planes * rows * columns * channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a shape or a size does not fit.
    """
    op = "extract_volume_patches"
    x = lift(input)
    if x.ndim != 5:
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; [batch, planes, rows, columns, channels] is needed."
        )
    window, steps = (_inner(op, word, given, 3) for word, given in (("ksizes", ksizes), ("strides", strides)))
    return _flat(
        bind(Patches(window, steps, padding_of(op, padding, 3, explicit=False), (1, 1, 1)), x), window, x
    )


def _flat(parts: Tensor, window: tuple[int, ...], x: Tensor) -> Tensor:
    """Patches [batch, *positions, *window, channels] with window and channels flattened."""
    dims, rank = parts.dims, len(window)
    if dims is not None and None not in dims[1:]:
        lead = [-1 if dims[0] is None else dims[0], *dims[1 : rank + 1]]
        return reshape(parts, [*lead, math.prod(dims[rank + 1 :])])
    of_parts: Any = shape(parts)
    count = math.prod(window)
    return reshape(parts, concat([of_parts[: rank + 1], vector(count * size_along(x, -1))], 0))


def _inner(op: str, word: str, given: object, rank: int = 2) -> tuple[int, ...]:
    known = static_array(given)
    if known is None or known.shape != (rank + 2,) or known[0] != 1 or known[-1] != 1 or known.min() < 1:
        axes = "rows, columns" if rank == 2 else "planes, rows, columns"
        raise InvalidArgumentError(
            f"{op}: {word} is {given!r}; [1, {axes}, 1] with positive integers, known while tracing, is needed."
        )
    return tuple(int(size) for size in known[1:-1])
