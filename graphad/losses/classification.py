"""Cross-entropies of class labels, from logits or from probabilities."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift, lift_like
from graphad.core.tensor import Tensor
from graphad.ops.math import clip_by_value, log, reduce_mean, reduce_sum
from graphad.ops.nn import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits

_SMALLEST = 1e-7  # keeps log away from 0


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Tensor:
    """The cross-entropy of integer labels [...] with predictions [..., classes]."""
    y_pred = lift(y_pred)
    logits = y_pred if from_logits else log(clip_by_value(y_pred, _SMALLEST, 1.0))
    return sparse_softmax_cross_entropy_with_logits(lift(y_true), logits)


def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Tensor:
    """The cross-entropy of label distributions [..., classes] with predictions [..., classes]."""
    y_pred = lift(y_pred)
    y_true = lift_like("categorical_crossentropy", y_true, y_pred.dtype)
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred)
    y_pred = y_pred / reduce_sum(y_pred, axis=-1, keepdims=True)
    return -reduce_sum(y_true * log(clip_by_value(y_pred, _SMALLEST, 1.0)), axis=-1)


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
