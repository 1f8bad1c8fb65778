"""Cross-entropies of class labels, from logits or from probabilities."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift_like
from graphad.core.dtypes import int64
from graphad.core.tensor import Tensor
from graphad.losses.shapes import class_labels, floating
from graphad.ops.math import cast, clip_by_value, log, reduce_mean, reduce_sum
from graphad.ops.nn import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits

_MARGIN = 1e-7


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Tensor:
    """The cross-entropy of integer labels [...] or [..., 1] with predictions [..., classes]."""
    y_pred = floating(y_pred)
    labels = class_labels(y_true, y_pred)
    labels = labels if labels.dtype.is_integer else cast(labels, int64)
    return sparse_softmax_cross_entropy_with_logits(labels, y_pred if from_logits else log(_inside(y_pred)))


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Tensor:
    """The cross-entropy of label distributions [..., classes] with predictions [..., classes]."""
    y_pred = floating(y_pred)
    y_true = lift_like("categorical_crossentropy", y_true, y_pred.dtype)
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred)
    y_pred = y_pred / reduce_sum(y_pred, axis=-1, keepdims=True)
    return -reduce_sum(y_true * log(_inside(y_pred)), axis=-1)


def _inside(p: Any) -> Any:
    """Probabilities kept away from 0 and 1; where they are not, the derivative is 0."""
    return clip_by_value(p, _MARGIN, 1.0 - _MARGIN)


class SparseCategoricalCrossentropy:
    """The mean cross-entropy of a batch with integer labels."""

    def __init__(self, from_logits: bool = False) -> None:
        self.from_logits = from_logits

    def __call__(self, y_true: Any, y_pred: Any) -> Tensor:
        return reduce_mean(sparse_categorical_crossentropy(y_true, y_pred, self.from_logits))


class CategoricalCrossentropy:
    """The mean cross-entropy of a batch with label distributions."""

    def __init__(self, from_logits: bool = False) -> None:
        self.from_logits = from_logits

    def __call__(self, y_true: Any, y_pred: Any) -> Tensor:
        return reduce_mean(categorical_crossentropy(y_true, y_pred, self.from_logits))
