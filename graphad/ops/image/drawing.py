"""Boxes drawn into images, as lines of one pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.image.layout import image_of
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_max
from graphad.ops.math.select import where

# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
_COLORS = np.array(
    [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
     [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]],
    np.float32,
)  # fmt: skip


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Tensor:
    """Images with boxes drawn into them; later boxes cover earlier ones.

    Args:
      images: Float tensor [batch, height, width, depth] with a depth of 1, 3 (RGB) or 4 (RGBA).
      boxes: Float tensor [batch, n, 4]: y1, x1, y2, x2, where 0 is the first row or column and 1 the last. Sides outside the
        image are not drawn, nor are boxes with y2 < y1 or x2 < x1.
      colors: Float tensor [m, depth or more], used in turn; None for a table of ten colours.
    Returns: Tensor of the shape and dtype of the images. The derivative by boxes is None, that by colours comes from the pixels
    where they are drawn.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    op = "draw_bounding_boxes"
    x: Any = image_of(op, images, (4,))
    corners: Any = lift(boxes)
    depth = None if x.dims is None else x.dims[3]
    if depth not in (1, 3, 4):
        raise InvalidArgumentError(
            f"{op}: images have shape {format_dims(x.dims)}; a depth of 1, 3 or 4 is needed."
        )
    if corners.dims is None or len(corners.dims) != 3 or corners.dims[2] not in (4, None):
        raise InvalidArgumentError(
            f"{op}: boxes has shape {format_dims(corners.dims)}; [batch, n, 4] is needed."
        )
    table = lift_like(op, _COLORS if colors is None or lift(colors).dims == (0, depth) else colors, x.dtype)
    if table.dims is None or len(table.dims) != 2 or table.dims[1] is None or table.dims[1] < depth:
        raise InvalidArgumentError(
            f"{op}: colors has shape {format_dims(table.dims)}; [m, {depth}] is needed."
        )
    table = table[:, :depth] * 0 + 1 if depth == 1 and colors is None else table[:, :depth]
    ends = []
    for k in (1, 2):
        last: Any = shape(x)[k] - 1
        scale = cast(last, corners.dtype)
        first, second = (cast(corners[..., j] * scale, int32)[..., None] for j in (k - 1, k + 1))
        places = range_of(last + 1)
        on = (places == first) | (places == second)
        inside = (places >= first) & (places <= second)
        there = (second >= first) & (second >= 0) & (first <= last)
        ends.append((on, inside, there))
    (on_row, in_rows, high), (on_column, in_columns, wide) = ends
    lines = (on_row[..., None] & in_columns[..., None, :]) | (in_rows[..., None] & on_column[..., None, :])
    lines = lines & (high & wide)[..., None]
    number = range_of(shape(corners)[1])
    # The last box with a line at the pixel.
    which: Any = reduce_max(where(lines, number[:, None, None], -1), 1)
    drawn = gather(table, where(which < 0, 0, which) % shape(table)[0])
    return where((which >= 0)[..., None], drawn, x)
