"""Boxes [y1, x1, y2, x2] in images: crops, and suppression of overlapping boxes.

Coordinates of `crop_and_resize` go from 0 at the first row or column to 1 at the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.op import TupleOp, define, no_batch, no_form, no_gradient, no_rows
from graphad.core.schema import Bound, Count, Number
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.gather import gather, gather_nd
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.support import static_int
from graphad.ops.image.layout import HEIGHT, WIDTH, image_of, number, size_along
from graphad.ops.image.overlaps import EVERY, IN_TURN, above, by_overlaps, known_number, parts_of_each
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import is_finite, logical_and
from graphad.ops.math.reduce import reduce_all
from graphad.ops.math.rounding import ceil, floor
from graphad.ops.math.select import clip_by_value, where
from graphad.ops.state.effects import require


@blaming
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops of images, one for each box, resized to one size. The corners of a box are the centres of the corner pixels of its
    crop.

    Args:
      image: Tensor [batch, height, width, channels], a numeric dtype.
      boxes: Float tensor [boxes, 4]: y1, x1, y2, x2, from 0 at the first row or column to 1 at the last.
      box_indices: Integer tensor [boxes]: the image of each box.
      crop_size: Two integers: height and width of the crops.
      method: "bilinear" or "nearest".
      extrapolation_value: The value of points outside the image.
    Returns: Float tensor [boxes, height, width, channels]; differentiable by images and boxes, with "nearest" by images only.
    Raises: InvalidArgumentError (a ValueError): shapes do not fit, an index is out of range, or `method` is unknown.
    Source: He, Gkioxari, Dollar and Girshick, Mask R-CNN, 2017: RoIAlign, crops without rounding.
    Example:
      >>> pictures = constant([0.0, 1.0, 2.0, 3.0], shape=[1, 2, 2, 1])
      >>> image.crop_and_resize(pictures, [[0.0, 0.0, 1.0, 1.0]], [0], [1, 1]).numpy().tolist()
      [[[[1.5]]]]
    """
    op = "crop_and_resize"
    x = cast(image_of(op, image, (4,)), float32)
    corners, which = lift_like(op, boxes, float32), lift(box_indices)
    if which.ndim not in (None, 1):
        raise InvalidArgumentError(f"{op}: box_indices must be rank 1, a vector; it has shape {which.shape}.")
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f"{op}: method {method!r} is neither 'bilinear' nor 'nearest'.")
    require(
        reduce_all(is_finite(corners)), f"{op}: the boxes are \x00; their numbers must be finite.", [corners]
    )
    sizes: Any = crop_size
    counts = [number(op, sizes[k], "crop_size") for k in range(2)]
    return cropped(x, corners, which, counts, method, extrapolation_value)


def cropped(
    x: Tensor, corners: Tensor, which: TensorLike, counts: Sequence[Any], method: str, outside: TensorLike
) -> Tensor:
    """`crop_and_resize` for images and boxes of one float dtype."""
    inside: list[Any] = []
    ends: list[Any] = []
    for k, (axis, count) in enumerate(zip((HEIGHT, WIDTH), counts, strict=True)):
        last: Any = cast(size_along(x, axis) - 1, x.dtype)
        start, end = corners[:, k, None], corners[:, k + 2, None]
        steps = cast(range_of(count), x.dtype)
        spread = cast(where(lift(count) > 1, lift(count) - 1, 1), x.dtype)
        single = lift(count) == 1
        at = where(
            single, (start + end) * (0.5 * last), start * last + steps * ((end - start) * last / spread)
        )
        inside.append((at >= 0) & (at <= last))
        at = clip_by_value(at, 0, last)
        if method == "nearest":
            ends.append([(cast(floor(at + 0.5), int32), None)])
        else:
            below, above = floor(at), ceil(at)
            part = at - below
            ends.append([(cast(below, int32), 1 - part), (cast(above, int32), part)])
    y: Any = 0
    count, height, width, depth = (size_along(x, axis) for axis in range(-4, 0))
    pixels = reshape(x, [count, height * width, depth])
    batch = cast(which, int32)[:, None, None]
    for row, down in ends[0]:
        first = (row * width)[:, :, None]
        for column, right in ends[1]:
            pixel = first + column[:, None, :]
            found = gather_nd(pixels, stack([batch + zeros_like(pixel), pixel], -1))
            if down is not None:
                found = found * (down[:, :, None, None] * right[:, None, :, None])
            y = y + found
    both = inside[0][:, :, None, None] & inside[1][:, None, :, None]
    return where(both, y, lift(outside, x.dtype))


def shared_parts(first: Any, second: Any) -> Any:
    """The intersection over union of each of the boxes [m, 4] with each of [n, 4], as [m, n]; 0 for empty ones."""
    corners = []
    for boxes in (first, second):
        low, high = (f(boxes[:, :2], boxes[:, 2:]) for f in (np.minimum, np.maximum))
        corners.append((low[:, 0], low[:, 1], high[:, 0], high[:, 1]))
    top, left, bottom, right = (x[:, None] for x in corners[0])
    other_top, other_left, other_bottom, other_right = corners[1]
    down = np.maximum(np.minimum(bottom, other_bottom) - np.maximum(top, other_top), 0)
    along = np.maximum(np.minimum(right, other_right) - np.maximum(left, other_left), 0)
    area, other_area = (
        (bottom - top) * (right - left),
        (other_bottom - other_top) * (other_right - other_left),
    )
    shared = down * along
    whole = area + other_area - shared
    return np.where((area > 0) & (other_area > 0), shared / np.where(whole > 0, whole, 1), 0)


def best_boxes(boxes: Any, scores: Any, most: int, lowest: float, overlap: float) -> Any:
    """The indices of at most `most` boxes whose scores are above `lowest`, best first, without those that overlap a better one.

    Candidates are taken in the order of their scores, by blocks: what the boxes chosen so far leave of a block is compared with
    itself. The first blocks are small, since most searches end within them.
    """
    live = np.flatnonzero(scores > lowest)  # few of many, as detectors use it
    order = live[np.argsort(-scores[live], kind="stable")]
    chosen = order[:0]
    start, size = 0, min(2 * most + 8, 256)
    while start < len(order) and len(chosen) < most:
        wanted = most - len(chosen)
        block = order[start : start + size]
        start, size = start + size, min(2 * size, 512)
        block = block[~(shared_parts(boxes[chosen], boxes[block]) > overlap).any(0)]
        apart = ~(shared_parts(boxes[block], boxes[block]) > overlap)
        left = np.ones(len(block), np.bool_)
        places: list[int] = []
        for place in range(len(block)):
            if left[place]:
                places.append(place)
                left &= apart[place]
            if len(places) == wanted:
                break
        chosen = np.concatenate([chosen, block[np.array(places, np.intp)]])
    return chosen


@define
class NonMaxSuppression(TupleOp):
    """The indices of at most `most` boxes [n, 4] and their scores, best first. Repeatedly the box with the highest score is
    selected, and all others that overlap it by more than `overlap` (intersection over union) are removed. For a `sigma` above 0
    no box is removed for overlapping; its score is multiplied by exp(-overlap^2 / (2 sigma)) instead. Boxes whose score is not
    above `lowest` are removed. Of equal scores the lower index wins.
    """

    name = "non_max_suppression"
    keeps = (False, False)
    most: Count
    overlap: Number
    lowest: Bound
    sigma: Number
    lower = no_form(IN_TURN)

    def infer(self, boxes: TensorSpec, scores: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
        for spec, word, rank in ((boxes, "boxes", 2), (scores, "scores", 1)):
            require_kind(self.name, spec, FLOATING, word)
            if spec.dims is not None and (
                len(spec.dims) != rank or (rank == 2 and spec.dims[1] not in (None, 4))
            ):
                raise InvalidArgumentError(
                    f"{self.name}: {word} has shape {format_dims(spec.dims)}; {'[n, 4]' if rank == 2 else '[n]'} is needed."
                )
        counts = [
            spec.dims[0] for spec in (boxes, scores) if spec.dims is not None and spec.dims[0] is not None
        ]
        if len(set(counts)) > 1:
            raise InvalidArgumentError(
                f"{self.name}: {counts[0]} boxes have {counts[1]} scores; the numbers must be equal."
            )
        return TensorSpec.of((None,), int32), TensorSpec.of((None,), scores.dtype)

    def eval(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        if len(boxes) != len(scores):
            raise InvalidArgumentError(
                f"{self.name}: {len(boxes)} boxes have {len(scores)} scores; the numbers must be equal."
            )
        boxes, scores = (arrays.here(x, "search for boxes") for x in (boxes, scores))
        if self.sigma > 0:
            return self._by_turns(boxes, scores)
        chosen = best_boxes(boxes, scores, self.most, self.lowest, self.overlap)
        return chosen.astype(np.int32), scores[chosen]

    def _by_turns(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        """The selection in which the scores of all others change with each box."""
        left = np.where(scores > self.lowest, scores, -np.inf).astype(
            np.result_type(scores.dtype, np.float32)
        )
        chosen: list[int] = []
        kept: list[Any] = []
        while len(chosen) < self.most and left.size:
            best = int(np.argmax(left))
            if not left[best] > -np.inf:
                break
            chosen.append(best)
            kept.append(left[best])
            part = shared_parts(boxes[best : best + 1], boxes)[0]
            left = left * np.exp(-(part**2) / (2 * self.sigma))
            left = np.where(left > self.lowest, left, -np.inf)
            left[best] = -np.inf
        return np.array(chosen, np.int32), np.array(kept, scores.dtype)

    vjp = no_gradient("the selection of boxes is piecewise constant")
    batch = no_batch("the number of selected boxes differs from row to row")
    rows = no_rows("all boxes of an image are compared")


def _suppressed(
    op: str,
    boxes: TensorLike,
    scores: TensorLike,
    most: TensorLike,
    overlap: TensorLike,
    lowest: TensorLike,
    sigma: TensorLike = 0.0,
) -> tuple[Any, Any]:
    count = static_int(op, most, "max_output_size")
    limit, least, spread = (known_number(x) for x in (overlap, lowest, sigma))
    if limit is not None and not 0 <= limit <= 1:
        raise InvalidArgumentError(f"{op}: iou_threshold is {overlap}; it must be in [0, 1].")
    if spread is None or (spread > 0 and least is None):
        raise InvalidArgumentError(
            f"{op}: soft_nms_sigma, and a score_threshold beside it, must be known while tracing; give numbers."
        )
    corners, points = lift(boxes), lift(scores)
    if least is None:
        points, least = above(points, lowest), -np.inf
    if limit is None and spread == 0:
        given: Any = lift_like(op, overlap, corners.dtype)
        inside = logical_and(given >= 0, given <= 1)
        require(inside, f"{op}: iou_threshold is \x00; it must be in [0, 1].", [given])
        places = by_overlaps(parts_of_each(corners), points, most, count, given, least)
        return places, gather(points, places)
    made = NonMaxSuppression(
        EVERY if count is None else count, 1.0 if limit is None else limit, least, spread
    )
    found: Any = bind(made, corners, points)
    return found if count is not None else tuple([part[: lift(most)] for part in found])


@blaming
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -np.inf,
    name: str | None = None,
) -> Tensor:
    """The indices of the best boxes that do not overlap much, best first. No gradient.

    Args:
      boxes: Float tensor [n, 4]: y1, x1, y2, x2 of any two opposite corners.
      scores: Float tensor [n].
      max_output_size: The largest number of boxes to select.
      iou_threshold: The worse of two boxes is removed if their intersection over union, from 0 to 1, is above this.
      score_threshold: Boxes whose score is not above this are removed.
    Returns: int32 tensor [m].
    Raises: InvalidArgumentError (a ValueError): `iou_threshold` is out of range, or the shapes do not fit.
    Example:
      >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]
      >>> image.non_max_suppression(boxes, [0.9, 0.8, 0.7], 3).numpy()
      array([0, 2], dtype=int32)
    """
    return _suppressed("non_max_suppression", boxes, scores, max_output_size, iou_threshold, score_threshold)[  # type: ignore[no-any-return]
        0
    ]


@blaming
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -np.inf,
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` that returns the scores too. No gradient.

    Args:
      boxes: Float tensor [n, 4]: y1, x1, y2, x2 of any two opposite corners.
      scores: Float tensor [n].
      max_output_size: The largest number of boxes to select.
      iou_threshold: The worse of two boxes is removed if their intersection over union, from 0 to 1, is above this.
      score_threshold: Boxes whose score is not above this are removed.
      soft_nms_sigma: If above 0, boxes are not removed for overlapping; their scores are multiplied by exp(-overlap^2 / (2
        sigma)) instead.
    Returns: (int32 indices [m], scores [m]).
    Raises: InvalidArgumentError (a ValueError): `iou_threshold` is out of range, the shapes do not fit, or `soft_nms_sigma` and
      the `score_threshold` beside it are not known while tracing.
    Source: Bodla, Singh, Chellappa and Davis, Soft-NMS: improving object detection with one line of code, 2017.
    Example:
      >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]]
      >>> [part.numpy().tolist() for part in image.non_max_suppression_with_scores(boxes, [0.9, 0.8], 2)]
      [[0], [0.8999999761581421]]
    """
    op = "non_max_suppression_with_scores"
    return _suppressed(op, boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
