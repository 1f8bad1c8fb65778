"""Variants of non-maximum suppression: with given overlaps, padded to a fixed length, for several classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.op import TupleOp, define, no_batch, no_form, no_gradient, no_rows
from graphad.core.schema import Bound, Count, Number
from graphad.core.shapes import RawSize, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_int
from graphad.ops.control.scan import map_fn
from graphad.ops.image.boxes import best_boxes, non_max_suppression
from graphad.ops.image.overlaps import IN_TURN, by_overlaps

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def _known(op: str, value: int, word: str) -> int:
    found: int | None = static_int(op, value, word)
    if found is None or found < 0:
        raise InvalidArgumentError(
            f"{op}: {word} is {value!r}; a number of 0 or more, known while tracing, is needed."
        )
    return found


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = -np.inf,
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` with given overlaps of all pairs.

    Args:
      overlaps: Float tensor [n, n].
      scores: Float tensor [n].
      max_output_size: The largest number of boxes to select.
      overlap_threshold: The worse of two boxes is removed if their overlap is above this.
      score_threshold: Boxes whose score is not above this are removed.
    Returns: int32 tensor [m], best first.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    op = "non_max_suppression_overlaps"
    count = static_int(op, max_output_size, "max_output_size")
    return by_overlaps(
        lift(overlaps), lift(scores), max_output_size, count, overlap_threshold, score_threshold
    )


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -np.inf,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression` with a result of fixed length, for one image or several.

    Args:
      boxes: Float tensor [..., n, 4]: y1, x1, y2, x2 of any two opposite corners.
      scores: Float tensor [..., n].
      max_output_size: The largest number of boxes to select.
      iou_threshold: The worse of two boxes is removed if their intersection over union, from 0 to 1, is above this.
      score_threshold: Boxes whose score is not above this are removed.
      pad_to_max_output_size: Whether to pad the result with zeros to `max_output_size`; for several images it always is.
      sorted_input, canonicalized_coordinates, tile_size: Accepted for compatibility.
    Returns: (int32 indices [..., m], the number of valid ones [...] of int32).
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    op = "non_max_suppression_padded"
    most = _known(op, max_output_size, "max_output_size")
    corners, points = lift(boxes), lift(scores)
    if corners.ndim is None or corners.ndim < 2 or points.ndim != corners.ndim - 1:
        raise InvalidArgumentError(
            f"{op}: boxes has shape {format_dims(corners.dims)}, scores {format_dims(points.dims)}; "
            "[..., n, 4] and [..., n] are needed."
        )

    def of_one(image: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        found = non_max_suppression(image[0], image[1], most, iou_threshold, score_threshold)
        count = shape(found)[0]
        return reshape(concat([found, zeros([most - count], int32)], 0), [most]), count

    if corners.ndim == 2:
        if pad_to_max_output_size:
            return of_one((corners, points))
        found = non_max_suppression(corners, points, most, iou_threshold, score_threshold)
        return found, shape(found)[0]
    lead = shape(points)[:-1]
    flat = (
        reshape(corners, concat([[-1], shape(corners)[-2:]], 0)),
        reshape(points, concat([[-1], shape(points)[-1:]], 0)),
    )
    specs = (TensorSpec((most,), int32), TensorSpec((), int32))
    places, counts = map_fn(of_one, flat, fn_output_signature=specs)
    return reshape(places, concat([lead, [most]], 0)), reshape(counts, lead)


class CombinedNonMaxSuppression(NamedTuple):
    """The selected boxes of each image, best first, and the number of valid ones."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


@define
class SuppressByClass(TupleOp):
    """For each image of boxes [batch, n, q, 4] and scores [batch, n, classes], with q of 1 or `classes`: the best `each` boxes
    of each class that overlap no better box of the class by more than `overlap` (intersection over union) and have a score
    above `lowest`; of all these the best `most`, padded with zeros. `clips` limits coordinates to [0, 1].

    Results: boxes [batch, most, 4], scores [batch, most], classes [batch, most] of their dtype, counts [batch] of int32.
    """

    name = "suppress_by_class"
    keeps = (False, False)
    each: Count
    most: Count
    overlap: Number
    lowest: Bound
    clips: bool
    lower = no_form(IN_TURN)

    def infer(
        self, boxes: TensorSpec, scores: TensorSpec
    ) -> tuple[TensorSpec, TensorSpec, TensorSpec, TensorSpec]:
        for spec, word, rank in ((boxes, "boxes", 4), (scores, "scores", 3)):
            require_kind(self.name, spec, FLOATING, word)
            wanted = "[batch, n, q, 4]" if rank == 4 else "[batch, n, classes]"
            if spec.dims is not None and (
                len(spec.dims) != rank or (rank == 4 and spec.dims[3] not in (4, None))
            ):
                raise InvalidArgumentError(
                    f"{self.name}: {word} has shape {format_dims(spec.dims)}; {wanted} is needed."
                )
        if boxes.dims is not None and scores.dims is not None:
            self._compare(boxes.dims, scores.dims)
        batch = next((spec.dims[0] for spec in (boxes, scores) if spec.dims is not None), None)
        rows = (batch, self.most)
        return (
            TensorSpec.of((*rows, 4), boxes.dtype),
            TensorSpec.of(rows, scores.dtype),
            TensorSpec.of(rows, scores.dtype),
            TensorSpec.of((batch,), int32),
        )

    def _compare(self, boxes: tuple[RawSize, ...], scores: tuple[RawSize, ...]) -> None:
        pairs = [(boxes[0], scores[0]), (boxes[1], scores[1])]
        pairs += [(boxes[2], scores[2])] if boxes[2] != 1 else []
        if any(type(a) is int and type(b) is int and a != b for a, b in pairs):
            raise InvalidArgumentError(
                f"{self.name}: boxes has shape {format_dims(boxes)}, scores {format_dims(scores)}; [batch, n, q, 4] with "
                "q of 1 or as many as classes, and [batch, n, classes] are needed."
            )

    def eval(self, boxes: Array, scores: Array) -> tuple[Array, ...]:
        self._compare(boxes.shape, scores.shape)
        boxes, scores = (arrays.here(x, "search for boxes") for x in (boxes, scores))
        batch, _, classes = scores.shape
        found = np.zeros((batch, self.most, 4), boxes.dtype)
        points, kinds = np.zeros((2, batch, self.most), scores.dtype)
        counts = np.zeros(batch, np.int32)
        for row in range(batch):
            of_class = [
                self._of_class(boxes[row, :, k % boxes.shape[2]], scores[row, :, k]) for k in range(classes)
            ]
            kind = np.repeat(np.arange(classes), [len(places) for places in of_class])
            place = np.concatenate(of_class or [np.zeros(0, np.intp)])
            order = np.argsort(-scores[row, place, kind], kind="stable")[: self.most]
            counts[row] = count = len(order)
            place, kind = place[order], kind[order]
            chosen = boxes[row, place, kind % boxes.shape[2]]
            found[row, :count] = np.clip(chosen, 0, 1) if self.clips else chosen
            points[row, :count] = scores[row, place, kind]
            kinds[row, :count] = kind
        return found, points, kinds, counts

    def _of_class(self, boxes: DeviceArray | Array, scores: DeviceArray | Array) -> Array:
        chosen: Array = best_boxes(boxes, scores, self.each, self.lowest, self.overlap)
        return chosen

    vjp = no_gradient("the selection of boxes is piecewise constant")
    batch = no_batch("it takes a batch")
    rows = no_rows("two inputs are compared box by box")


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: int,
    max_total_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -np.inf,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of several classes in several images.

    Args:
      boxes: Float tensor [batch, n, q, 4]: for q = 1 all classes have the same boxes, else q is the number of classes.
      scores: Float tensor [batch, n, classes].
      max_output_size_per_class: The largest number of boxes of a class.
      max_total_size: The largest number of boxes of an image.
      iou_threshold: The worse of two boxes of a class is removed if their intersection over union, from 0 to 1, is above this.
      score_threshold: Boxes whose score is not above this are removed.
      pad_per_class: Whether to limit the length of the result to `max_output_size_per_class` times the number of classes.
      clip_boxes: Whether coordinates are limited to [0, 1].
    Returns: (boxes [batch, m, 4], scores [batch, m], classes [batch, m] of their dtype, the number of valid ones [batch] of
      int32), best first, then zeros.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    op = "combined_non_max_suppression"
    each = _known(op, max_output_size_per_class, "max_output_size_per_class")
    most = _known(op, max_total_size, "max_total_size")
    if not 0 <= float(iou_threshold) <= 1:
        raise InvalidArgumentError(f"{op}: iou_threshold is {iou_threshold}; it must be in [0, 1].")
    corners, points = lift_like(op, boxes, float32), lift_like(op, scores, float32)
    if pad_per_class:
        classes = None if points.dims is None else points.dims[-1]
        if type(classes) is not int:
            raise InvalidArgumentError(f"{op}: the number of classes must be known for pad_per_class.")
        most = min(most, each * classes)
    made = SuppressByClass(each, most, float(iou_threshold), float(score_threshold), bool(clip_boxes))
    return CombinedNonMaxSuppression(*bind(made, corners, points))
