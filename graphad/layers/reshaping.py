"""`Flatten` and `Dropout`: layers without weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers.base import Layer
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import stack
from graphad.ops.array.shape import reshape, shape
from graphad.ops.math import multiply_no_nan, reduce_prod
from graphad.ops.nn import dropout


class Flatten(Layer):
    """[batch, ...] to [batch, everything else].

    Args:
      trainable, name, dtype, input_shape, input_dim: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError), when it is called: a scalar.
    Example:
      >>> keras.layers.Flatten()(ones([2, 3, 4])).shape
      TensorShape([2, 12])
    """

    if TYPE_CHECKING:

        def __call__(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor: ...

    def call(self, inputs: Tensor) -> Tensor:
        sizes = [None] if inputs.ndim is None else inputs.shape.as_list()[1:]
        if None not in sizes and 0 not in sizes:
            return reshape(inputs, [-1, math.prod(sizes)])
        given = shape(inputs)  # not -1 for the rest: it has no meaning where another size is 0
        return reshape(inputs, stack([given[0], reduce_prod(given[1:])]))


class Dropout(Layer):
    """Sets a random part of the input to zero while training and scales the rest up.

    Args:
      rate: The part that is dropped, 0 <= rate <= 1.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): a rate outside 0 to 1.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout: a simple way to prevent neural networks
      from overfitting, 2014.
    """

    def __init__(self, rate: float, **options: Any) -> None:
        super().__init__(**options)
        if not 0 <= rate <= 1:
            raise InvalidArgumentError(f"Dropout: rate {rate} is out of range; 0 <= rate <= 1.")
        self.rate = float(rate)

    if TYPE_CHECKING:

        def __call__(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor: ...

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or not self.rate:
            return inputs
        return dropout(inputs, self.rate) if self.rate < 1 else multiply_no_nan(inputs, zeros_like(inputs))
