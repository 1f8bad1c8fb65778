"""Losses of real targets: mean over the last axis, then over the batch."""

from __future__ import annotations

import math

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.floatx import epsilon
from graphad.core.tensor import Tensor
from graphad.losses.base import LossFunction, floating, targets
from graphad.ops.linalg import l2_normalize
from graphad.ops.math import abs as absolute
from graphad.ops.math import clip_by_value, log, maximum, reduce_mean, reduce_sum, squared_difference, where
from graphad.ops.nn import softplus
from graphad.ops.nn.ranks import same_rank
from graphad.ops.rules import require_fit

_MARGIN = 1e-7


def _pair(name: str, y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    y_pred = floating(y_pred)
    y_true, y_pred = same_rank(targets(name, y_true, y_pred), y_pred)
    require_fit(name, y_true, y_pred, ("y_true", "y_pred"))
    return y_true, y_pred


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of (y_true - y_pred)**2 over the last axis: [..., n] gives [...].

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> keras.losses.mse([1.0, 2.0], [1.0, 4.0]).numpy()
      np.float32(2.0)
    """
    y_true, y_pred = _pair("mean_squared_error", y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of |y_true - y_pred| over the last axis: [..., n] gives [...].

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    y_true, y_pred = _pair("mean_absolute_error", y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


@blaming
def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """The mean over the last axis of e**2 / 2 where |e| is up to delta, and delta * (|e| - delta / 2) beyond.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
      delta: Where the parabola becomes a line.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Huber, Robust estimation of a location parameter, 1964.
    """
    y_true, y_pred = _pair("huber", y_true, y_pred)
    error = absolute(y_pred - y_true)
    return reduce_mean(
        where(error <= delta, 0.5 * error * error, delta * error - 0.5 * delta * delta), axis=-1
    )


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The sum of y_true * log(y_true / y_pred) over the last axis; both are kept between 1e-7 and 1.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Kullback and Leibler, On information and sufficiency, 1951.
    """
    y_true, y_pred = _pair("kl_divergence", y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, _MARGIN, 1.0), clip_by_value(y_pred, _MARGIN, 1.0)
    return reduce_sum(y_true * log(y_true / y_pred), axis=-1)


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """100 times the mean of |y_true - y_pred| / |y_true| over the last axis; |y_true| counts as 1e-7 at least.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    y_true, y_pred = _pair("mean_absolute_percentage_error", y_true, y_pred)
    return 100.0 * reduce_mean(absolute((y_true - y_pred) / maximum(absolute(y_true), epsilon())), axis=-1)


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of (log(1 + y_true) - log(1 + y_pred))**2 over the last axis; both count as 1e-7 at least.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    y_true, y_pred = _pair("mean_squared_logarithmic_error", y_true, y_pred)
    wanted, found = (log(maximum(y, epsilon()) + 1.0) for y in (y_true, y_pred))
    return reduce_mean(squared_difference(found, wanted), axis=-1)


def log_cosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of log(cosh(y_pred - y_true)) over the last axis.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    y_true, y_pred = _pair("log_cosh", y_true, y_pred)
    error = y_pred - y_true
    return reduce_mean(error + softplus(-2.0 * error) - math.log(2.0), axis=-1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of y_pred - y_true * log(y_pred + 1e-7) over the last axis.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Cameron and Trivedi, Regression analysis of count data, 1998, without the factorial.
    """
    y_true, y_pred = _pair("poisson", y_true, y_pred)
    return reduce_mean(y_pred - y_true * log(y_pred + epsilon()), axis=-1)


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """The cosine of the angle between labels and predictions, times -1, so that 1 is the worst and -1 the best.

    Args:
      y_true: The labels, numbers [..., n].
      y_pred: The predictions, a float tensor [..., n].
      axis: The axis of the vectors.
    Returns: Float tensor [...].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    y_true, y_pred = _pair("cosine_similarity", y_true, y_pred)
    return -reduce_sum(l2_normalize(y_true, axis) * l2_normalize(y_pred, axis), axis=axis)


class Huber(LossFunction):
    """The mean Huber loss of a batch; see `huber` and `Loss`.

    Args:
      delta: Where the parabola becomes a line.
      reduction, name: As for `Loss`.
      dtype: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Huber, Robust estimation of a location parameter, 1964.
    """

    function = staticmethod(huber)

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype, delta=delta)


class KLDivergence(LossFunction):
    """The mean divergence of a batch of distributions; see `kl_divergence` and `Loss`.

    Args:
      reduction, name: As for `Loss`.
      dtype, options: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Kullback and Leibler, On information and sufficiency, 1951.
    """

    function = staticmethod(kl_divergence)


class MeanSquaredError(LossFunction):
    """The mean squared error of a batch as one number; see `Loss`.

    Args:
      reduction, name: As for `Loss`.
      dtype, options: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Example:
      >>> keras.losses.MeanSquaredError()([1.0, 2.0], [1.0, 4.0]).numpy()
      np.float32(2.0)
    """

    function = staticmethod(mean_squared_error)


class MeanAbsoluteError(LossFunction):
    """The mean absolute error of a batch as one number; see `Loss`.

    Args:
      reduction, name: As for `Loss`.
      dtype, options: Likewise.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(LossFunction):
    """The mean error of a batch in percent; see `mean_absolute_percentage_error` and `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(LossFunction):
    """The mean squared error of the logarithms of a batch; see `mean_squared_logarithmic_error` and `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    function = staticmethod(mean_squared_logarithmic_error)


class LogCosh(LossFunction):
    """The mean logarithm of the hyperbolic cosine of the errors of a batch; see `log_cosh` and `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    function = staticmethod(log_cosh)


class Poisson(LossFunction):
    """The mean Poisson loss of a batch of counts and rates; see `poisson` and `Loss`.

    Args:
      reduction, name, dtype, options: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    Source: Cameron and Trivedi, Regression analysis of count data, 1998, without the factorial.
    """

    function = staticmethod(poisson)


class CosineSimilarity(LossFunction):
    """The mean of the cosines of a batch, times -1; see `cosine_similarity` and `Loss`.

    Args:
      axis: The axis of the vectors.
      reduction, name, dtype: As for `Loss`.
    Raises: InvalidArgumentError (a ValueError): no such reduction.
    """

    function = staticmethod(cosine_similarity)

    def __init__(
        self,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(reduction, name, dtype, axis=axis)
