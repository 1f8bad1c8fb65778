"""`Sequential`: layers one after another."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError
from graphad.core.trackable import settle
from graphad.layers.base import Layer
from graphad.layers.inputs import InputLayer
from graphad.layers.model import Model


def _require_callable(layer: object) -> None:
    if not callable(layer):
        raise ArgumentTypeError(f"Sequential: {layer!r} is neither a layer nor a function of a tensor.")


class Sequential(Model):
    """Applies its layers in order; `training` is handed to those that take it.

    Args:
      layers: The layers, or functions of a tensor; an `Input` before them makes the weights with the model.
    Raises: ArgumentTypeError (a TypeError): something that cannot be called, or an `Input` behind a layer.
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
        self._graphad_input_dtype: DType | None = None
        self.layers: list[Any] = []
        for layer in layers:
            self._append(layer)
        self._build_from_first()

    def _append(self, layer: Any) -> None:
        if not isinstance(layer, InputLayer):
            _require_callable(layer)
            self.layers.append(layer)
            return
        if self.layers or self._graphad_input_shape is not None:
            raise ArgumentTypeError(
                f"Sequential: {layer.name!r} says what the inputs are; it must come first."
            )
        self._graphad_input_shape = layer._graphad_input_shape
        self._graphad_input_dtype = layer._graphad_input_dtype

    def _build_from_first(self) -> None:
        """Make the weights now if an input or the first layer says what inputs look like."""
        if not self.layers:
            return
        shape = self._graphad_input_shape
        if shape is None:
            shape = getattr(self.layers[0], "_graphad_input_shape", None)
        if shape is not None:
            self.build(shape)
            self.built = True

    def _input_dtype(self) -> DType:
        return self._graphad_input_dtype or super()._input_dtype()

    def add(self, layer: Layer) -> None:
        """Append a layer."""
        self._append(layer)
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
