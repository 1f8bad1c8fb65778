"""Losses of real targets: mean over the last axis, then over the batch."""

from __future__ import annotations

from functools import partial
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.tensor import Tensor
from graphad.losses.base import Loss, floating, targets
from graphad.ops.math import abs as absolute
from graphad.ops.math import clip_by_value, log, reduce_mean, reduce_sum, squared_difference, where
from graphad.ops.nn.ranks import same_rank
from graphad.ops.rules import require_fit

_MARGIN = 1e-7


def _pair(name: str, y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    y_pred = floating(y_pred)
    y_true, y_pred = same_rank(targets(name, y_true, y_pred), y_pred)
    require_fit(name, y_true, y_pred, ("y_true", "y_pred"))
    return y_true, y_pred


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of (y_true - y_pred)**2 over the last axis: [..., n] gives [...]."""
    y_true, y_pred = _pair("mean_squared_error", y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of |y_true - y_pred| over the last axis: [..., n] gives [...]."""
    y_true, y_pred = _pair("mean_absolute_error", y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


def huber(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """The mean over the last axis of e**2 / 2 where |e| is up to delta, and delta * (|e| - delta / 2) beyond."""
    y_true, y_pred = _pair("huber", y_true, y_pred)
    error = absolute(y_pred - y_true)
    return reduce_mean(
        where(error <= delta, 0.5 * error * error, delta * error - 0.5 * delta * delta), axis=-1
    )


def kl_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The sum of y_true * log(y_true / y_pred) over the last axis; both are kept between 1e-7 and 1."""
    y_true, y_pred = _pair("kl_divergence", y_true, y_pred)
    y_true, y_pred = clip_by_value(y_true, _MARGIN, 1.0), clip_by_value(y_pred, _MARGIN, 1.0)
    return reduce_sum(y_true * log(y_true / y_pred), axis=-1)


class Huber(Loss):
    """The mean Huber loss of a batch; see `huber` and `Loss`."""

    def __init__(
        self, delta: float = 1.0, reduction: str | None = "sum_over_batch_size", name: str | None = None
    ) -> None:
        super().__init__(partial(huber, delta=delta), reduction, name)
        self.delta = delta


class KLDivergence(Loss):
    """The mean divergence of a batch of distributions; see `kl_divergence` and `Loss`."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(kl_divergence, reduction, name)


class MeanSquaredError(Loss):
    """The mean squared error of a batch as one number; see `Loss`."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(mean_squared_error, reduction, name)


class MeanAbsoluteError(Loss):
    """The mean absolute error of a batch as one number; see `Loss`."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(mean_absolute_error, reduction, name)
