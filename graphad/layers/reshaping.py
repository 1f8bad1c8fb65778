"""`Flatten` and `Dropout`: layers without weights."""

from __future__ import annotations

from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.layers.base import Layer
from graphad.ops.array.shape import reshape
from graphad.ops.nn import dropout


class Flatten(Layer):
    """[batch, ...] to [batch, everything else]."""

    def call(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()[1:]
        if None in sizes:
            return reshape(inputs, [inputs.shape[0] if inputs.shape[0] is not None else -1, -1])
        total = 1
        for size in sizes:
            total *= size
        return reshape(inputs, [-1, total])


class Dropout(Layer):
    """Sets a random part of the input to zero while training and scales the rest up.

    Args:
      rate: The part that is dropped, 0 <= rate < 1.
    """

    def __init__(self, rate: float, **options: Any) -> None:
        super().__init__(**options)
        if not 0 <= rate < 1:
            raise InvalidArgumentError(f"Dropout: rate {rate} is out of range; 0 <= rate < 1.")
        self.rate = float(rate)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return dropout(inputs, self.rate) if training and self.rate else inputs
