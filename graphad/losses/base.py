"""What loss classes share: values per sample from a function, their weights, and the sum or mean of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.convert import lift, lift_like
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.tensor import Tensor
from graphad.ops.array import broadcast_to, shape
from graphad.ops.math import cast, divide_no_nan, reduce_mean, reduce_sum
from graphad.ops.nn.ranks import same_rank

_BY_WEIGHT = "mean_with_sample_weight"
_REDUCTIONS = {
    "sum_over_batch_size": reduce_mean,
    "mean": reduce_mean,
    "sum": reduce_sum,
    _BY_WEIGHT: reduce_mean,
    "none": None,
    None: None,
}


class Loss:
    """Base class of losses.

    Args:
      function: A function of (labels, predictions) to a value per sample.
      reduction: "sum_over_batch_size" or "mean" for the mean of all values, "mean_with_sample_weight" for their sum over the
        sum of the weights, "sum", or "none".
      name: Name.
    Call: (y_true, y_pred, sample_weight=None); weights multiply the values.
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Tensor],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        if reduction not in _REDUCTIONS:
            raise InvalidArgumentError(
                f"{type(self).__name__}: there is no reduction {reduction!r}; there are "
                f"{', '.join(repr(name) for name in _REDUCTIONS if name)}."
            )
        self._function = function
        self.reduction = reduction
        self.name = name or type(self).__name__

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        values = self._function(y_true, y_pred)
        if sample_weight is not None:
            values, weights = same_rank(values, cast(lift(sample_weight), values.dtype))
            values = values * weights
            if self.reduction == _BY_WEIGHT:
                return divide_no_nan(reduce_sum(values), reduce_sum(broadcast_to(weights, shape(values))))
        reduce = _REDUCTIONS[self.reduction]
        return values if reduce is None else reduce(values)


def floating(x: Any) -> Tensor:
    """Predictions as a tensor; integers get the dtype of `keras.backend.floatx`."""
    x = lift(x)
    return x if x.dtype.is_differentiable else cast(x, floatx_dtype())


def targets(name: str, y_true: Any, y_pred: Any) -> Tensor:
    """Labels as a tensor of the predictions' dtype, whatever theirs is: tables of NumPy are float64, networks float32."""
    y_true = lift_like(name, y_true, y_pred.dtype)
    return y_true if y_true.dtype is y_pred.dtype else cast(y_true, y_pred.dtype)
