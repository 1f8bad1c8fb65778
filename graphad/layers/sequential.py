"""`Sequential`: layers one after another."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.errors import ArgumentTypeError
from graphad.core.trackable import settle
from graphad.layers.base import Layer
from graphad.layers.model import Model


def _require_callable(layer: object) -> None:
    if not callable(layer):
        raise ArgumentTypeError(f"Sequential: {layer!r} is neither a layer nor a function of a tensor.")


class Sequential(Model):
    """Applies its layers in order; `training` is handed to those that take it.

    Args:
      layers: The layers, or functions of a tensor.
    Raises: ArgumentTypeError (a TypeError): something that cannot be called.
    Example:
      >>> keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(1)])(ones([2, 4])).shape
      TensorShape([2, 1])
    """

    def __init__(self, layers: Sequence[Any] = (), name: str | None = None) -> None:
        super().__init__(name=name)
        if callable(layers):
            raise ArgumentTypeError(
                f"Sequential: the layers are one {type(layers).__name__}; give a list, [layer]."
            )
        self.layers = list(layers)
        for layer in self.layers:
            _require_callable(layer)
        self._build_from_first()

    def _build_from_first(self) -> None:
        """Make the weights now if the first layer says what its inputs look like."""
        shape = getattr(self.layers[0], "_graphad_input_shape", None) if self.layers else None
        if shape is not None:
            self.build(shape)
            self.built = True

    def add(self, layer: Layer) -> None:
        """Append a layer."""
        _require_callable(layer)
        self.layers.append(layer)
        settle()
        self._build_from_first()

    def call(self, inputs: TensorLike, training: bool | None = None) -> Any:
        x = inputs
        for layer in self.layers:
            call = getattr(layer, "call", layer)
            takes = "training" in inspect.signature(call).parameters
            x = layer(x, training=training) if takes else layer(x)
        return x

    def _cast(self, inputs: TensorLike) -> Any:
        return inputs
