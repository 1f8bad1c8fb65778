"""`Model`: a layer made of layers, for classes of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.annotations import DTypeLike
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError
from graphad.core.shapes import TensorShape
from graphad.core.spec import TensorSpec
from graphad.function.decorator import function
from graphad.layers.base import Layer


class _Layers:
    """Reads as the layers of a model, unless it has an attribute of that name."""

    def __get__(self, model: Model | None, owner: type | None = None) -> Any:
        if model is None:
            return self
        return [part for part in model._graphad_parts() if isinstance(part, Layer)]


class Model(Layer):
    """Base class of models. Subclasses make their layers in `__init__` and define `call(inputs, ...)`.

    A model is a layer whose weights are those of its layers. Keras' training (`compile`, `fit`) and models of symbolic inputs
    and outputs are not part of graphad.

    Args:
      inputs_and_outputs, options: Refused; they belong to functional models.
      trainable: Whether its weights are trained.
      name: Name; numbered by class if not given.
      dtype: Dtype of float inputs, by default that of `keras.backend.floatx`.
    Attributes:
      layers: Its layers, in the order of assignment.
    Raises: ArgumentTypeError (a TypeError): inputs and outputs, as of a functional model.
    Example:
      >>> class Twice(keras.Model):
      ...     def __init__(self):
      ...         super().__init__()
      ...         self.dense = keras.layers.Dense(3)
      ...     def call(self, x):
      ...         return 2.0 * self.dense(x)
      >>> Twice()(ones([2, 4])).shape
      TensorShape([2, 3])
    """

    def __init__(
        self,
        *inputs_and_outputs: object,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **options: Any,
    ) -> None:
        if inputs_and_outputs or options:
            given = ", ".join([type(x).__name__ for x in inputs_and_outputs] + [f"{key}=" for key in options])
            raise ArgumentTypeError(
                f"{type(self).__name__}: keras.Model got {given}; models of symbolic inputs and outputs are not part of graphad. "
                "Subclass keras.Model and define call(inputs), or use keras.Sequential."
            )
        super().__init__(trainable=trainable, name=name, dtype=dtype)

    if TYPE_CHECKING:
        layers: list[Any]
    else:
        layers = _Layers()

    def build(self, input_shape: TensorShape) -> None:
        """Make the weights of all layers: `call` is traced on an input of this shape."""
        spec = TensorSpec(input_shape, self._input_dtype())
        function(self.call, input_signature=[spec]).get_concrete_function()
        self._forget_losses()  # of the trace

    def _input_dtype(self) -> DType:
        """The dtype of the inputs for which weights are made."""
        return self._graphad_dtype

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        if type(self).build is Model.build:
            self.built = True  # each layer is built by its own first call
        return super()._called(*args, **kwargs)
