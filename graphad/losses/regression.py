"""Losses of real targets: mean over the last axis, then over the batch."""

from __future__ import annotations

from typing import Any

from graphad.core.tensor import Tensor
from graphad.losses.base import Loss, floating, targets
from graphad.ops.math import abs as absolute
from graphad.ops.math import reduce_mean, squared_difference
from graphad.ops.nn.ranks import same_rank
from graphad.ops.rules import require_fit


def _pair(name: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = floating(y_pred)
    y_true, y_pred = same_rank(targets(name, y_true, y_pred), y_pred)
    require_fit(name, y_true, y_pred, ("y_true", "y_pred"))
    return y_true, y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of (y_true - y_pred)**2 over the last axis: [..., n] gives [...]."""
    y_true, y_pred = _pair("mean_squared_error", y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of |y_true - y_pred| over the last axis: [..., n] gives [...]."""
    y_true, y_pred = _pair("mean_absolute_error", y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


class MeanSquaredError(Loss):
    """The mean squared error of a batch as one number; see `Loss`."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(mean_squared_error, reduction, name)


class MeanAbsoluteError(Loss):
    """The mean absolute error of a batch as one number; see `Loss`."""

    def __init__(self, reduction: str | None = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(mean_absolute_error, reduction, name)
