"""`Sequential`: layers one after another."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import TensorLike
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError
from graphad.core.shapes import TensorShape
from graphad.core.trackable import settle
from graphad.layers.base import Layer
from graphad.layers.inputs import InputLayer
from graphad.layers.model import Model


def _require_callable(layer: object) -> None:
    if not callable(layer):
        raise ArgumentTypeError(f"Sequential: {layer!r} is neither a layer nor a function of a tensor.")


def _shape_of(x: Any) -> TensorShape | None:
    return TensorShape(x.shape) if hasattr(x, "shape") else None


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
        self._graphad_shapes: tuple[TensorShape | None, TensorShape | None] | None = None  # of the first call
        self.layers: list[Any] = []
        for layer in layers:
            self._append(layer)
        self._build_from_first()

    def _append(self, layer: Any) -> None:
        self._graphad_shapes = None
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
        if self._graphad_shapes is None:
            self._graphad_shapes = _shape_of(inputs), _shape_of(x)
        return x

    @property
    def input_shape(self) -> tuple[int | None, ...]:
        """The shape of the inputs, None for unknown sizes. Raises: AttributeError: neither declared nor seen in a call."""
        return self._seen("input_shape", 0)

    @property
    def output_shape(self) -> tuple[int | None, ...]:
        """The shape of the results, None for unknown sizes. Raises: AttributeError: the inputs were neither declared nor seen."""
        return self._seen("output_shape", 1)

    def _seen(self, name: str, place: int) -> tuple[int | None, ...]:
        shape = None if self._graphad_shapes is None else self._graphad_shapes[place]
        if shape is None or shape.rank is None:
            raise AttributeError(name)  # Python then calls `__getattr__`, which has the reason
        return tuple(shape.as_list())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in ("input_shape", "output_shape"):
                raise AttributeError(
                    f"Sequential {self.name!r} has no {name} yet: begin it with a keras.Input, or call it first.",
                    name=name,
                    obj=self,
                )
            return super().__getattr__(name)

    def _cast(self, inputs: TensorLike) -> Any:
        return inputs
