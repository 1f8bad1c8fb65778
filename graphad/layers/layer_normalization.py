"""`LayerNormalization` (Ba, Kiros & Hinton, 2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, normalize_axis
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.layers.base import Layer, TensorLayer
from graphad.layers.sizes import axes_of, whole
from graphad.ops.nn import layer_normalization

_Make = Callable[..., Any] | str


class LayerNormalization(TensorLayer):
    """Normalise each example by the mean and variance over its own features.

    Args:
      axis: The axis of the features, or several.
      epsilon: Added to the variance.
      center, scale: Whether there are beta and gamma.
      beta_initializer, gamma_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x gives a tensor of its shape. Weights: gamma and beta, of the sizes of the axes.
    Raises: InvalidArgumentError (a ValueError), when it is built: an axis is out of range or of unknown size.
    Source: Ba, Kiros and Hinton, Layer normalization, 2016.
    Example:
      >>> keras.layers.LayerNormalization()([[1.0, 2.0, 3.0]]).numpy().round(3)
      array([[-1.224,  0.   ,  1.224]], dtype=float32)
    """

    _weights_told: ClassVar[dict[str, str]] = {"beta": "beta", "gamma": "gamma"}

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: _Make = "zeros",
        gamma_initializer: _Make = "ones",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        axis = whole(axis)
        self.axis = axis if isinstance(axis, int) else axes_of(axis)
        self.epsilon = float(epsilon)
        self.center = bool(center)
        self.scale = bool(scale)
        self.gamma: Variable | None = None
        self.beta: Variable | None = None
        self._graphad_initializers = (gamma_initializer, beta_initializer)

    def _axes(self, rank: int) -> list[int]:
        return sorted(normalize_axis("LayerNormalization", axis, rank) for axis in axes_of(self.axis))

    def build(self, input_shape: TensorShape) -> None:
        sizes = [] if input_shape.rank is None else [input_shape[k] for k in self._axes(input_shape.rank)]
        if input_shape.rank is None or None in sizes:
            raise InvalidArgumentError(
                f"LayerNormalization: the sizes of axis {self.axis} of the input {input_shape} must be known."
            )
        gamma, beta = self._graphad_initializers
        if self.scale:
            self.gamma = self.add_weight(tuple(sizes), gamma, name="gamma")
        if self.center:
            self.beta = self.add_weight(tuple(sizes), beta, name="beta")

    _cast = Layer._cast_any  # integers and bools too

    def call(self, inputs: Any) -> Tensor:
        axes = self._axes(inputs.ndim)
        known = self.gamma if self.gamma is not None else self.beta
        if known is not None:
            for axis, size in zip(axes, known.shape, strict=True):
                self.require_axis(inputs.shape, axis, size, 1)
        return layer_normalization(inputs, axes, self.beta, self.gamma, self.epsilon)
