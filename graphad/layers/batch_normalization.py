"""`BatchNormalization` (Ioffe & Szegedy, 2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, normalize_axis
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.layers.base import Layer, TensorLayer
from graphad.layers.sizes import whole
from graphad.ops.array.reshape import reshape
from graphad.ops.math.cast import cast
from graphad.ops.nn import batch_normalization, moments
from graphad.ops.nn.normalize import widened


class BatchNormalization(TensorLayer):
    """Normalise each feature: by the batch's own moments while training, by moving averages otherwise.

    Args:
      axis: The axis of the features.
      momentum: moving = moving * momentum + batch * (1 - momentum).
      epsilon: Added to the variance.
      center, scale: Whether there are beta and gamma.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: Names or functions of (shape,
        dtype).
      options: Those of `Layer`.
    Call: (x, training=False); the batch variance is the biased one. Updates the moving averages when training; a frozen layer
      never does, and normalises by them.
    Raises: InvalidArgumentError (a ValueError), when it is built: the axis is out of range.
    Source: Ioffe and Szegedy, Batch normalization: accelerating deep network training by reducing internal covariate shift,
      2015.
    """

    _weights_told: ClassVar[dict[str, str]] = {"beta": "beta", "gamma": "gamma"}

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Callable[..., Any] | str = "zeros",
        gamma_initializer: Callable[..., Any] | str = "ones",
        moving_mean_initializer: Callable[..., Any] | str = "zeros",
        moving_variance_initializer: Callable[..., Any] | str = "ones",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.axis = whole(axis)
        self.momentum = float(momentum)
        self.epsilon = float(epsilon)
        self.center = center
        self.scale = scale
        self.gamma: Variable | None = None
        self.beta: Variable | None = None
        self._graphad_initializers = (
            gamma_initializer,
            beta_initializer,
            moving_mean_initializer,
            moving_variance_initializer,
        )

    def build(self, input_shape: TensorShape) -> None:
        if input_shape.rank is None or input_shape[self.axis] is None:
            raise InvalidArgumentError(
                f"BatchNormalization: axis {self.axis} of the input {input_shape} must have a known size."
            )
        size = input_shape[normalize_axis("BatchNormalization", self.axis, input_shape.rank)]
        gamma, beta, mean, variance = self._graphad_initializers
        if self.scale:
            self.gamma = self.add_weight((size,), gamma, name="gamma")
        if self.center:
            self.beta = self.add_weight((size,), beta, name="beta")
        self.moving_mean = self.add_weight((size,), mean, trainable=False, name="moving_mean")
        self.moving_variance = self.add_weight((size,), variance, trainable=False, name="moving_variance")

    _cast = Layer._cast_any  # integers and bools too

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Tensor:
        rank = inputs.ndim
        axis = normalize_axis("BatchNormalization", self.axis, rank)
        self.require_axis(inputs.shape, self.axis, self.moving_mean.shape[0], 1)
        dtype, inputs = inputs.dtype, widened(inputs)
        mean, variance = (widened(moving.value()) for moving in (self.moving_mean, self.moving_variance))
        if training and self.trainable:
            keep, means = self.momentum, (mean, variance)
            mean, variance = moments(inputs, [i for i in range(rank) if i != axis])
            for moving, old, new in zip(
                (self.moving_mean, self.moving_variance), means, (mean, variance), strict=True
            ):
                moving.assign(cast(old * keep + new * (1.0 - keep), moving.dtype))
        gamma, beta = (None if w is None else widened(w) for w in (self.gamma, self.beta))
        if axis != rank - 1:
            shape = [-1 if i == axis else 1 for i in range(rank)]
            mean, variance = reshape(mean, shape), reshape(variance, shape)
            gamma = None if gamma is None else reshape(gamma, shape)
            beta = None if beta is None else reshape(beta, shape)
        return cast(batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon), dtype)
