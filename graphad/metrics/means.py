"""Metrics that are the mean of a loss, or of another distance of predictions from labels."""

from __future__ import annotations

from graphad import losses
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.floatx import floatx_dtype
from graphad.core.tensor import Tensor
from graphad.losses.base import floating
from graphad.metrics.accuracies import integers_of
from graphad.metrics.base import Mean, MeanMetricWrapper
from graphad.ops.linalg import l2_normalize
from graphad.ops.math import cast, not_equal, reduce_sum, sqrt
from graphad.ops.nn.ranks import same_rank


class MeanSquaredError(MeanMetricWrapper):
    """The mean of `losses.mean_squared_error`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.MeanSquaredError()
      >>> _ = metric.update_state([1.0, 2.0], [1.5, 2.5])
      >>> float(metric.result())
      0.25
    """

    def __init__(self, name: str = "mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_squared_error, name, dtype)


class RootMeanSquaredError(Mean):
    """The root of the mean squared error of all elements.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.RootMeanSquaredError()
      >>> _ = metric.update_state([1.0, 2.0], [1.0, 4.0])
      >>> float(metric.result())
      1.4142135381698608
    """

    def __init__(self, name: str = "root_mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        dtype = self._graphad_dtype
        labels, guesses = same_rank(cast(lift(y_true), dtype), cast(lift(y_pred), dtype))
        super().update_state((guesses - labels) ** 2, sample_weight)

    def result(self) -> Tensor:
        return sqrt(super().result())


class MeanAbsoluteError(MeanMetricWrapper):
    """The mean of `losses.mean_absolute_error`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.MeanAbsoluteError()
      >>> _ = metric.update_state([1.0, 2.0], [1.5, 2.5])
      >>> float(metric.result())
      0.5
    """

    def __init__(self, name: str = "mean_absolute_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_absolute_error, name, dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The mean of `losses.mean_absolute_percentage_error`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    def __init__(self, name: str = "mean_absolute_percentage_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name, dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The mean of `losses.mean_squared_logarithmic_error`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    def __init__(self, name: str = "mean_squared_logarithmic_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name, dtype)


def _cosine(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    guesses = floating(y_pred)
    labels, guesses = same_rank(cast(lift(y_true), guesses.dtype), guesses)
    return reduce_sum(l2_normalize(labels, axis) * l2_normalize(guesses, axis), axis=axis)


class CosineSimilarity(MeanMetricWrapper):
    """The mean of the cosines of the angles between labels and predictions; 1 is the best.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      axis: The axis of the vectors.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Example:
      >>> metric = keras.metrics.CosineSimilarity()
      >>> _ = metric.update_state([[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]])
      >>> float(metric.result())
      0.4999999701976776
    """

    def __init__(
        self, name: str = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1
    ) -> None:
        super().__init__(_cosine, name, dtype, axis=axis)


class LogCoshError(MeanMetricWrapper):
    """The mean of `losses.log_cosh`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    """

    def __init__(self, name: str = "logcosh", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.log_cosh, name, dtype)


class KLDivergence(MeanMetricWrapper):
    """The mean of `losses.kl_divergence`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Kullback and Leibler, On information and sufficiency, 1951.
    """

    def __init__(self, name: str = "kl_divergence", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.kl_divergence, name, dtype)


class Poisson(MeanMetricWrapper):
    """The mean of `losses.poisson`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cameron and Trivedi, Regression analysis of count data, 1998, without the factorial.
    """

    def __init__(self, name: str = "poisson", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.poisson, name, dtype)


class Hinge(MeanMetricWrapper):
    """The mean of `losses.hinge`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cortes and Vapnik, Support-vector networks, 1995.
    """

    def __init__(self, name: str = "hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The mean of `losses.squared_hinge`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cortes and Vapnik, Support-vector networks, 1995, squared.
    """

    def __init__(self, name: str = "squared_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The mean of `losses.categorical_hinge`.

    `update_state` takes labels and predictions, float tensors of one shape.

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines, 2001.
    """

    def __init__(self, name: str = "categorical_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(losses.categorical_hinge, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of `losses.binary_crossentropy`.

    `update_state` takes labels from 0 to 1 and predictions, float tensors of one shape [..., size].

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      from_logits: Whether the predictions are logits.
      label_smoothing: The part of each label that is spread evenly.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(losses.binary_crossentropy, name, dtype, **options)


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `losses.categorical_crossentropy`.

    `update_state` takes labels and predictions, float tensors [..., classes].

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      from_logits: Whether the predictions are logits.
      label_smoothing: The part of each label that is spread evenly.
      axis: The axis of the classes.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(losses.categorical_crossentropy, name, dtype, **options)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of `losses.sparse_categorical_crossentropy`.

    `update_state` takes integer labels [...] and predictions, a float tensor [..., classes].

    Args:
      name: Name.
      dtype: The dtype of what is kept; `keras.backend.floatx` by default.
      from_logits: Whether the predictions are logits.
      ignore_class: A label whose elements do not count.
      axis: The axis of the classes.
    Raises: InvalidArgumentError (a ValueError): `update_state` is given labels and predictions whose shapes do not fit.
    Source: Cover and Thomas, Elements of Information Theory, 2.1.
    """

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        options = {"from_logits": from_logits, "ignore_class": ignore_class, "axis": axis}
        super().__init__(losses.sparse_categorical_crossentropy, name, dtype, **options)
        self._ignored = ignore_class

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Take a batch of labels and predictions into account."""
        if self._ignored is not None:
            labels = integers_of(y_true, y_pred)
            counted = cast(not_equal(labels, lift(self._ignored, labels.dtype)), floatx_dtype())
            if sample_weight is not None:
                counted, weights = same_rank(counted, cast(lift(sample_weight), counted.dtype))
                counted = counted * weights
            sample_weight = counted
        super().update_state(y_true, y_pred, sample_weight)
