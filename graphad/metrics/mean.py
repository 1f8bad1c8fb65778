"""`Mean` and accuracies: a running total and count, kept in variables so that functions may update them."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx
from graphad.core.tensor import Tensor
from graphad.core.trackable import Trackable
from graphad.eager.variable import Variable
from graphad.ops.array.create import size
from graphad.ops.array.shape import shape
from graphad.ops.math import argmax, cast, divide_no_nan, equal, reduce_mean, reduce_prod, reduce_sum
from graphad.ops.nn.ranks import same_rank


class Mean(Trackable):
    """The mean of all samples seen since the last reset."""

    def __init__(self, name: str = "mean") -> None:
        self._graphad_name = name
        self.total = Variable(0.0, trainable=False, name="total", dtype=floatx())
        self.count = Variable(0.0, trainable=False, name="count", dtype=floatx())

    @property
    def name(self) -> str:
        return self._graphad_name

    @property
    def variables(self) -> list[Variable]:
        return [self.total, self.count]

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Take more values into account.

        Args:
          values: Tensor [samples, ...], of which each sample counts by its mean, or a scalar.
          sample_weight: How much each counts: a number for all, or weights of samples or of the values themselves.
        """
        dtype = self.total.dtype
        values = cast(lift(values), dtype)
        if sample_weight is None:
            samples = cast(reduce_prod(shape(values)[:1]), dtype)
            each = divide_no_nan(cast(size(values), dtype), samples)
            self.total.assign_add(divide_no_nan(reduce_sum(values), each))
            self.count.assign_add(samples)
            return
        values, weights = same_rank(values, cast(lift(sample_weight), dtype))
        if values.ndim is None or weights.ndim is None:
            raise InvalidArgumentError(f"{self.name}: the ranks of values and sample_weight must be known.")
        values = _mean_from(_mean_from(values, weights.ndim) * weights, 1)
        self.total.assign_add(reduce_sum(values))
        self.count.assign_add(reduce_sum(_mean_from(weights, 1)))

    def __call__(self, *args: Any, **options: Any) -> Tensor:
        self.update_state(*args, **options)
        return self.result()

    def result(self) -> Tensor:
        """The mean, 0 before any value."""
        return divide_no_nan(self.total.value(), self.count.value())

    def reset_state(self) -> None:
        self.total.assign(0.0)
        self.count.assign(0.0)


def _mean_from(x: Any, axis: int) -> Any:
    """The mean over the axes from this one on."""
    return x if x.ndim <= axis else reduce_mean(x, axis=list(range(axis, x.ndim)))


class SparseCategoricalAccuracy(Mean):
    """How often the largest prediction [..., classes] is at the integer label [...] or [..., 1]."""

    def __init__(self, name: str = "sparse_categorical_accuracy") -> None:
        super().__init__(name)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        labels = lift(y_true)
        guesses = cast(argmax(lift(y_pred), axis=-1), labels.dtype)
        labels, guesses = same_rank(labels, guesses)
        super().update_state(equal(labels, guesses), sample_weight)
