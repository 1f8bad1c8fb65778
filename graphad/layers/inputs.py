"""What a model says of its inputs before it has seen any: `InputLayer` and `Input`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import DTypeLike
from graphad.core.dtypes import as_dtype
from graphad.core.errors import ArgumentTypeError
from graphad.core.refusal import members
from graphad.core.shapes import TensorShape
from graphad.layers.base import Layer


class InputLayer(Layer):
    """The shape and dtype of the inputs of a `Sequential`, before its first layer: the weights are made with the model.

    Args:
      shape: The shape of an input without the batch; None or an unknown size for what is not known.
      batch_size: The size of the batch, if it is always the same.
      dtype: Dtype of the inputs, by default that of the model.
      batch_shape: The shape with the batch, instead of the two.
      input_shape: The older name of `shape`.
      name: Name; numbered by class if not given.
    Raises: ArgumentTypeError (a TypeError): no shape, or more than one; in a call: it has no tensor to compute with.
    Example:
      >>> model = keras.Sequential([keras.layers.InputLayer([4]), keras.layers.Dense(3)])
      >>> [w.shape for w in model.weights]
      [TensorShape([4, 3]), TensorShape([3])]
    """

    def __init__(
        self,
        shape: Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        *,
        batch_shape: Sequence[int | None] | None = None,
        input_shape: Sequence[int | None] | None = None,
        name: str | None = None,
    ) -> None:
        given = [x for x in (shape, batch_shape, input_shape) if x is not None]
        if len(given) != 1:
            raise ArgumentTypeError(
                f"InputLayer: {len(given) or 'none'} of shape, batch_shape and input_shape given; one is needed."
            )
        super().__init__(name=name, dtype=dtype)
        sizes = members("InputLayer", "the shape", given[0], "give a list of sizes")
        self._graphad_input_shape = TensorShape(sizes if batch_shape is not None else [batch_size, *sizes])
        self._graphad_input_dtype = None if dtype is None else as_dtype(dtype)

    def __graphad_tensor__(self) -> Any:
        raise ArgumentTypeError(
            "keras.Input: models of symbolic inputs and outputs are not part of graphad. Give it as the first element of a "
            "keras.Sequential, or derive a class from keras.Model and define call(inputs)."
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.__graphad_tensor__()


def Input(
    shape: Sequence[int | None] | None = None,
    batch_size: int | None = None,
    dtype: DTypeLike | None = None,
    *,
    batch_shape: Sequence[int | None] | None = None,
    name: str | None = None,
) -> InputLayer:
    """An `InputLayer`, for the first place of a `Sequential`.

    Args:
      shape, batch_size, dtype, batch_shape, name: Those of `InputLayer`.
    Returns: The layer. What is called with it, as in models of symbolic inputs and outputs, refuses it.
    Raises: ArgumentTypeError (a TypeError): no shape, or two.
    Example:
      >>> keras.Sequential([keras.Input([4]), keras.layers.Dense(3)])(ones([2, 4])).shape
      TensorShape([2, 3])
    """
    return InputLayer(shape, batch_size, dtype, batch_shape=batch_shape, name=name)
