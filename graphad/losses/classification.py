"""Cross-entropies of class labels, from logits or from probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.floatx import epsilon
from graphad.core.tensor import Tensor
from graphad.losses.base import Loss, floating, targets
from graphad.ops.array.shape import shape
from graphad.ops.array.squeeze import squeeze
from graphad.ops.math import cast, clip_by_value, log, reduce_sum
from graphad.ops.nn import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from graphad.ops.rules import require_fit


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Tensor:
    """The cross-entropy of integer labels [...] or [..., 1] with predictions [..., classes]."""
    y_pred, labels = floating(y_pred), lift(y_true)
    if labels.ndim is not None and labels.ndim == y_pred.ndim and labels.dims[-1] == 1:
        labels = squeeze(labels, [-1])
    labels = labels if labels.dtype.is_integer else cast(labels, int64)
    return sparse_softmax_cross_entropy_with_logits(labels, y_pred if from_logits else log(_inside(y_pred)))


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0
) -> Tensor:
    """The cross-entropy of label distributions [..., classes] with predictions [..., classes].

    Args:
      y_true: The labels.
      y_pred: The predictions: probabilities, or logits.
      from_logits: Whether they are logits.
      label_smoothing: The part of each label that is spread evenly over all classes.
    """
    y_pred = floating(y_pred)
    y_true = targets("categorical_crossentropy", y_true, y_pred)
    require_fit("categorical_crossentropy", y_true, y_pred, ("y_true", "y_pred"))
    if label_smoothing:
        classes = cast(shape(y_true)[-1], y_true.dtype)
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / classes
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred)
    y_pred = y_pred / reduce_sum(y_pred, axis=-1, keepdims=True)
    return -reduce_sum(y_true * log(_inside(y_pred)), axis=-1)


def _inside(p: Any) -> Any:
    """Probabilities kept away from 0 and 1; where they are not, the derivative is 0."""
    return clip_by_value(p, epsilon(), 1.0 - epsilon())


class SparseCategoricalCrossentropy(Loss):
    """The mean cross-entropy of a batch with integer labels; see `Loss`."""

    def __init__(
        self,
        from_logits: bool = False,
        *,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(partial(sparse_categorical_crossentropy, from_logits=from_logits), reduction, name)
        self.from_logits = from_logits


class CategoricalCrossentropy(Loss):
    """The mean cross-entropy of a batch with label distributions; see `Loss`."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        *,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        function = partial(categorical_crossentropy, from_logits=from_logits, label_smoothing=label_smoothing)
        super().__init__(function, reduction, name)
        self.from_logits = from_logits
        self.label_smoothing = label_smoothing
