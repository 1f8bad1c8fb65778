"""Pools over windows, and over all places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.tensor import Tensor
from graphad.layers.base import TensorLayer
from graphad.layers.sizes import channels_of, format_of, padding_of, sizes_of
from graphad.ops import nn
from graphad.ops.math import reduce_max, reduce_mean

if TYPE_CHECKING:
    pass


class _Pool(TensorLayer):
    _rank = 2
    _pools: tuple[Any, ...] = ()

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.pool_size = sizes_of(name, "pool_size", pool_size, self._rank)
        self.strides = self.pool_size if strides is None else sizes_of(name, "strides", strides, self._rank)
        self.padding = padding_of(name, padding, ("valid", "same"))
        self.data_format = format_of(name, data_format)

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, -1, None, self._rank + 2)
        pool = self._pools[self._rank - 1]
        layout = channels_of(self.data_format, self._rank)
        y: Tensor = pool(inputs, list(self.pool_size), list(self.strides), self.padding.upper(), layout)
        return y


class MaxPooling1D(_Pool):
    """The largest element of each window, along one axis.

    Args:
      pool_size, strides: The width of the window and its steps; None is the width.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, new width, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.MaxPooling1D()(ones([2, 9, 3])).shape
      TensorShape([2, 4, 3])
    """

    _rank = 1
    _pools = (nn.max_pool1d, nn.max_pool2d, nn.max_pool3d)


class MaxPooling2D(_Pool):
    """The largest element of each window of an image.

    Args:
      pool_size, strides: The sizes of the window and its steps, numbers or two; no strides are the sizes.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, new height, new width, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.MaxPooling2D()(ones([2, 9, 8, 3])).shape
      TensorShape([2, 4, 4, 3])
    """

    _pools = MaxPooling1D._pools


class AveragePooling1D(_Pool):
    """The mean of each window, along one axis; what padding adds does not count.

    Args:
      pool_size, strides: The width of the window and its steps; None is the width.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, new width, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.AveragePooling1D()(ones([2, 9, 3])).shape
      TensorShape([2, 4, 3])
    """

    _rank = 1
    _pools = (nn.avg_pool1d, nn.avg_pool2d, nn.avg_pool3d)


class AveragePooling2D(_Pool):
    """The mean of each window of an image; what padding adds does not count.

    Args:
      pool_size, strides: The sizes of the window and its steps, numbers or two; no strides are the sizes.
      padding: "valid" or "same".
      data_format: "channels_last", the default, or "channels_first".
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, new height, new width, channels].
    Raises: InvalidArgumentError (a ValueError): an argument out of range; an input of lower rank.
    Example:
      >>> keras.layers.AveragePooling2D()(ones([2, 9, 8, 3])).shape
      TensorShape([2, 4, 4, 3])
    """

    _pools = AveragePooling1D._pools


class _Global(TensorLayer):
    _rank = 2
    _reduce: Any = None

    def __init__(self, data_format: str | None = None, keepdims: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.data_format = format_of(type(self).__name__, data_format)
        self.keepdims = bool(keepdims)

    def call(self, inputs: Tensor) -> Tensor:
        self.require_axis(inputs.shape, -1, None, self._rank + 2)
        first = 1 if self.data_format == "channels_last" else 2
        axes = list(range(first, first + self._rank))
        y: Tensor = type(self)._reduce(inputs, axes, self.keepdims)
        return y


class GlobalAveragePooling1D(_Global):
    """The mean over all places of a sequence.

    Args:
      data_format: "channels_last", the default, or "channels_first".
      keepdims: Whether the axis stays, with size 1.
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, channels].
    Raises: InvalidArgumentError (a ValueError): no such format; an input of lower rank.
    Example:
      >>> keras.layers.GlobalAveragePooling1D()(ones([2, 9, 3])).shape
      TensorShape([2, 3])
    """

    _rank = 1
    _reduce = staticmethod(reduce_mean)


class GlobalAveragePooling2D(_Global):
    """The mean over all places of an image.

    Args:
      data_format: "channels_last", the default, or "channels_first".
      keepdims: Whether the axes stay, with size 1.
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, channels].
    Raises: InvalidArgumentError (a ValueError): no such format; an input of lower rank.
    Example:
      >>> keras.layers.GlobalAveragePooling2D()(ones([2, 9, 8, 3])).shape
      TensorShape([2, 3])
    """

    _reduce = staticmethod(reduce_mean)


class GlobalMaxPooling1D(_Global):
    """The largest element over all places of a sequence.

    Args:
      data_format: "channels_last", the default, or "channels_first".
      keepdims: Whether the axis stays, with size 1.
      options: Those of `Layer`.
    Call: x [batch, width, channels] gives [batch, channels].
    Raises: InvalidArgumentError (a ValueError): no such format; an input of lower rank.
    Example:
      >>> keras.layers.GlobalMaxPooling1D()(ones([2, 9, 3])).shape
      TensorShape([2, 3])
    """

    _rank = 1
    _reduce = staticmethod(reduce_max)


class GlobalMaxPooling2D(_Global):
    """The largest element over all places of an image.

    Args:
      data_format: "channels_last", the default, or "channels_first".
      keepdims: Whether the axes stay, with size 1.
      options: Those of `Layer`.
    Call: x [batch, height, width, channels] gives [batch, channels].
    Raises: InvalidArgumentError (a ValueError): no such format; an input of lower rank.
    Example:
      >>> keras.layers.GlobalMaxPooling2D()(ones([2, 9, 8, 3])).shape
      TensorShape([2, 3])
    """

    _reduce = staticmethod(reduce_max)
