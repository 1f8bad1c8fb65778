"""`GroupNormalization` (Wu & He, 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, normalize_axis
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.layers.base import Layer, TensorLayer
from graphad.ops.nn import group_normalization


class GroupNormalization(TensorLayer):
    """Normalise each example by the mean and variance over its places and the channels of a group.

    Args:
      groups: In how many groups of neighbours the channels are divided; -1 for a group for each channel, which is instance
        normalisation.
      axis: The axis of the channels.
      epsilon: Added to the variance.
      center, scale: Whether there are beta and gamma.
      beta_initializer, gamma_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x gives a tensor of its shape. Weights: gamma and beta, one number for each channel.
    Raises: InvalidArgumentError (a ValueError), when it is built: the axis is out of range or that of the batch, or its size is
      unknown or no multiple of `groups`.
    Source: Wu and He, Group normalization, 2018.
    Example:
      >>> keras.layers.GroupNormalization(2)([[1.0, 3.0, 5.0, 9.0]]).numpy().round(3)
      array([[-1.   ,  1.   , -1.   ,  1.   ]], dtype=float32)
    """

    _weights_told: ClassVar[dict[str, str]] = {"beta": "beta", "gamma": "gamma"}

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Callable[..., Any] | str = "zeros",
        gamma_initializer: Callable[..., Any] | str = "ones",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.groups = groups
        self.axis = axis
        self.epsilon = float(epsilon)
        self.center = bool(center)
        self.scale = bool(scale)
        self.gamma: Variable | None = None
        self.beta: Variable | None = None
        self._graphad_initializers = (gamma_initializer, beta_initializer)

    def build(self, input_shape: TensorShape) -> None:
        rank = input_shape.rank
        size = None if rank is None else input_shape[normalize_axis("GroupNormalization", self.axis, rank)]
        if size is None:
            raise InvalidArgumentError(
                f"GroupNormalization: axis {self.axis} of the input {input_shape} must have a known size."
            )
        if self.groups == -1:
            self.groups = size
        if self.groups < 1 or size % self.groups:
            raise InvalidArgumentError(
                f"GroupNormalization: {size} channels cannot be divided into {self.groups} equal groups."
            )
        gamma, beta = self._graphad_initializers
        if self.scale:
            self.gamma = self.add_weight((size,), gamma, name="gamma")
        if self.center:
            self.beta = self.add_weight((size,), beta, name="beta")

    _cast = Layer._cast_any  # integers and bools too

    def call(self, inputs: Any) -> Tensor:
        known = self.gamma if self.gamma is not None else self.beta
        self.require_axis(inputs.shape, self.axis, None if known is None else known.shape[0], 2)
        return group_normalization(inputs, self.groups, self.axis, self.beta, self.gamma, self.epsilon)
