"""`Dense`: a fully connected layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, ranked
from graphad.core.tensor import Tensor
from graphad.layers import activations
from graphad.layers.base import Layer, TensorLayer
from graphad.layers.sizes import whole
from graphad.ops.linalg import matmul, tensordot
from graphad.ops.math.cast import cast


class Dense(TensorLayer):
    """activation(x @ kernel + bias).

    Args:
      units: Size of the last axis of the result.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, bias_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x [..., inputs] gives [..., units].
    Raises: InvalidArgumentError (a ValueError): units is not positive; the input's rank is below 2 or its last size changed.
    Example:
      >>> keras.layers.Dense(3)(ones([2, 4])).shape
      TensorShape([2, 3])
    """

    _weights_told: ClassVar[dict[str, str]] = {"kernel": "kernel", "bias": "bias"}

    def __init__(
        self,
        units: int,
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Callable[..., Any] | str = "glorot_uniform",
        bias_initializer: str = "zeros",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        units = whole(units)
        if not isinstance(units, int) or units <= 0:
            raise InvalidArgumentError(
                f"Received an invalid value for `units`, expected a positive integer. Received: units={units}"
            )
        self.units = units
        self.use_bias = use_bias
        self.activation = activations.get(activation)
        self._graphad_initializers = (kernel_initializer, bias_initializer)

    def build(self, input_shape: TensorShape) -> None:
        self.require_axis(input_shape, -1, None, 2)
        size = input_shape[-1]
        if size is None:
            raise InvalidArgumentError(
                f"Dense: the last size of the input {input_shape} must be known to make the kernel of {self.name!r}."
            )
        kernel_initializer, bias_initializer = self._graphad_initializers
        self.kernel = self.add_weight((size, self.units), kernel_initializer, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.units,), bias_initializer, name="bias")

    _cast = Layer._cast_any  # integers and bools too

    def call(self, inputs: Tensor) -> Tensor:
        dims, size = inputs.dims, ranked(self.kernel.dims)[0]
        is_matrix = dims is None or len(dims) == 2
        if dims is None or not is_matrix or dims[1] != size:
            self.require_axis(inputs.shape, -1, size, 2)
        kernel: Any = self.kernel
        if inputs.dtype is not kernel.dtype:  # complex numbers
            kernel = cast(kernel, inputs.dtype)
        y = matmul(inputs, kernel) if is_matrix else tensordot(inputs, kernel, [[-1], [0]])
        if self.use_bias:
            y = y + (self.bias if y.dtype is self.bias.dtype else cast(self.bias, y.dtype))
        return y if self.activation is None else self.activation(y)
