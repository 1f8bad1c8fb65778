"""Layers without weights: `Flatten`, `Reshape`, `Dropout`, `Rescaling`, and activations as layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers import activations
from graphad.layers.base import Layer, TensorLayer
from graphad.layers.sizes import axes_of, whole
from graphad.ops.array.create import zeros_like
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.math import exp, multiply_no_nan, reduce_logsumexp, reduce_prod, where
from graphad.ops.nn import dropout


class Flatten(TensorLayer):
    """[batch, ...] to [batch, everything else].

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Raises: InvalidArgumentError (a ValueError), when it is called: a scalar.
    Example:
      >>> keras.layers.Flatten()(ones([2, 3, 4])).shape
      TensorShape([2, 12])
    """

    def call(self, inputs: Tensor) -> Tensor:
        sizes = [None] if inputs.ndim is None else inputs.shape.as_list()[1:]
        if None not in sizes and 0 not in sizes:
            return reshape(inputs, [-1, math.prod(sizes)])
        given = shape(inputs)  # not -1 for the rest: it has no meaning where another size is 0
        return reshape(inputs, stack([given[0], reduce_prod(given[1:])]))


class Dropout(TensorLayer):
    """Sets a random part of the input to zero while training and scales the rest up.

    Args:
      rate: The part that is dropped, 0 <= rate <= 1.
      noise_shape: The shape of what is drawn, which broadcasts to that of the input: 1 where all elements along an axis are kept
        or dropped together, None where each has its own draw.
      seed: A number with which the draws are the same in each run.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): a rate outside 0 to 1, or a shape that does not broadcast.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout: a simple way to prevent neural networks
      from overfitting, 2014.
    """

    def __init__(
        self,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not 0 <= rate <= 1:
            raise InvalidArgumentError(f"Dropout: rate {rate} is out of range; 0 <= rate <= 1.")
        self.rate = float(rate)
        self.noise_shape = None if noise_shape is None else tuple(noise_shape)
        self.seed = seed

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or not self.rate:
            return inputs
        if self.rate == 1:
            return multiply_no_nan(inputs, zeros_like(inputs))
        return dropout(inputs, self.rate, self.noise_shape, self.seed)


class Reshape(TensorLayer):
    """[batch, ...] to [batch, *target_shape].

    Args:
      target_shape: The new shape of an example; one size may be -1.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError), when it is called: the numbers of elements differ.
    Example:
      >>> keras.layers.Reshape([2, -1])(ones([3, 8])).shape
      TensorShape([3, 2, 4])
    """

    def __init__(self, target_shape: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Tensor) -> Tensor:
        batch = None if inputs.ndim is None else inputs.shape[0]
        return reshape(inputs, [shape(inputs)[0] if batch is None else batch, *self.target_shape])


class Activation(TensorLayer):
    """A function of a tensor as a layer.

    Args:
      activation: A function or its name; None changes nothing.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): no such name.
    Example:
      >>> keras.layers.Activation("relu")([-1.0, 2.0]).numpy()
      array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: Callable[..., Any] | str | None, **options: Any) -> None:
        super().__init__(**options)
        self.activation = activations.get(activation)

    def call(self, inputs: Tensor) -> Tensor:
        return self.activation(inputs)


class Lambda(Layer):
    """Any function of a tensor as a layer.

    Args:
      function: The function.
      output_shape, mask: Ignored; the function is called to see.
      arguments: Further arguments of the function by name.
      options: Those of `Layer`.
    Raises: ArgumentTypeError (a TypeError): it cannot be called.
    Example:
      >>> keras.layers.Lambda(lambda x: 2.0 * x)([-1.0, 2.0]).numpy()
      array([-2.,  4.], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: object = None,
        mask: object = None,
        arguments: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not callable(function):
            raise ArgumentTypeError(f"Lambda: function must be callable, got {function!r}.")
        self.function, self.arguments = function, {**(arguments or {})}

    def call(self, inputs: NestLike) -> Any:
        return self.function(inputs, **self.arguments)


class ReLU(TensorLayer):
    """x where it is positive, else 0, as a layer.

    Args:
      max_value: The largest result; None does not limit it.
      negative_slope: The slope below the threshold.
      threshold: Below it x counts as negative.
      options: Those of `Layer`.
    Raises: InvalidArgumentError (a ValueError): a number is negative.
    Example:
      >>> keras.layers.ReLU(max_value=6)([-1.0, 2.0, 9.0]).numpy()
      array([0., 2., 6.], dtype=float32)
    """

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        for name, value in (
            ("max_value", max_value or 0.0),
            ("negative_slope", negative_slope),
            ("threshold", threshold),
        ):
            if value is None or value < 0:
                raise InvalidArgumentError(f"ReLU: {name} is {value}; it must be 0 or more.")
        self.max_value = max_value
        self.negative_slope = float(negative_slope)
        self.threshold = float(threshold)

    def call(self, inputs: Tensor) -> Tensor:
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class LeakyReLU(TensorLayer):
    """x where it is positive, else a small part of it, as a layer.

    Args:
      negative_slope: The part.
      options: Those of `Layer`; `alpha` is the older name of `negative_slope`.
    Raises: InvalidArgumentError (a ValueError): the slope is negative.
    Example:
      >>> keras.layers.LeakyReLU(0.5)([-1.0, 2.0]).numpy()
      array([-0.5,  2. ], dtype=float32)
    """

    def __init__(self, negative_slope: float = 0.3, **options: Any) -> None:
        negative_slope = options.pop("alpha", negative_slope)
        super().__init__(**options)
        if negative_slope is None or negative_slope < 0:
            raise InvalidArgumentError(
                f"LeakyReLU: negative_slope is {negative_slope}; it must be 0 or more."
            )
        self.negative_slope = float(negative_slope)

    def get_config(self) -> dict[str, Any]:
        return {
            **{key: value for key, value in super().get_config().items() if key != "alpha"},
            "negative_slope": self.negative_slope,
        }

    def call(self, inputs: Tensor) -> Tensor:
        return activations.leaky_relu(inputs, self.negative_slope)


class ELU(TensorLayer):
    """x where it is positive, else alpha * (exp(x) - 1), as a layer.

    Args:
      alpha: What the function tends to below.
      options: Those of `Layer`.
    Raises: DTypeError (a TypeError), when it is called: integers.
    Example:
      >>> keras.layers.ELU()([-1.0, 2.0]).numpy()
      array([-0.63212055,  2.        ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.alpha = alpha

    def call(self, inputs: Tensor) -> Tensor:
        return activations.elu(inputs, self.alpha)


class Softmax(TensorLayer):
    """exp(x) / sum(exp(x)) along some axes, as a layer.

    Args:
      axis: The axis, or several.
      options: Those of `Layer`.
    Call: x [...], and mask, whose shape broadcasts to that of x: where it is False, or 0.5 or less, elements count as -1e9
      (-3e4 in float16), and the result is 0.
    Raises: InvalidArgumentError (a ValueError), when it is called: an axis out of range, or shapes that do not fit.
    Example:
      >>> keras.layers.Softmax()([[1.0, 1.0, 1.0]], mask=constant([[True, False, True]])).numpy()
      array([[0.5, 0. , 0.5]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = whole(axis)

    def call(self, inputs: Tensor, mask: TensorLike | None = None) -> Tensor:
        if mask is None:
            return self._softmax(inputs)
        mask = lift(mask)
        kept = mask if mask.dtype.is_bool else mask > 0.5
        least = -3e4 if inputs.dtype.name == "float16" else -1e9
        return where(kept, self._softmax(where(kept, inputs, least)), 0.0)

    def _softmax(self, x: Tensor) -> Tensor:
        axes = axes_of(self.axis)
        if len(axes) == 1:
            return activations.softmax(x, axes[0])
        return exp(x - reduce_logsumexp(x, axes, keepdims=True))


class Identity(Layer):
    """Its input.

    Args:
      trainable, name, dtype, input_shape, input_dim, autocast, activity_regularizer: Those of `Layer`.
      about_weights: None; it has no weights.
    Raises: Nothing.
    Example:
      >>> keras.layers.Identity()([-1.0, 2.0]).numpy()
      array([-1.,  2.], dtype=float32)
    """

    def call(self, inputs: NestLike) -> Any:
        return inputs


class Rescaling(TensorLayer):
    """scale * x + offset.

    Args:
      scale, offset: Numbers, or arrays whose shapes broadcast to that of the input.
      options: Those of `Layer`.
    Call: x [...], integers too, gives a tensor of the layer's dtype.
    Raises: InvalidArgumentError (a ValueError), when it is called: shapes that do not broadcast.
    Example:
      >>> keras.layers.Rescaling(2.0, offset=-1.0)([0, 1]).numpy()
      array([-1.,  1.], dtype=float32)
    """

    def __init__(self, scale: TensorLike, offset: TensorLike = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Tensor) -> Tensor:
        y: Tensor = self._cast_any(inputs) * self._cast_any(self.scale) + self._cast_any(self.offset)
        return y
