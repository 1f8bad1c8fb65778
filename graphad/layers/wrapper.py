"""`Wrapper`: a layer around another one."""

from __future__ import annotations

from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape
from graphad.layers.base import Layer


class Wrapper(Layer):
    """Base class of layers that change what another layer does, as by normalising its weights before each call.

    Subclasses define `call`; a `build` of their own calls this one's, which builds the layer inside.

    Args:
      layer: The layer inside, the attribute `layer`; its weights are among the wrapper's.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): `layer` is not a layer.
    Example:
      >>> class Twice(keras.layers.Wrapper):
      ...     def call(self, x):
      ...         return 2.0 * self.layer(x)
      >>> Twice(keras.layers.Flatten())([[[1.0], [2.0]]]).numpy()
      array([[2., 4.]], dtype=float32)
    """

    def __init__(self, layer: Layer, **options: Any) -> None:
        if not isinstance(layer, Layer):
            raise InvalidArgumentError(
                f"{type(self).__name__}: layer is {layer!r}; give a layer, such as Dense(3)."
            )
        super().__init__(**options)
        self.layer = layer

    def build(self, input_shape: TensorShape) -> None:
        """Build the layer inside for inputs of this shape."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
