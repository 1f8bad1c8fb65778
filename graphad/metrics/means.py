"""Metrics that are the mean of a function of labels and predictions: accuracies, and losses."""

from __future__ import annotations

from typing import Any

from graphad import losses
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.floatx import floatx_dtype
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.metrics.base import Mean, MeanMetricWrapper
from graphad.ops.array import expand_dims, gather
from graphad.ops.array.squeeze import squeeze
from graphad.ops.linalg import l2_normalize
from graphad.ops.math import argmax, cast, equal, greater, less, reduce_sum, sqrt
from graphad.ops.nn.ranks import same_rank


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the prediction is the label, else 0."""
    guesses = lift(y_pred)
    labels, guesses = same_rank(cast(lift(y_true), guesses.dtype), guesses)
    return cast(equal(labels, guesses), floatx_dtype())


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """1 where the prediction is on the label's side of the threshold, else 0."""
    labels, guesses = same_rank(lift(y_true), losses.base.floating(y_pred))
    return cast(equal(labels, cast(greater(guesses, threshold), labels.dtype)), floatx_dtype())


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest prediction [..., classes] is at the integer label [...] or [..., 1], else 0."""
    labels = _integers(y_true, y_pred)
    return cast(equal(labels, cast(argmax(lift(y_pred), axis=-1), labels.dtype)), floatx_dtype())


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where labels [..., classes] and predictions [..., classes] are largest at the same class, else 0."""
    return sparse_categorical_accuracy(argmax(lift(y_true), axis=-1), y_pred)


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where less than k predictions [..., classes] are larger than that of the integer label [...], else 0."""
    guesses = lift(y_pred)
    labels = cast(_integers(y_true, guesses), "int64")
    own = gather(guesses, expand_dims(labels, -1), batch_dims=-1)
    larger = reduce_sum(cast(greater(guesses, own), "int64"), axis=-1)
    return cast(less(larger, k), floatx_dtype())


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where less than k predictions are larger than that of the largest label [..., classes], else 0."""
    return sparse_top_k_categorical_accuracy(argmax(lift(y_true), axis=-1), y_pred, k)


def _integers(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Labels without a last axis of size 1 that the predictions' axis of classes stands beside."""
    labels, ndim = lift(y_true), lift(y_pred).ndim
    if labels.ndim is not None and labels.ndim == ndim and ranked(labels.dims)[-1] == 1:
        labels = squeeze(labels, [-1])
    return labels


class Accuracy(MeanMetricWrapper):
    """How often the prediction is the label."""

    def __init__(self, name: str = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often the prediction is on the label's side of the threshold; labels are 0 and 1."""

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """How often labels [..., classes] and predictions are largest at the same class."""

    def __init__(self, name: str = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction [..., classes] is at the integer label [...] or [..., 1]."""

    def __init__(self, name: str = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest label [..., classes] is among the k largest predictions."""

    def __init__(self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the integer label is among the k largest predictions."""

    def __init__(
        self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)


class MeanSquaredError(MeanMetricWrapper):
    """The mean of `losses.mean_squared_error`."""

    def __init__(self, name: str = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype)


class RootMeanSquaredError(Mean):
    """The root of the mean squared error of all elements."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: Any = None) -> None:  # type: ignore[override]
        dtype = self._graphad_dtype
        labels, guesses = same_rank(cast(lift(y_true), dtype), cast(lift(y_pred), dtype))
        super().update_state((guesses - labels) ** 2, sample_weight)

    def result(self) -> Tensor:
        return sqrt(super().result())


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of `losses.mean_absolute_error`."""

    def __init__(self, name: str = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of `losses.mean_absolute_percentage_error`."""

    def __init__(self, name: str = "mean_absolute_percentage_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of `losses.mean_squared_logarithmic_error`."""

    def __init__(self, name: str = "mean_squared_logarithmic_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype)


def _cosine(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    guesses = losses.base.floating(y_pred)
    labels, guesses = same_rank(cast(lift(y_true), guesses.dtype), guesses)
    return reduce_sum(l2_normalize(labels, axis) * l2_normalize(guesses, axis), axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean of the cosines of the angles between labels and predictions; 1 is the best."""

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(_cosine, name, dtype, axis=axis)


class LogCoshError(MeanMetricWrapper):
    """The mean of `losses.log_cosh`."""

    def __init__(self, name: str = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.log_cosh, name, dtype)


class KLDivergence(MeanMetricWrapper):
    """The mean of `losses.kl_divergence`."""

    def __init__(self, name: str = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(losses.kl_divergence, name, dtype)


class Poisson(MeanMetricWrapper):
    """The mean of `losses.poisson`."""

    def __init__(self, name: str = "poisson", dtype: Any = None) -> None:
        super().__init__(losses.poisson, name, dtype)


class Hinge(MeanMetricWrapper):
    """The mean of `losses.hinge`."""

    def __init__(self, name: str = "hinge", dtype: Any = None) -> None:
        super().__init__(losses.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The mean of `losses.squared_hinge`."""

    def __init__(self, name: str = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The mean of `losses.categorical_hinge`."""

    def __init__(self, name: str = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of `losses.binary_crossentropy`."""

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.binary_crossentropy, name, dtype, **options)


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `losses.categorical_crossentropy`."""

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.categorical_crossentropy, name, dtype, **options)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `losses.sparse_categorical_crossentropy`."""

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
    ) -> None:
        super().__init__(losses.sparse_categorical_crossentropy, name, dtype, from_logits=from_logits)
