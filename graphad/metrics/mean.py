"""`Mean` and accuracies: a running total and count, kept in variables so that functions may update them."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift
from graphad.core.dtypes import float32
from graphad.core.tensor import Tensor
from graphad.core.trackable import Trackable
from graphad.eager.variable import Variable
from graphad.ops.array.create import size
from graphad.ops.array.shape import expand_dims
from graphad.ops.math import argmax, cast, divide_no_nan, equal, reduce_sum


class Mean(Trackable):
    """The mean of all values seen since the last reset."""

    def __init__(self, name: str = "mean") -> None:
        self._graphad_name = name
        self.total = Variable(0.0, trainable=False, name="total")
        self.count = Variable(0.0, trainable=False, name="count")

    @property
    def name(self) -> str:
        return self._graphad_name

    def update_state(self, values: Any) -> None:
        """Take more values, of any shape, into account."""
        values = cast(lift(values), float32)
        self.total.assign_add(reduce_sum(values))
        self.count.assign_add(cast(size(values), float32))

    def __call__(self, *args: Any) -> Tensor:
        self.update_state(*args)
        return self.result()

    def result(self) -> Tensor:
        """The mean, 0 before any value."""
        return divide_no_nan(self.total.value(), self.count.value())

    def reset_state(self) -> None:
        self.total.assign(0.0)
        self.count.assign(0.0)


class SparseCategoricalAccuracy(Mean):
    """How often the largest prediction [..., classes] is at the integer label [...] or [..., 1]."""

    def __init__(self, name: str = "sparse_categorical_accuracy") -> None:
        super().__init__(name)

    def update_state(self, y_true: Any, y_pred: Any) -> None:  # type: ignore[override]
        labels = lift(y_true)
        guesses = cast(argmax(lift(y_pred), axis=-1), labels.dtype)
        if None not in (labels.ndim, guesses.ndim) and labels.ndim > guesses.ndim and labels.dims[-1] == 1:
            guesses = expand_dims(guesses, -1)
        super().update_state(equal(labels, guesses))
