"""`Sequential`: layers one after another."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from graphad.layers.base import Layer


class Sequential(Layer):
    """Applies its layers in order; `training` is handed to those that take it."""

    def __init__(self, layers: Sequence[Any] = (), name: str | None = None) -> None:
        super().__init__(name=name)
        self.layers = list(layers)

    def add(self, layer: Any) -> None:
        """Append a layer."""
        self.layers.append(layer)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        x = inputs
        for layer in self.layers:
            call = getattr(layer, "call", layer)
            takes = "training" in inspect.signature(call).parameters
            x = layer(x, training=training) if takes else layer(x)
        return x

    def _cast(self, inputs: Any) -> Any:
        return inputs
