"""Cross-entropies of class labels, from logits or from probabilities."""

from __future__ import annotations

from functools import partial
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.floatx import epsilon
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.losses.base import Loss, floating, targets
from graphad.ops.array.shape import shape
from graphad.ops.array.squeeze import squeeze
from graphad.ops.math import cast, clip_by_value, log, reduce_mean, reduce_sum
from graphad.ops.nn import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.ranks import same_rank
from graphad.ops.rules import require_fit


def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False
) -> Tensor:
    """The cross-entropy of integer labels [...] or [..., 1] with predictions [..., classes]."""
    y_pred, labels = floating(y_pred), lift(y_true)
    if labels.ndim is not None and labels.ndim == y_pred.ndim and ranked(labels.dims)[-1] == 1:
        labels = squeeze(labels, [-1])
    labels = labels if labels.dtype.is_integer else cast(labels, int64)
    return sparse_softmax_cross_entropy_with_logits(labels, y_pred if from_logits else log(_inside(y_pred)))


def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0.0
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


def binary_crossentropy(
    y_true: TensorLike,
    y_pred: TensorLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """The mean over `axis` of -y * log(p) - (1 - y) * log(1 - p), of labels y and probabilities p, or logits.

    Args:
      y_true: The labels, from 0 to 1.
      y_pred: The predictions, of the same shape.
      from_logits: Whether they are logits.
      label_smoothing: The part of each label that is moved to 1/2.
      axis: The axis of the mean.
    """
    y_pred = floating(y_pred)
    y_true = lift(y_true)
    y_true = y_true if y_true.dtype == y_pred.dtype else cast(y_true, y_pred.dtype)
    y_true, y_pred = same_rank(y_true, y_pred)
    require_fit("binary_crossentropy", y_true, y_pred, ("y_true", "y_pred"))
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        return reduce_mean(sigmoid_cross_entropy_with_logits(y_true, y_pred), axis=axis)
    p = _inside(y_pred)
    return -reduce_mean(y_true * log(p) + (1.0 - y_true) * log(1.0 - p), axis=axis)


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


class BinaryCrossentropy(Loss):
    """The mean cross-entropy of a batch of labels from 0 to 1; see `binary_crossentropy` and `Loss`."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        function = partial(
            binary_crossentropy, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis
        )
        super().__init__(function, reduction, name)
        self.from_logits = from_logits
        self.label_smoothing = label_smoothing
