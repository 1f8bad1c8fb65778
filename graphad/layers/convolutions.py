"""Convolutions in one, two and three dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Tensor
from graphad.layers import activations
from graphad.layers.base import Layer, TensorLayer
from graphad.layers.sizes import channels_of, format_of, padding_of, sizes_of, whole
from graphad.ops import nn
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape

_Make = Callable[..., Any] | str


class _Convolution(TensorLayer):
    """What convolutions and their transposes share."""

    _rank = 2

    _weights_told: ClassVar[dict[str, str]] = {"kernel": "kernel", "bias": "bias"}

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str,
        data_format: str | None,
        dilation_rate: int | Sequence[int],
        activation: Callable[..., Any] | str | None,
        use_bias: bool,
        kernel_initializer: _Make,
        bias_initializer: _Make,
        options: dict[str, Any],
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        filters = whole(filters)
        if not isinstance(filters, int) or filters <= 0:
            raise InvalidArgumentError(f"{name}: filters is {filters!r}; it must be a positive integer.")
        self.filters = filters
        self.kernel_size = sizes_of(name, "kernel_size", kernel_size, self._rank)
        self.strides = sizes_of(name, "strides", strides, self._rank)
        self.dilation_rate = sizes_of(name, "dilation_rate", dilation_rate, self._rank)
        self.padding = padding_of(name, padding, ("valid", "same"))
        self.data_format = format_of(name, data_format)
        self.activation = activations.get(activation)
        self.use_bias = bool(use_bias)
        self._graphad_initializers = (kernel_initializer, bias_initializer)
        self._graphad_layout = channels_of(self.data_format, self._rank)

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def _channels(self, input_shape: TensorShape) -> int:
        """The channels of an input, which must be known."""
        self.require_axis(input_shape, self._channel_axis, None, self._rank + 2)
        size = None if input_shape.rank is None else input_shape[self._channel_axis]
        if size is None:
            raise InvalidArgumentError(
                f"{type(self).__name__}: axis {self._channel_axis} of the input {input_shape} must have a known size to make "
                f"the kernel of {self.name!r}."
            )
        return int(size)

    def _weights(self, kernel_shape: Sequence[int]) -> None:
        kernel_initializer, bias_initializer = self._graphad_initializers
        self.kernel = self.add_weight(tuple(kernel_shape), kernel_initializer, name="kernel")
        if self.use_bias:
            self.bias = self.add_weight((self.filters,), bias_initializer, name="bias")

    _cast = Layer._cast_any  # integers and bools too

    def _ended(self, y: Tensor) -> Tensor:
        """With the bias and the activation."""
        if self.use_bias:
            bias: Any = self.bias
            y = y + (bias if self._channel_axis == -1 else reshape(bias, [-1] + [1] * self._rank))
        return y if self.activation is None else self.activation(y)


class _Forward(_Convolution):
    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: _Make = "glorot_uniform",
        bias_initializer: _Make = "zeros",
        **options: Any,
    ) -> None:
        name = type(self).__name__
        causal = self._rank == 1 and padding == "causal"
        super().__init__(
            filters,
            kernel_size,
            strides,
            "valid" if causal else padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            options,
        )
        self.padding = "causal" if causal else self.padding
        groups = whole(groups)
        if not isinstance(groups, int) or groups <= 0 or filters % groups:
            raise InvalidArgumentError(
                f"{name}: groups is {groups!r}; it must be a positive integer that divides the {filters} filters."
            )
        self.groups = groups

    def build(self, input_shape: TensorShape) -> None:
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the input has {channels} channels, which {self.groups} groups do not divide."
            )
        self._weights((*self.kernel_size, channels // self.groups, self.filters))

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(
            inputs.shape, self._channel_axis, self.kernel.shape[-2] * self.groups, self._rank + 2
        )
        padding: Any = self.padding.upper()
        if self.padding == "causal":  # no output depends on a later input
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            padding = [[0, 0], [before, 0], [0, 0]]
            if self._channel_axis == 1:
                padding = [[0, 0], [0, 0], [before, 0]]
        convolve: Any = (nn.conv1d, nn.conv2d, nn.conv3d)[self._rank - 1]
        strides, dilations = self._for_axes(self.strides), self._for_axes(self.dilation_rate)
        y = convolve(inputs, self.kernel, strides, padding, self._graphad_layout, dilations)
        if inputs.ndim and any(y.shape[k] == 0 != size for k, size in enumerate(inputs.shape)):
            raise InvalidArgumentError(
                f"{self.name}: Computed output size would be zero or negative: the input has shape {inputs.shape}, the kernel "
                f"{self.kernel.shape} with dilation_rate={tuple(self.dilation_rate)} and padding={self.padding!r} does not fit "
                "into it; give a larger input or padding='same'."
            )
        return self._ended(y)

    def _for_axes(self, steps: Sequence[int]) -> list[int]:
        """Steps as the function wants them: in three dimensions for the axes of batch and channels too."""
        if self._rank < 3:
            return list(steps)
        return [1, *steps, 1] if self._channel_axis == -1 else [1, 1, *steps]


class Conv1D(_Forward):
    """activation(convolution of x with the kernel + bias) along one axis.

    Args:
      filters: How many channels the result has.
      kernel_size, strides, dilation_rate: The width of the window, its steps, and the distance of its elements.
      padding: "valid", "same", or "causal", with which no place of the result depends on a later one of x.
      data_format: "channels_last", the default, or "channels_first".
      groups: The channels are cut into so many groups with filters of their own.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, bias_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, new width, filters]. Weights: kernel [width, channels / groups, filters], bias.
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of another rank or number of channels.
    Example:
      >>> keras.layers.Conv1D(5, 3, padding="causal")(ones([2, 8, 4])).shape
      TensorShape([2, 8, 5])
    """

    _rank = 1


class Conv2D(_Forward):
    """activation(convolution of x with the kernel + bias) of images.

    Args:
      filters: How many channels the result has.
      kernel_size, strides, dilation_rate: The sizes of the window, its steps, and the distance of its elements; numbers, or two.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      groups: The channels are cut into so many groups with filters of their own.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, bias_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, new height, new width, filters]. Weights: kernel [height, width,
      channels / groups, filters], bias.
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of another rank or number of channels.
    Example:
      >>> keras.layers.Conv2D(5, 3, strides=2)(ones([2, 9, 9, 3])).shape
      TensorShape([2, 4, 4, 5])
    """


class Conv3D(_Forward):
    """activation(convolution of x with the kernel + bias) of volumes.

    Args:
      filters: How many channels the result has.
      kernel_size, strides, dilation_rate: The sizes of the window, its steps, the distance of its elements; numbers, or three.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      groups: The channels are cut into so many groups with filters of their own.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, bias_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x [batch, depth, height, width, channels] gives [batch, new depth, new height, new width, filters]. Weights: kernel
      [depth, height, width, channels / groups, filters], bias.
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of another rank or number of channels.
    Example:
      >>> keras.layers.Conv3D(5, 3)(ones([2, 4, 4, 4, 3])).shape
      TensorShape([2, 2, 2, 2, 5])
    """

    _rank = 3


class Conv2DTranspose(_Convolution):
    """activation(the transpose of a convolution, applied to x, + bias): images become larger by the strides.

    Args:
      filters: How many channels the result has.
      kernel_size, strides: The sizes of the window and its steps; numbers, or two.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      dilation_rate: 1.
      activation: A function or its name; None is linear.
      use_bias: Add a bias.
      kernel_initializer, bias_initializer: Names or functions of (shape, dtype).
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, new height, new width, filters], where a new size is size * stride,
      and with padding "valid" max(kernel size - stride, 0) more. Weights: kernel [height, width, filters, channels], bias.
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of another rank or number of channels.
    Example:
      >>> keras.layers.Conv2DTranspose(5, 3, strides=2, padding="same")(ones([2, 4, 4, 3])).shape
      TensorShape([2, 8, 8, 5])
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = (1, 1),
        padding: str = "valid",
        *,
        data_format: str | None = None,
        dilation_rate: int | Sequence[int] = (1, 1),
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: _Make = "glorot_uniform",
        bias_initializer: _Make = "zeros",
        **options: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            options,
        )
        if set(self.dilation_rate) != {1}:
            raise InvalidArgumentError(f"Conv2DTranspose: dilation_rate is {dilation_rate}; only 1 is built.")

    def build(self, input_shape: TensorShape) -> None:
        self._weights((*self.kernel_size, self.filters, self._channels(input_shape)))

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, self._channel_axis, self.kernel.shape[-1], self._rank + 2)
        first = 1 if self._channel_axis == -1 else 2
        given = shape(inputs)
        known: list[Any] = [None] * 4 if inputs.ndim is None else inputs.shape.as_list()
        sizes: list[Any] = []
        for k, (width, stride) in enumerate(zip(self.kernel_size, self.strides, strict=True)):
            size: Any = given[first + k] if known[first + k] is None else known[first + k]
            sizes.append(size * stride + (max(width - stride, 0) if self.padding == "valid" else 0))
        batch: Any = given[0] if known[0] is None else known[0]
        wanted: Any = [batch, *sizes, self.filters] if first == 1 else [batch, self.filters, *sizes]
        if not all(isinstance(size, int) for size in wanted):
            wanted = stack(wanted)
        y = nn.conv2d_transpose(
            inputs, self.kernel, wanted, list(self.strides), self.padding.upper(), self._graphad_layout
        )
        return self._ended(y)
