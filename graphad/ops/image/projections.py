"""Images seen through a projective map of their coordinates: rotations, shears, translations, perspectives."""

from __future__ import annotations

from collections.abc import Callable

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import float32, float64, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind
from graphad.core.shapes import are_numbers, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.gather import gather
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.image.layout import image_of, is_known, size_along, vector
from graphad.ops.image.resizing import pair_of_sizes
from graphad.ops.math.cast import cast
from graphad.ops.math.rounding import floor
from graphad.ops.math.select import clip_by_value, where


def _reflected(x: Tensor, n: Tensor) -> Tensor:
    """d c b a | a b c d | d c b a: the period is two images, the second of which is read backwards."""
    period = 2.0 * where(n > 0.0, n, 1.0)
    turn = x - period * floor(x / period)
    return clip_by_value(where(turn >= n, 2.0 * n - 1.0 - turn, turn), 0.0, n - 1.0)


def _wrapped(x: Tensor, n: Tensor) -> Tensor:
    """a b c d | a b c d: whole images are taken off, as often as the last pixel's place goes into the distance."""
    last = where(n > 1.0, n - 1.0, 1.0)
    below = x + n * (floor(-x / last) + 1.0)
    above = x - n * floor(x / last)
    return clip_by_value(where(x < 0.0, below, where(x > n - 1.0, above, x)), 0.0, n - 1.0)


FILL_MODES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "CONSTANT": lambda x, n: x,
    "NEAREST": lambda x, n: clip_by_value(x, 0.0, n - 1.0),
    "REFLECT": _reflected,
    "WRAP": _wrapped,
}


def _nearest(x: Tensor) -> Tensor:
    """The nearest whole number; halves go away from 0."""
    below = floor(x)
    over = x - below
    return where((over > 0.5) | ((over == 0.5) & (x > 0.0)), below + 1.0, below)


@blaming
def projective_transform(
    images: TensorLike,
    transforms: TensorLike,
    output_shape: TensorLike,
    fill_value: TensorLike = 0.0,
    interpolation: str = "BILINEAR",
    fill_mode: str = "CONSTANT",
) -> Tensor:
    """Pixel (x, y) of a result is the image's value at ((a x + b y + c) / k, (d x + e y + f) / k) with k = g x + h y + 1.

    Args:
      images: Tensor [batch, height, width, channels] of floats or integers.
      transforms: Tensor [batch, 8] or [1, 8] of floats: a, b, c, d, e, f, g, h of each image, or of all.
      output_shape: Two integers, the height and width of the results.
      fill_value: The value of what lies outside, for `fill_mode` "CONSTANT"; where k is 0 for all of them.
      interpolation: "NEAREST" takes the nearest pixel, "BILINEAR" interpolates between four.
      fill_mode: What lies outside of an image: "CONSTANT" the value of filling, "NEAREST" the nearest edge, "REFLECT" the image
        mirrored at its edges, "WRAP" the image again.
    Returns: Tensor [batch, *output_shape, channels] of the dtype of `images`; integers are cut off, not rounded. It has
      derivatives by the images and, where it interpolates, by the transforms.
    Raises: InvalidArgumentError (a ValueError): an unknown mode or interpolation, images without four axes, transforms without
      rows of 8 or with another number of rows, a size below 1, several values of filling; DTypeError (a TypeError): complex
      numbers or bools.
    """
    x, t = image_of("projective_transform", images, (4,), "images"), lift(transforms)
    for name, given, known in (
        ("interpolation", interpolation, ("NEAREST", "BILINEAR")),
        ("fill_mode", fill_mode, tuple(FILL_MODES)),
    ):
        if given not in known:
            raise InvalidArgumentError(
                f"projective_transform: {name} is {given!r}; it is one of {', '.join(known)}."
            )
    if t.dims is not None and (len(t.dims) != 2 or t.dims[1] not in (None, 8)):
        raise InvalidArgumentError(
            f"projective_transform: transforms has shape {format_dims(t.dims)}; it needs [batch, 8] or [1, 8]."
        )
    require_kind("projective_transform", x, REAL, "images")
    require_kind("projective_transform", t, REAL, "transforms")
    dtype = float64 if x.dtype == float64 or t.dtype == float64 else float32
    t = cast(t, dtype)
    filling = lift(fill_value)
    if filling.dims:
        raise InvalidArgumentError(
            f"projective_transform: fill_value has shape {format_dims(filling.dims)}; one number is needed."
        )
    batch, height, width, channels = (size_along(x, axis) for axis in range(4))
    if t.dims is not None and are_numbers((t.dims[0], batch)) and t.dims[0] not in (1, batch):
        raise InvalidArgumentError(
            f"projective_transform: transforms has {t.dims[0]} rows for {batch} images; it needs one for each, or one for all."
        )
    rows, columns = pair_of_sizes("projective_transform", output_shape, "output_shape")
    v, u = cast(reshape(range_of(rows), [-1, 1]), dtype), cast(range_of(columns), dtype)
    a, b, c, d, e, f, g, h = [reshape(t[:, k], [-1, 1, 1]) for k in range(8)]
    k = g * u + h * v + 1.0
    is_far = k == 0.0
    k = where(is_far, 1.0, k)
    outside = FILL_MODES[fill_mode]
    n_x, n_y = cast(lift(width), dtype), cast(lift(height), dtype)
    p, q = outside((a * u + b * v + c) / k, n_x), outside((d * u + e * v + f) / k, n_y)
    filling = cast(cast(filling, x.dtype), dtype if interpolation == "BILINEAR" else x.dtype)
    pixels = reshape(x, vector(batch, height * width, channels))
    if not is_known(height, width) or not height * width:  # an image of no pixels has one to look up, too
        pixels = pad(pixels, [[0, 0], [0, 1], [0, 0]])

    def at(p: Tensor, q: Tensor) -> Tensor:
        """The pixels at whole places, [batch, rows, columns, channels]."""
        is_inside = (p >= 0.0) & (p < n_x) & (q >= 0.0) & (q < n_y)
        row, column = (cast(where(is_inside, at, 0.0), int32) for at in (q, p))
        place = row * width + column  # in integers: float32 does not tell pixels apart from 2**24 on
        place = broadcast_to(place, vector(batch, rows, columns))
        found = gather(pixels, reshape(place, vector(batch, rows * columns)), axis=1, batch_dims=1)
        found = cast(reshape(found, vector(batch, rows, columns, channels)), filling.dtype)
        return where(is_inside[..., None], found, filling)

    if interpolation == "NEAREST":
        seen = at(_nearest(p), _nearest(q))
    else:
        left, top = floor(p), floor(q)
        to_right, down = (p - left)[..., None], (q - top)[..., None]
        upper = (1.0 - to_right) * at(left, top) + to_right * at(left + 1.0, top)
        lower = (1.0 - to_right) * at(left, top + 1.0) + to_right * at(left + 1.0, top + 1.0)
        seen = (1.0 - down) * upper + down * lower
    return cast(where(is_far[..., None], filling, seen), x.dtype)
