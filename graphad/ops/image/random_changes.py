"""Random changes of images; the result of `stateless_*` depends on the arguments and the seed [2] alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift_own, stands_for_tensor
from graphad.core.dtypes import float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.block import slice as block
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import require_number
from graphad.ops.array.transpose import reverse
from graphad.ops.image.colors import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from graphad.ops.image.layout import HEIGHT, WIDTH, image_of, size_along
from graphad.ops.math.cast import cast
from graphad.ops.math.rounding import floor
from graphad.ops.math.select import minimum, where
from graphad.ops.random import stateless_uniform, uniform
from graphad.ops.state.effects import require

# Draws numbers from 0 to 1 of a given shape.
Draw = Callable[[Any], Any]


def _drawn(seed: int | None) -> Draw:
    return lambda sizes: uniform(sizes, seed=seed)


def _stateless(seed: Any) -> Draw:
    return lambda sizes: stateless_uniform(sizes, seed)


def _between(draw: Draw, low: float, high: float) -> Any:
    """A random number from `low` to `high`."""
    start, end = cast(low, float32), cast(high, float32)
    return start + draw([]) * (end - start)


def _require_order(op: str, low: float, high: float, names: tuple[str, str]) -> None:
    """Raises: InvalidArgumentError: known bounds are not 0 <= low < high."""
    for given, name in zip((low, high), names, strict=True):
        require_number(op, given, name)
    if not (stands_for_tensor(low) or stands_for_tensor(high)):
        if low < 0 or high <= low:
            raise InvalidArgumentError(
                f"{op}: {names[0]} is {low} and {names[1]} {high}; 0 <= {names[0]} < {names[1]} is needed."
            )


def _flipped(op: str, image: TensorLike, axis: int, draw: Draw) -> Tensor:
    x = image_of(op, image)
    sizes: Any = [1, 1, 1] if x.ndim == 3 else [size_along(x, -4), 1, 1, 1]
    return where(draw(sizes) < 0.5, reverse(x, [axis]), x)


@blaming
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Images, each with its columns reversed with probability 1/2.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _flipped("random_flip_left_right", image, WIDTH, _drawn(seed))


@blaming
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Images, each with its rows reversed with probability 1/2.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _flipped("random_flip_up_down", image, HEIGHT, _drawn(seed))


def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """Images, each with its columns reversed with probability 1/2. The same seed gives the same result.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _flipped("stateless_random_flip_left_right", image, WIDTH, _stateless(seed))


def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """Images, each with its rows reversed with probability 1/2. The same seed gives the same result.

    Args:
      image: Tensor [batch, height, width, channels] or [height, width, channels], any dtype.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another rank.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _flipped("stateless_random_flip_up_down", image, HEIGHT, _stateless(seed))


def _brightness(op: str, image: TensorLike, most: float, draw: Draw) -> Tensor:
    require_number(op, most, "max_delta")
    if most < 0:
        raise InvalidArgumentError(f"{op}: max_delta is {most}; it must be 0 or more.")
    return adjust_brightness(image, _between(draw, -most, most))


@blaming
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number drawn uniformly from -max_delta to max_delta.

    Args:
      image: Tensor of any shape, an integer or float dtype; integers are computed as float32.
      max_delta: A number, 0 or more.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): `max_delta` is negative.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _brightness("random_brightness", image, max_delta, _drawn(seed))


def stateless_random_brightness(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`adjust_brightness` by a number drawn uniformly from -max_delta to max_delta. The same seed gives the same result.

    Args:
      image: Tensor of any shape, an integer or float dtype; integers are computed as float32.
      max_delta: A number, 0 or more.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): `max_delta` is negative.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _brightness("stateless_random_brightness", image, max_delta, _stateless(seed))


def _contrast(op: str, image: TensorLike, low: float, high: float, draw: Draw) -> Tensor:
    _require_order(op, low, high, ("lower", "upper"))
    return adjust_contrast(image, _between(draw, low, high))


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a number drawn uniformly from `lower` to `upper`.

    Args:
      image: Tensor [..., height, width, channels], an integer or float dtype; integers are computed as float32.
      lower, upper: Numbers, 0 <= lower < upper.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the bounds are not in that order.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _contrast("random_contrast", image, lower, upper, _drawn(seed))


def stateless_random_contrast(image: TensorLike, lower: float, upper: float, seed: TensorLike) -> Tensor:
    """`adjust_contrast` by a number drawn uniformly from `lower` to `upper`. The same seed gives the same result.

    Args:
      image: Tensor [..., height, width, channels], an integer or float dtype; integers are computed as float32.
      lower, upper: Numbers, 0 <= lower < upper.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the bounds are not in that order.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _contrast("stateless_random_contrast", image, lower, upper, _stateless(seed))


def _saturation(op: str, image: TensorLike, low: float, high: float, draw: Draw) -> Tensor:
    _require_order(op, low, high, ("lower", "upper"))
    return adjust_saturation(image, _between(draw, low, high))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a number drawn uniformly from `lower` to `upper`.

    Args:
      image: Tensor [..., 3] of red, green and blue, an integer or float dtype; integers are computed as float32.
      lower, upper: Numbers, 0 <= lower < upper.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the bounds are not in that order, or the last axis has another size.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _saturation("random_saturation", image, lower, upper, _drawn(seed))


def stateless_random_saturation(
    image: TensorLike, lower: float, upper: float, seed: TensorLike | None = None
) -> Tensor:
    """`adjust_saturation` by a number drawn uniformly from `lower` to `upper`. The same seed gives the same result.

    Args:
      image: Tensor [..., 3] of red, green and blue, an integer or float dtype; integers are computed as float32.
      lower, upper: Numbers, 0 <= lower < upper.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the bounds are not in that order, or the last axis has another size.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _saturation("stateless_random_saturation", image, lower, upper, _stateless(seed))


def _hue(op: str, image: TensorLike, most: float, draw: Draw) -> Tensor:
    require_number(op, most, "max_delta")
    if not 0 <= most <= 0.5:
        raise InvalidArgumentError(f"{op}: max_delta is {most}; it must be in [0, 0.5].")
    return adjust_hue(image, _between(draw, -most, most))


@blaming
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number drawn uniformly from -max_delta to max_delta.

    Args:
      image: Tensor [..., 3] of red, green and blue, an integer or float dtype; integers are computed as float32.
      max_delta: A number from 0 to 1/2.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): `max_delta` is out of range, or the last axis has another size.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _hue("random_hue", image, max_delta, _drawn(seed))


def stateless_random_hue(image: TensorLike, max_delta: float, seed: TensorLike) -> Tensor:
    """`adjust_hue` by a number drawn uniformly from -max_delta to max_delta. The same seed gives the same result.

    Args:
      image: Tensor [..., 3] of red, green and blue, an integer or float dtype; integers are computed as float32.
      max_delta: A number from 0 to 1/2.
      seed: Two integers, which determine the draw.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): `max_delta` is out of range, or the last axis has another size.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _hue("stateless_random_hue", image, max_delta, _stateless(seed))


def _cropped(op: str, value: object, size: Any, draw: Draw) -> Tensor:
    x, part = lift_own(value), cast(size, "int32")
    room: Any = shape(x) - part
    require((room >= 0), f"{op}: size \x00 does not fit into value, whose shape is \x00.", [part, shape(x)])
    # The product of an integer and a float below 1 may round up to that integer.
    start = minimum(cast(floor(draw(shape(part)) * cast(room + 1, float32)), "int32"), room)
    return reshape(block(x, start, part), size)


@blaming
def random_crop(
    value: TensorLike, size: ShapeLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A part of `value` with the shape `size`, at a uniformly drawn offset.

    Args:
      value: Tensor of any shape and dtype.
      size: As many sizes as `value` has axes.
      seed: A number that makes the draw repeatable, together with the seed of `random.set_seed`; None to draw from the global
        generator.
    Returns: Tensor of that shape and of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `size` does not fit into `value`.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _cropped("random_crop", value, size, _drawn(seed))


def stateless_random_crop(
    value: TensorLike, size: ShapeLike, seed: TensorLike, name: str | None = None
) -> Tensor:
    """A part of `value` with the shape `size`, at a uniformly drawn offset. The same seed gives the same result.

    Args:
      value: Tensor of any shape and dtype.
      size: As many sizes as `value` has axes.
      seed: Two integers, which determine the draw.
    Returns: Tensor of that shape and of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `size` does not fit into `value`.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return _cropped("stateless_random_crop", value, size, _stateless(seed))
