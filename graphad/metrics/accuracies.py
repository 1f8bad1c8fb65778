"""Accuracies: how many predictions are the label, as functions and as metrics."""

from __future__ import annotations

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.floatx import floatx_dtype
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.losses.base import floating
from graphad.metrics.base import MeanMetricWrapper
from graphad.ops.array import expand_dims, gather
from graphad.ops.array.squeezing import squeeze
from graphad.ops.math import argmax, cast, equal, greater, less, reduce_any, reduce_sum
from graphad.ops.nn.ranks import same_rank


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the prediction is the label, else 0.

    Args:
      y_true, y_pred: Tensors of one shape, any dtype.
    Returns: Float tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    guesses = lift(y_pred)
    labels, guesses = same_rank(cast(lift(y_true), guesses.dtype), guesses)
    return cast(equal(labels, guesses), floatx_dtype())


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """1 where the prediction is on the label's side of the threshold, else 0.

    Args:
      y_true: The labels, 0 and 1, a tensor of any shape.
      y_pred: The predictions, a float tensor of that shape.
      threshold: Above it a prediction counts as 1.
    Returns: Float tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.metrics.binary_accuracy([1.0, 0.0], [0.9, 0.8]).numpy()
      array([1., 0.], dtype=float32)
    """
    labels, guesses = same_rank(lift(y_true), floating(y_pred))
    return cast(equal(labels, cast(greater(guesses, threshold), labels.dtype)), floatx_dtype())


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest prediction is at the integer label, else 0.

    Args:
      y_true: Integer labels [...] or [..., 1].
      y_pred: Tensor [..., classes] of a real dtype.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.metrics.sparse_categorical_accuracy([1], [[0.2, 0.8]]).numpy()
      array([1.], dtype=float32)
    """
    labels = integers_of(y_true, y_pred)
    return cast(equal(labels, cast(argmax(lift(y_pred), axis=-1), labels.dtype)), floatx_dtype())


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where labels and predictions are largest at the same class, else 0.

    Args:
      y_true, y_pred: Tensors [..., classes] of numeric dtypes.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.metrics.categorical_accuracy([[0.0, 1.0]], [[0.2, 0.8]]).numpy()
      array([1.], dtype=float32)
    """
    return sparse_categorical_accuracy(argmax(lift(y_true), axis=-1), y_pred)


@blaming
def sparse_top_k_categorical_accuracy(
    y_true: TensorLike, y_pred: TensorLike, k: int = 5, from_sorted_ids: bool = False
) -> Tensor:
    """1 where less than k predictions are larger than that of the integer label, else 0.

    Args:
      y_true: Integer labels [...] or [..., 1].
      y_pred: Tensor [..., classes] of a real dtype.
      k: How many predictions count.
      from_sorted_ids: Whether y_pred holds the numbers of classes instead, the most likely first.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.metrics.sparse_top_k_categorical_accuracy([2], [[0.5, 0.3, 0.2]], k=2).numpy()
      array([0.], dtype=float32)
    """
    guesses = lift(y_pred)
    labels = cast(integers_of(y_true, guesses), "int64")
    if from_sorted_ids:
        is_own = equal(cast(guesses[..., :k], "int64"), expand_dims(labels, -1))
        return cast(reduce_any(is_own, axis=-1), floatx_dtype())
    own = gather(guesses, expand_dims(labels, -1), batch_dims=-1)
    larger = reduce_sum(cast(greater(guesses, own), "int64"), axis=-1)
    return cast(less(larger, k), floatx_dtype())


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where less than k predictions are larger than that of the largest label, else 0.

    Args:
      y_true, y_pred: Tensors [..., classes] of numeric dtypes.
      k: How many predictions count.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.metrics.top_k_categorical_accuracy([[0.0, 1.0, 0.0]], [[0.5, 0.3, 0.2]], k=2).numpy()
      array([1.], dtype=float32)
    """
    return sparse_top_k_categorical_accuracy(argmax(lift(y_true), axis=-1), y_pred, k)


def integers_of(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The labels, without a last axis of size 1 if the predictions have an axis of classes in its place."""
    labels, ndim = lift(y_true), lift(y_pred).ndim
    if labels.ndim and labels.ndim == ndim and ranked(labels.dims)[-1] == 1:
        labels = squeeze(labels, [-1])
    return labels


class Accuracy(MeanMetricWrapper):
    """How often the prediction is the label.

    `update_state` takes labels and predictions of one shape, any dtype, and `sample_weight`, which broadcasts.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.Accuracy()
      >>> _ = metric.update_state([1, 2, 3, 4], [1, 2, 0, 4])
      >>> float(metric.result())
      0.75
    """

    def __init__(self, name: str = "accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often the prediction is on the label's side of the threshold.

    `update_state` takes labels 0 and 1 and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      threshold: Above it a prediction counts as 1.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.BinaryAccuracy()
      >>> _ = metric.update_state([1, 0, 1], [0.9, 0.2, 0.3])
      >>> float(metric.result())
      0.6666666865348816
    """

    def __init__(
        self, name: str = "binary_accuracy", dtype: DTypeLike | None = None, threshold: float = 0.5
    ) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """How often labels and predictions are largest at the same class.

    `update_state` takes labels and predictions [..., classes], numeric dtypes.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.CategoricalAccuracy()
      >>> _ = metric.update_state([[0, 1], [1, 0]], [[0.2, 0.8], [0.4, 0.6]])
      >>> float(metric.result())
      0.5
    """

    def __init__(self, name: str = "categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is at the integer label.

    `update_state` takes integer labels [...] or [..., 1] and predictions [..., classes].

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.SparseCategoricalAccuracy()
      >>> _ = metric.update_state([1, 0], [[0.2, 0.8], [0.4, 0.6]])
      >>> float(metric.result())
      0.5
    """

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest label is among the k largest predictions.

    `update_state` takes labels and predictions [..., classes], numeric dtypes.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      k: How many predictions count.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.TopKCategoricalAccuracy(k=2)
      >>> _ = metric.update_state([[0, 1, 0]], [[0.5, 0.3, 0.2]])
      >>> float(metric.result())
      1.0
    """

    def __init__(
        self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the integer label is among the k largest predictions.

    `update_state` takes integer labels [...] or [..., 1] and predictions [..., classes].

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      k: How many predictions count.
      from_sorted_ids: Whether the predictions are the numbers of classes instead, the most likely first.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.SparseTopKCategoricalAccuracy(k=2)
      >>> _ = metric.update_state([2], [[0.5, 0.3, 0.2]])
      >>> float(metric.result())
      0.0
    """

    def __init__(
        self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: DTypeLike | None = None,
        from_sorted_ids: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids)
