"""Suppression by given overlaps, and thresholds that are known only at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import Array, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like, stands_for_tensor
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.op import Op, define, no_batch, no_form, no_gradient, no_rows
from graphad.core.schema import Bound, Count, Number
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.sizes import known_value
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import greater, logical_and
from graphad.ops.math.select import maximum, minimum, where

EVERY = 2**31 - 1  # boxes: as many as there are


def _best(scores: Any, most: int, lowest: float, covered: Callable[[int], Any]) -> list[int]:
    """The indices of the best scores above `lowest`, best first, without those that a better one suppresses."""
    left = np.where(scores > lowest, scores, -np.inf)
    chosen: list[int] = []
    while len(chosen) < most and left.size:
        place = int(np.argmax(left))
        if not left[place] > -np.inf:
            break
        chosen.append(place)
        left[covered(place)] = -np.inf
        left[place] = -np.inf
    return chosen


IN_TURN = "a box is kept or removed by those that were chosen before it"


@define
class SuppressOverlaps(Op):
    """The indices of at most `most` scores [n] above `lowest`, int32, best first. Repeatedly the highest score is selected, and
    all that overlap it by more than `overlap` are removed; row i of the first input [n, n] holds the overlaps of i with the
    others.
    """

    name = "suppress_overlaps"
    keeps = (False, False)
    most: Count
    overlap: Number
    lowest: Bound
    lower = no_form(IN_TURN)

    def infer(self, overlaps: TensorSpec, scores: TensorSpec) -> TensorSpec:
        for spec, word, rank in ((overlaps, "overlaps", 2), (scores, "scores", 1)):
            require_kind(self.name, spec, FLOATING, word)
            if spec.dims is not None and len(spec.dims) != rank:
                wanted = "[n, n]" if rank == 2 else "[n]"
                raise InvalidArgumentError(
                    f"{self.name}: {word} has shape {format_dims(spec.dims)}; {wanted} is needed."
                )
        sizes = [size for spec in (overlaps, scores) for size in spec.dims or () if type(size) is int]
        if len(set(sizes)) > 1:
            raise InvalidArgumentError(
                f"{self.name}: overlaps has shape {format_dims(overlaps.dims)}, scores {format_dims(scores.dims)}; [n, n] and "
                "[n] are needed."
            )
        return TensorSpec.of((None,), int32)

    def eval(self, overlaps: Array, scores: Array) -> Array:
        if overlaps.shape != (len(scores), len(scores)):
            raise InvalidArgumentError(
                f"{self.name}: overlaps has shape {overlaps.shape}, scores {scores.shape}; [n, n] and [n] are needed."
            )
        places = _best(scores, self.most, self.lowest, lambda place: overlaps[:, place] > self.overlap)
        return np.array(places, np.int32)

    vjp = no_gradient("the selection of boxes is piecewise constant")
    batch = no_batch("the number of selected boxes differs from row to row")
    rows = no_rows("all boxes of an image are compared")


def known_number(x: TensorLike) -> float | None:
    """A threshold as a number, None where it has no value yet."""
    value: Any = known_value(x) if stands_for_tensor(x) else x
    return None if value is None else float(value)


def above(scores: Tensor, lowest: TensorLike) -> Tensor:
    """`scores`, with -inf for those that are not above a threshold: a search leaves these out."""
    return where(
        greater(scores, lift_like("score_threshold", lowest, scores.dtype)),
        scores,
        lift(-np.inf, scores.dtype),
    )


def by_overlaps(
    overlaps: Tensor, scores: Tensor, most: TensorLike, count: Any, overlap: TensorLike, lowest: TensorLike
) -> Tensor:
    """The indices that `SuppressOverlaps` gives; `count` is `most` where that is known."""
    limit, least = known_number(overlap), known_number(lowest)
    if limit is None:
        overlaps, limit = _over(overlaps, overlap), 0.5
    if least is None:
        scores, least = above(scores, lowest), -np.inf
    found: Any = bind(SuppressOverlaps(EVERY if count is None else count, limit, least), overlaps, scores)
    return found if count is not None else found[: lift(most)]  # type: ignore[no-any-return]


def _over(parts: Tensor, most: TensorLike) -> Tensor:
    """1 where an overlap is above a threshold, else 0: the overlaps to be compared with 1/2."""
    return cast(greater(parts, lift_like("iou_threshold", most, parts.dtype)), parts.dtype)


def parts_of_each(boxes: Any) -> Tensor:
    """The intersection over union of each of the boxes [n, 4] with each, as `shared_parts` has it."""
    low, high = (f(boxes[:, :2], boxes[:, 2:]) for f in (minimum, maximum))
    sides: list[Any] = []
    for k in (0, 1):
        start, end = low[:, k], high[:, k]
        inner = minimum(expand_dims(end, 1), end) - maximum(expand_dims(start, 1), start)
        sides.append((maximum(inner, lift(0.0, boxes.dtype)), end - start))
    area = sides[0][1] * sides[1][1]
    shared = sides[0][0] * sides[1][0]
    whole = expand_dims(area, 1) + area - shared
    zero, one = lift(0.0, boxes.dtype), lift(1.0, boxes.dtype)
    are_some = logical_and(expand_dims(greater(area, zero), 1), greater(area, zero))
    return where(are_some, shared / where(greater(whole, zero), whole, one), zero)
