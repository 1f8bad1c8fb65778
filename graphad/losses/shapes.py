"""Labels and predictions brought together: floating predictions, and a last axis of size 1 that only one of them has."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import float32
from graphad.ops.array.shape import expand_dims, squeeze
from graphad.ops.math.cast import cast


def floating(x: Any) -> Any:
    """Predictions as a tensor; integers become float32."""
    x = lift(x)
    return x if x.dtype.is_differentiable else cast(x, float32)


def same_rank(name: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both as tensors of the prediction's dtype; [n] beside [n, 1] becomes [n, 1], which would else broadcast to [n, n]."""
    y_pred = floating(y_pred)
    y_true = lift_like(name, y_true, y_pred.dtype)
    if y_true.ndim is None or y_pred.ndim is None:
        return y_true, y_pred
    if y_true.ndim == y_pred.ndim + 1 and y_true.dims[-1] == 1:
        return y_true, expand_dims(y_pred, -1)
    if y_pred.ndim == y_true.ndim + 1 and y_pred.dims[-1] == 1:
        return expand_dims(y_true, -1), y_pred
    return y_true, y_pred


def class_labels(y_true: Any, y_pred: Any) -> Any:
    """Labels [...] for predictions [..., classes], from which a last axis of size 1 is dropped."""
    y_true = lift(y_true)
    ranks = y_true.ndim, y_pred.ndim
    return (
        squeeze(y_true, [-1])
        if None not in ranks and ranks[0] == ranks[1] and y_true.dims[-1] == 1
        else y_true
    )
