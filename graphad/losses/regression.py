"""Losses of real targets: mean over the last axis, then over the batch."""

from __future__ import annotations

from typing import Any

from graphad.core.tensor import Tensor
from graphad.losses.shapes import same_rank
from graphad.ops.math import abs as absolute
from graphad.ops.math import reduce_mean, squared_difference


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of (y_true - y_pred)**2 over the last axis: [..., n] gives [...]."""
    y_true, y_pred = same_rank("mean_squared_error", y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of |y_true - y_pred| over the last axis: [..., n] gives [...]."""
    y_true, y_pred = same_rank("mean_absolute_error", y_true, y_pred)
    return reduce_mean(absolute(y_pred - y_true), axis=-1)


class MeanSquaredError:
    """The mean squared error of a batch as one number."""

    def __call__(self, y_true: Any, y_pred: Any) -> Tensor:
        return reduce_mean(mean_squared_error(y_true, y_pred))


class MeanAbsoluteError:
    """The mean absolute error of a batch as one number."""

    def __call__(self, y_true: Any, y_pred: Any) -> Tensor:
        return reduce_mean(mean_absolute_error(y_true, y_pred))
