"""Images: the op that chooses boxes, and each kind of composition, in float64, where differences say something."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.ops.image import differences, places, suppression
from graphad.ops.image.boxes import cropped, non_max_suppression_with_scores
from graphad.ops.image.colors import hsv_to_rgb, rgb_to_hsv, rgb_to_yuv
from graphad.ops.image.layout import HEIGHT, WIDTH, size_along
from graphad.ops.image.resizing import resized
from tests.support.op_case import OpCase, positive, real

SIZES = ("sizes",)
BOXES = np.array([[0.1, 0.2, 0.83, 0.9], [0.71, 0.05, 0.23, 0.63], [-0.3, 0.1, 0.6, 1.4]])


def resize_to(x: Any, height: int, width: int, method: str = "bilinear", antialias: bool = False) -> Any:
    return resized(x, (height, width), method, antialias)


def doubled(x: Any) -> Any:
    """Sizes that only the run knows."""
    return resized(x, (size_along(x, HEIGHT) * 2, size_along(x, WIDTH) * 3), "bicubic", True)


def parts(x: Any, boxes: Any, method: str = "bilinear") -> Any:
    return cropped(x, boxes, np.array([0, 1, 2], np.int32), [3, 2], method, 0.5)


def _bilinear(x: Any) -> Any:
    """Sums over the two nearest of the old rows, and the two nearest columns, for 4 rows and 3 columns."""
    for axis, new in ((-3, 4), (-2, 3)):
        old = x.shape[axis]
        at = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0, old - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape(-1, *[1] * (-axis - 1))
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, old - 1), axis) * part
    return x


def _resized(method: str, *shape: int, **options: Any) -> OpCase:
    return OpCase(resize_to, real(*shape), method=method, unknown=SIZES, tolerance=1e-4, **options)


def left(boxes: Any, scores: Any, **options: Any) -> Any:
    return non_max_suppression_with_scores(boxes, scores, 3, **options)


def _left(boxes: Any, scores: Any) -> Any:
    """Greedy, box by box."""
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(chosen) < 3 and all(_overlap(boxes[i], boxes[j]) <= 0.5 for j in chosen):
            chosen.append(i)
    return [np.array(chosen, np.int32), scores[chosen]]


def _overlap(a: Any, b: Any) -> float:
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return float(shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared))


def left_by_overlaps(overlaps: Any, scores: Any) -> Any:
    return suppression.non_max_suppression_overlaps(overlaps, scores, 4, 0.3)


def _left_by_overlaps(overlaps: Any, scores: Any) -> Any:
    chosen: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(chosen) < 4 and all(overlaps[i, j] <= 0.3 for j in chosen):
            chosen.append(i)
    return np.array(chosen, np.int32)


def left_by_class(boxes: Any, scores: Any) -> Any:
    return bind(suppression.SuppressByClass(2, 3, 0.4, 0.5, True), boxes, scores)


def _left_by_class(boxes: Any, scores: Any) -> list[Any]:
    found, points, kinds = np.zeros((2, 3, 4)), np.zeros((2, 3)), np.zeros((2, 3))
    counts = np.zeros(2, np.int32)
    for row in range(2):
        kept = []
        for k in range(scores.shape[2]):
            own: list[int] = []
            for i in np.argsort(-scores[row, :, k], kind="stable"):
                free = all(_overlap(boxes[row, i, 0], boxes[row, j, 0]) <= 0.4 for j in own)
                if scores[row, i, k] > 0.5 and len(own) < 2 and free:
                    own.append(i)
            kept += [(scores[row, i, k], i, k) for i in own]
        kept = sorted(kept, key=lambda item: -item[0])[:3]
        counts[row] = len(kept)
        for n, (score, i, k) in enumerate(kept):
            found[row, n], points[row, n], kinds[row, n] = np.clip(boxes[row, i, 0], 0, 1), score, k
    return [found, points, kinds, counts]


OVERLAPS = positive(7, 7, seed=3) / 4
CLASS_BOXES = np.concatenate([real(2, 5, 1, 2, low=0, high=0.6), real(2, 5, 1, 2, low=0.6, high=1.2)], -1)
CORNERS = np.concatenate([positive(7, 2), positive(7, 2) + positive(7, 2, seed=1)], 1)

CASES = [
    OpCase(resize_to, real(2, 3, 4, 2), height=4, width=3, unknown=SIZES, expected=_bilinear, tolerance=1e-4, batched=False),
    OpCase(resize_to, real(0, 3, 2, 1), height=4, width=3, unknown=SIZES, expected=_bilinear),
    *(
        _resized(method, 3, 4, 1, height=5, width=3, antialias=wide)
        for method, wide in (("bicubic", False), ("lanczos3", True), ("area", False), ("nearest", False))
    ),
    OpCase(doubled, real(3, 2, 1), unknown=SIZES, batched=False),
    OpCase(parts, real(3, 3, 3, 1), BOXES, unknown=SIZES, tolerance=1e-4, float32=False),
    OpCase(places.rot90, real(2, 3, 2, 1), k=3, unknown=SIZES, expected=lambda x: np.rot90(x, 3, (1, 2))),
    OpCase(places.central_crop, real(5, 7, 1), central_fraction=0.5, unknown=(), expected=lambda x: x[1:4, 1:6]),
    OpCase(places.resize_with_crop_or_pad, real(4, 3, 1), target_height=2, target_width=6, unknown=SIZES,
           expected=lambda x: np.pad(x[1:3], [(0, 0), (1, 2), (0, 0)])),
    OpCase(places.extract_patches, real(1, 3, 4, 2), sizes=[1, 2, 2, 1], strides=[1, 1, 2, 1], rates=[1, 1, 1, 1],
           padding="VALID", unknown=SIZES,
           expected=lambda x: np.stack([[[x[0, i:i + 2, j:j + 2].ravel() for j in (0, 2)] for i in (0, 1)]])),
    OpCase(rgb_to_hsv, positive(2, 3), unknown=SIZES, tolerance=1e-4),
    OpCase(hsv_to_rgb, real(2, 2, 3, low=0.1, high=0.9), unknown=SIZES),
    OpCase(rgb_to_yuv, real(2, 3), unknown=SIZES),
    OpCase(differences.total_variation, real(2, 3, 4, 1), unknown=SIZES),
    OpCase(differences.image_gradients, real(1, 3, 4, 2), unknown=SIZES),
    OpCase(differences.sobel_edges, real(1, 3, 4, 1), unknown=SIZES),
    OpCase(left, CORNERS, positive(7), order=0, unknown=(), expected=_left),
    OpCase(left, np.zeros((0, 4)), np.zeros(0), order=0, unknown=(), batched=False, label="none", expected=_left),
    OpCase(left, CORNERS, positive(7), order=0, unknown=(), soft_nms_sigma=0.4, score_threshold=0.2),
    OpCase(left_by_overlaps, OVERLAPS, positive(7), order=0, unknown=(), batched=False, expected=_left_by_overlaps),
    OpCase(left_by_class, CLASS_BOXES, positive(2, 5, 2), order=0, unknown=SIZES, batched=False, expected=_left_by_class),
]  # fmt: skip
